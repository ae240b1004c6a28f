// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_COLLECTIVE_ALGORITHMS_LENT_MEMORY_H_
#define MILLSTREAM_COLLECTIVE_ALGORITHMS_LENT_MEMORY_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "millstream/base/status.h"
#include "millstream/tensor/shared_region.h"

namespace millstream::collective {

// The shared regions of the processes of all ranks of a host, each mapped by the others to be read: large tensors can
// be reduced where they lie.
class LentMemory {
 public:
  // Tells all ranks so many bytes, and learns theirs: rank r's begin at r * own.size().
  using Exchange = std::function<Status(std::span<const char> own, std::vector<char>* all)>;

  // Called by all ranks; they get the same answer: null if one of them cannot lend or map. A rank that names memory
  // which is not its own is not believed: it has to write there what the others have made up. Errors are those of
  // `exchange`.
  static StatusOr<std::unique_ptr<LentMemory>> Agree(int rank, int ranks, const Exchange& exchange);
  ~LentMemory();
  LentMemory(const LentMemory&) = delete;
  LentMemory& operator=(const LentMemory&) = delete;

  // Where data lies in this process's region; -1: not in it.
  int64_t WhereIs(const void* data) const;
  // What `rank` calls `where`; null if that is not in its region.
  const char* Find(int64_t where, int rank, size_t bytes) const;

 private:
  struct Mapping {
    const char* begin = nullptr;
    size_t bytes = 0;
  };
  LentMemory(const SharedRegion* region, int ranks) : region_(region), mappings_(static_cast<size_t>(ranks)) {}

  const SharedRegion* const region_;
  std::vector<Mapping> mappings_;  // by rank
};

}  // namespace millstream::collective

#endif  // MILLSTREAM_COLLECTIVE_ALGORITHMS_LENT_MEMORY_H_
