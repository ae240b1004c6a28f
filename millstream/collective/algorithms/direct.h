// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_COLLECTIVE_ALGORITHMS_DIRECT_H_
#define MILLSTREAM_COLLECTIVE_ALGORITHMS_DIRECT_H_

#include <span>

#include "millstream/collective/algorithms/algorithms.h"
#include "millstream/collective/algorithms/shared_arena.h"

// Collectives of ranks that share memory: nobody sends anything, everybody reads what it needs where others put it.
// Data that lies in shared memory already (SharedArena::AddShared) is reduced there; other data goes through the
// stages.
namespace millstream::collective {

Status DirectAllReduce(SharedArena& arena, const Reduction& r, Deadline deadline);
Status DirectReduceScatter(SharedArena& arena, const Reduction& r, std::span<const int64_t> counts, Deadline deadline);
Status DirectAllGather(SharedArena& arena, char* data, std::span<const size_t> bytes, Deadline deadline);
Status DirectBroadcast(SharedArena& arena, char* data, size_t bytes, int root, Deadline deadline);
Status DirectAllToAll(SharedArena& arena, const char* in, std::span<const size_t> in_bytes, char* out,
                      std::span<const size_t> out_bytes, Deadline deadline);

}  // namespace millstream::collective

#endif  // MILLSTREAM_COLLECTIVE_ALGORITHMS_DIRECT_H_
