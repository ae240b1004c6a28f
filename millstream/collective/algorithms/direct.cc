// SPDX-License-Identifier: Apache-2.0
#include "millstream/collective/algorithms/direct.h"

#include <algorithm>
#include <cstring>

#include "millstream/base/stream_copy.h"

namespace millstream::collective {
namespace {

constexpr size_t kBlockBytes = size_t{8} << 10;   // reduced at a time: stays in the first cache with its operands
constexpr size_t kSmallBytes = size_t{32} << 10;  // up to here everybody reduces everything: one barrier instead of two
constexpr size_t kCachedBytes = size_t{64} << 10;  // more is written past the caches (base/stream_copy.h)
constexpr int64_t kLine = 64;

void Copy(char* to, const char* from, size_t bytes) {
  if (bytes > kCachedBytes) {
    StreamCopy(to, from, bytes);
  } else if (bytes > 0) {
    std::memcpy(to, from, bytes);
  }
}

// The slice of [0, count) that `rank` reduces; slices begin at cache lines.
struct Slice {
  int64_t begin, end;
  int64_t size() const { return end - begin; }
};
Slice SliceOf(int64_t count, int rank, int ranks, size_t width) {
  const int64_t per_line = kLine / static_cast<int64_t>(width), lines = (count + per_line - 1) / per_line;
  return {std::min(count, lines * rank / ranks * per_line), std::min(count, lines * (rank + 1) / ranks * per_line)};
}

// Calls done(begin, block, n) for blocks of the reduction of `sources`, in the order of ranks.
template <typename Done>
void ReduceBlocks(const Reduction& r, std::span<const char* const> sources, int64_t count, const Done& done) {
  alignas(64) char block[kBlockBytes];
  const int64_t per_block = static_cast<int64_t>(kBlockBytes / r.width());
  for (int64_t begin = 0; begin < count; begin += per_block) {
    const int64_t n = std::min(per_block, count - begin);
    const size_t at = static_cast<size_t>(begin) * r.width();
    Combine(r.op, r.dtype, block, sources[0] + at, sources[1] + at, n);
    for (size_t i = 2; i < sources.size(); ++i) ReduceInto(r.op, r.dtype, block, sources[i] + at, n);
    Finish(r.op, r.dtype, block, n, r.ranks);
    done(begin, block, static_cast<size_t>(n) * r.width());
  }
}

Status SmallAllReduce(SharedArena& arena, const Reduction& r, Deadline deadline) {
  std::memcpy(arena.stage(arena.rank()), r.from_at(0), r.bytes());
  RETURN_IF_ERROR(arena.Barrier(deadline));
  std::vector<const char*> sources;
  for (int i = 0; i < arena.ranks(); ++i) sources.push_back(arena.stage(i, -1));
  ReduceBlocks(r, sources, r.count,
               [&](int64_t begin, const char* block, size_t bytes) { std::memcpy(r.at(begin), block, bytes); });
  return OkStatus();
}

// Where all ranks have what they told of; empty if it is somebody's nowhere. After a barrier.
template <typename Char, typename Find>
std::vector<Char*> FindAll(const SharedArena& arena, const Find& find) {
  std::vector<Char*> all;
  for (int i = 0; i < arena.ranks(); ++i) all.push_back(find(arena.Told(i), i));
  if (std::find(all.begin(), all.end(), nullptr) != all.end()) all.clear();
  return all;
}

// Each rank reduces its slice where it lies and writes the result to all.
Status ReduceInPlace(SharedArena& arena, const Reduction& r, std::vector<char*> all, Deadline deadline) {
  const Slice slice = SliceOf(r.count, arena.rank(), arena.ranks(), r.width());
  for (char*& data : all) data += static_cast<size_t>(slice.begin) * r.width();
  const std::vector<const char*> sources(all.begin(), all.end());
  ReduceBlocks(r, sources, slice.size(), [&](int64_t begin, const char* block, size_t bytes) {
    for (char* data : all) std::memcpy(data + static_cast<size_t>(begin) * r.width(), block, bytes);
  });
  return arena.Barrier(deadline);
}

// Nobody can write to what others lend, so each rank reduces its slice to its own result, and takes the other slices
// from the others' results.
Status ReduceLent(SharedArena& arena, const Reduction& r, std::vector<const char*> inputs, Deadline deadline) {
  const int n = arena.ranks(), self = arena.rank();
  const auto slice = [&](int rank) { return SliceOf(r.count, rank, n, r.width()); };
  const auto offset = [&](int rank) { return static_cast<size_t>(slice(rank).begin) * r.width(); };
  for (const char*& data : inputs) data += offset(self);
  ReduceBlocks(r, inputs, slice(self).size(), [&](int64_t begin, const char* block, size_t bytes) {
    std::memcpy(r.at(slice(self).begin + begin), block, bytes);
  });
  arena.Tell(arena.WhereIsLent(r.data));
  RETURN_IF_ERROR(arena.Barrier(deadline));
  const std::vector<const char*> results =
      FindAll<const char>(arena, [&](uint64_t where, int rank) { return arena.FindLent(where, rank, r.bytes()); });
  if (results.empty()) return errors::Internal("a rank lends what it has not got");
  for (int i = 1; i < n; ++i) {
    const int owner = (self + i) % n;
    const size_t bytes = static_cast<size_t>(slice(owner).size()) * r.width();
    if (bytes > 0) std::memcpy(r.at(slice(owner).begin), results[static_cast<size_t>(owner)] + offset(owner), bytes);
  }
  return arena.Barrier(deadline);  // nobody reads any more
}

// One stage full: everybody stages what others reduce, reduces its slice, stages the result and takes the others'.
Status ReduceStaged(SharedArena& arena, const Reduction& r, Deadline deadline) {
  const int n = arena.ranks(), self = arena.rank();
  const auto slice = [&](int rank) { return SliceOf(r.count, rank, n, r.width()); };
  const auto offset = [&](int rank) { return static_cast<size_t>(slice(rank).begin) * r.width(); };
  const auto bytes = [&](int rank) { return static_cast<size_t>(slice(rank).size()) * r.width(); };
  for (int i = 1; i < n; ++i) {
    const int owner = (self + i) % n;
    Copy(arena.stage(self) + offset(owner), r.from_at(slice(owner).begin), bytes(owner));
  }
  RETURN_IF_ERROR(arena.Barrier(deadline));
  std::vector<const char*> sources;
  for (int i = 0; i < n; ++i)
    sources.push_back(i == self ? r.from_at(slice(self).begin) : arena.stage(i, -1) + offset(self));
  ReduceBlocks(r, sources, slice(self).size(), [&](int64_t begin, const char* block, size_t size) {
    std::memcpy(r.at(slice(self).begin + begin), block, size);
  });
  Copy(arena.stage(self) + offset(self), r.at(slice(self).begin), bytes(self));
  RETURN_IF_ERROR(arena.Barrier(deadline));
  for (int i = 1; i < n; ++i) {
    const int owner = (self + i) % n;
    Copy(r.at(slice(owner).begin), arena.stage(owner, -1) + offset(owner), bytes(owner));
  }
  return OkStatus();
}

}  // namespace

Status DirectAllReduce(SharedArena& arena, const Reduction& r, Deadline deadline) {
  if (r.count == 0 || arena.ranks() == 1) return OkStatus();
  if (r.bytes() <= kSmallBytes) return SmallAllReduce(arena, r, deadline);
  const bool in_place = r.from_at(0) == r.at(0);
  uint64_t where = in_place ? arena.WhereIs(r.data, r.bytes()) : 0;
  if (where == 0 && arena.WhereIsLent(r.data) != 0) where = arena.WhereIsLent(r.from_at(0));
  arena.Tell(where);
  RETURN_IF_ERROR(arena.Barrier(deadline));
  std::vector<char*> all =
      FindAll<char>(arena, [&](uint64_t told, int rank) { return arena.Find(told, rank, r.bytes()); });
  if (!all.empty()) return ReduceInPlace(arena, r, std::move(all), deadline);
  std::vector<const char*> lent =
      FindAll<const char>(arena, [&](uint64_t told, int rank) { return arena.FindLent(told, rank, r.bytes()); });
  if (!lent.empty()) return ReduceLent(arena, r, std::move(lent), deadline);
  const int64_t per_stage = static_cast<int64_t>(SharedArena::kStageBytes / r.width());
  for (int64_t begin = 0; begin < r.count; begin += per_stage) {
    const int64_t n = std::min(per_stage, r.count - begin);
    const Reduction part = {r.at(begin), n, r.dtype, r.op, r.ranks, r.from_at(begin)};
    RETURN_IF_ERROR(ReduceStaged(arena, part, deadline));
  }
  return OkStatus();
}

// A stage has a section for each part; in each round the next piece of every part is staged and reduced by its owner.
Status DirectReduceScatter(SharedArena& arena, const Reduction& r, std::span<const int64_t> counts, Deadline deadline) {
  const int n = arena.ranks(), self = arena.rank();
  if (n == 1) return OkStatus();
  const std::vector<int64_t> offsets = Offsets(counts);
  const int64_t piece =
      static_cast<int64_t>(SharedArena::kStageBytes / static_cast<size_t>(n) / kLine * kLine / r.width());
  const int64_t largest = *std::max_element(counts.begin(), counts.end());
  const auto section = [&](int rank) { return static_cast<size_t>(rank) * static_cast<size_t>(piece) * r.width(); };
  for (int64_t done = 0; done < largest; done += piece) {
    const auto left = [&](int rank) { return std::clamp<int64_t>(counts[static_cast<size_t>(rank)] - done, 0, piece); };
    for (int i = 1; i < n; ++i) {
      const int owner = (self + i) % n;
      Copy(arena.stage(self) + section(owner), r.at(offsets[static_cast<size_t>(owner)] + done),
           static_cast<size_t>(left(owner)) * r.width());
    }
    RETURN_IF_ERROR(arena.Barrier(deadline));
    const int64_t own = offsets[static_cast<size_t>(self)] + done;
    std::vector<const char*> sources;
    for (int i = 0; i < n; ++i) sources.push_back(i == self ? r.at(own) : arena.stage(i, -1) + section(self));
    ReduceBlocks(r, sources, left(self),
                 [&](int64_t begin, const char* block, size_t bytes) { std::memcpy(r.at(own + begin), block, bytes); });
  }
  return OkStatus();
}

Status DirectAllGather(SharedArena& arena, char* data, std::span<const size_t> bytes, Deadline deadline) {
  const int n = arena.ranks(), self = arena.rank();
  const std::vector<size_t> offsets = Offsets(bytes);
  const size_t largest = *std::max_element(bytes.begin(), bytes.end());
  for (size_t done = 0; done < largest && n > 1; done += SharedArena::kStageBytes) {
    const auto left = [&](int rank) {
      const size_t all = bytes[static_cast<size_t>(rank)];
      return all > done ? std::min(all - done, SharedArena::kStageBytes) : 0;
    };
    Copy(arena.stage(self), data + offsets[static_cast<size_t>(self)] + done, left(self));
    RETURN_IF_ERROR(arena.Barrier(deadline));
    for (int i = 1; i < n; ++i) {
      const int from = (self + i) % n;
      Copy(data + offsets[static_cast<size_t>(from)] + done, arena.stage(from, -1), left(from));
    }
  }
  return OkStatus();
}

Status DirectBroadcast(SharedArena& arena, char* data, size_t bytes, int root, Deadline deadline) {
  for (size_t done = 0; done < bytes && arena.ranks() > 1; done += SharedArena::kStageBytes) {
    const size_t n = std::min(bytes - done, SharedArena::kStageBytes);
    if (arena.rank() == root) Copy(arena.stage(root), data + done, n);
    RETURN_IF_ERROR(arena.Barrier(deadline));
    if (arena.rank() != root) Copy(data + done, arena.stage(root, -1), n);
  }
  return OkStatus();
}

Status DirectAllToAll(SharedArena& arena, const char* in, std::span<const size_t> in_bytes, char* out,
                      std::span<const size_t> out_bytes, Deadline deadline) {
  const int n = arena.ranks(), self = arena.rank();
  const std::vector<size_t> in_at = Offsets(in_bytes), out_at = Offsets(out_bytes);
  const size_t piece = SharedArena::kStageBytes / static_cast<size_t>(n) / kLine * kLine;
  arena.Tell(*std::max_element(in_bytes.begin(), in_bytes.end()));  // nobody knows what the others send each other
  RETURN_IF_ERROR(arena.Barrier(deadline));
  uint64_t largest = 0;
  for (int i = 0; i < n; ++i) largest = std::max(largest, arena.Told(i));
  for (size_t done = 0; done < largest; done += piece) {
    const auto left = [&](std::span<const size_t> sizes, int rank) {
      const size_t all = sizes[static_cast<size_t>(rank)];
      return all > done ? std::min(all - done, piece) : 0;
    };
    for (int to = 0; to < n; ++to) {
      Copy(arena.stage(self) + static_cast<size_t>(to) * piece, in + in_at[static_cast<size_t>(to)] + done,
           left(in_bytes, to));
    }
    RETURN_IF_ERROR(arena.Barrier(deadline));
    for (int from = 0; from < n; ++from) {
      Copy(out + out_at[static_cast<size_t>(from)] + done, arena.stage(from, -1) + static_cast<size_t>(self) * piece,
           left(out_bytes, from));
    }
  }
  return OkStatus();
}

}  // namespace millstream::collective
