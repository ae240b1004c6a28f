// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_COLLECTIVE_TESTING_CHECK_COLLECTIVES_H_
#define MILLSTREAM_COLLECTIVE_TESTING_CHECK_COLLECTIVES_H_

#include <span>

#include "millstream/collective/group.h"

namespace millstream::testing {

// Every type that is reduced, and every way to reduce.
std::span<const DType> ReducedTypes();
std::span<const collective::ReduceOp> ReduceOps();

// Each rank calls these with the same arguments. Contributions are small whole numbers, whose reductions are exact in
// every type, so that results are compared bit for bit with a plain loop.
Status CheckAllReduce(collective::Group& group, int64_t count, DType dtype, collective::ReduceOp op,
                      bool shared = false);
// From one tensor into another, which lie where tensors of a task lie; the first one stays as it was.
Status CheckAllReduceOfTensors(collective::Group& group, int64_t count, DType dtype, collective::ReduceOp op,
                               collective::SumOrder order);
Status CheckReduceScatter(collective::Group& group, std::span<const int64_t> counts, DType dtype,
                          collective::ReduceOp op);
// Parts of different sizes, rank i's depending on `seed`; some are empty.
Status CheckAllGather(collective::Group& group, uint32_t seed, size_t max_bytes);
Status CheckBroadcast(collective::Group& group, size_t bytes, int root);
Status CheckAllToAll(collective::Group& group, uint32_t seed, size_t max_bytes);
// All of these for all types and ops, with sizes of which `seed` decides and 0, 1 and odd ones.
Status CheckEverything(collective::Group& group, uint32_t seed, int64_t max_count);

}  // namespace millstream::testing

#endif  // MILLSTREAM_COLLECTIVE_TESTING_CHECK_COLLECTIVES_H_
