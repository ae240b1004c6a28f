// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_COLLECTIVE_ALGORITHMS_ALGORITHMS_H_
#define MILLSTREAM_COLLECTIVE_ALGORITHMS_ALGORITHMS_H_

#include <span>
#include <vector>

#include "millstream/collective/algorithms/channel.h"
#include "millstream/collective/algorithms/reduce.h"

// Collectives by messages, one small file each. All ranks of a channel call the same function with arguments that
// agree. For a given algorithm and number of ranks results are the same, bit for bit, at all ranks and in all runs.
namespace millstream::collective {

// What is reduced, in place unless `from` says otherwise.
struct Reduction {
  void* data;
  int64_t count;
  DType dtype;
  ReduceOp op;
  int ranks;  // that kMean divides by; 1: somebody else divides
  // Where this rank's elements are, if not in `data`. Only DirectAllReduce() knows it.
  const void* from = nullptr;

  size_t width() const { return DTypeSize(dtype); }
  size_t bytes() const { return static_cast<size_t>(count) * width(); }
  char* at(int64_t element) const { return static_cast<char*>(data) + static_cast<size_t>(element) * width(); }
  const char* from_at(int64_t element) const {
    return static_cast<const char*>(from == nullptr ? data : from) + static_cast<size_t>(element) * width();
  }
  void Include(int64_t begin, const void* other, int64_t n) const { ReduceInto(op, dtype, at(begin), other, n); }
  void FinishPart(int64_t begin, int64_t n) const { Finish(op, dtype, at(begin), n, ranks); }
};

// The part of `count` elements that belongs to each rank; the first ones have one more where it does not divide.
std::vector<int64_t> EvenCounts(int64_t count, int ranks);
// Where each part begins; one more entry than there are parts.
template <typename T>
std::vector<T> Offsets(std::span<const T> sizes) {
  std::vector<T> offsets(sizes.size() + 1, 0);
  for (size_t i = 0; i < sizes.size(); ++i) offsets[i + 1] = offsets[i] + sizes[i];
  return offsets;
}

// All-reduce.
Status FlatAllReduce(Channel& channel, const Reduction& r);             // everybody sends everything to everybody
Status TreeAllReduce(Channel& channel, const Reduction& r);             // up and down a binomial tree
Status RingAllReduce(Channel& channel, const Reduction& r);             // reduce-scatter, then all-gather
Status HalvingDoublingAllReduce(Channel& channel, const Reduction& r);  // Rabenseifner's

// Reduce-scatter: elements [offset of the own part, + counts[rank]) are reduced; the others hold partial results after.
Status RingReduceScatter(Channel& channel, const Reduction& r, std::span<const int64_t> counts);
Status PairwiseReduceScatter(Channel& channel, const Reduction& r, std::span<const int64_t> counts);

// All-gather: `data` has room for all parts; the own one is there.
Status FlatAllGather(Channel& channel, char* data, std::span<const size_t> bytes);
// `first_number`: of its messages, where others were sent on the channel before.
Status RingAllGather(Channel& channel, char* data, std::span<const size_t> bytes, uint64_t first_number = 0);

Status TreeBroadcast(Channel& channel, char* data, size_t bytes, int root, uint64_t first_number = 0);
Status ScatterBroadcast(Channel& channel, char* data, size_t bytes, int root);  // scatter, then all-gather

// Part i of `in` goes to rank i; part i of `out` comes from rank i.
Status PairwiseAllToAll(Channel& channel, const char* in, std::span<const size_t> in_bytes, char* out,
                        std::span<const size_t> out_bytes);

Status DisseminationBarrier(Channel& channel);

}  // namespace millstream::collective

#endif  // MILLSTREAM_COLLECTIVE_ALGORITHMS_ALGORITHMS_H_
