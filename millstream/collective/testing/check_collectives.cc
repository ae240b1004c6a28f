// SPDX-License-Identifier: Apache-2.0
#include "millstream/collective/testing/check_collectives.h"

#include <algorithm>
#include <cstring>

#include "millstream/tensor/dispatch.h"
#include "millstream/tensor/tensor.h"

namespace millstream::testing {

using collective::Group;
using collective::Offsets;
using collective::ReduceOp;
using collective::SumOrder;

namespace {

using ReducibleTypes = Types<millstream::Half, BFloat16, float, double, int32_t, int64_t>;
constexpr DType kTypes[] = {DType::kHalf,   DType::kBfloat16, DType::kFloat,
                            DType::kDouble, DType::kInt32,    DType::kInt64};
constexpr ReduceOp kOps[] = {ReduceOp::kSum, ReduceOp::kMean, ReduceOp::kMin, ReduceOp::kMax, ReduceOp::kProduct};

uint32_t Mix(uint32_t x) {
  x = (x ^ (x >> 16)) * 0x7feb352du;
  x = (x ^ (x >> 15)) * 0x846ca68bu;
  return x ^ (x >> 16);
}

// What `rank` contributes at element i: products stay small, sums of 16 ranks below 256.
int Contribution(int rank, int64_t i, ReduceOp op) {
  const uint32_t bits = Mix(static_cast<uint32_t>(i) * 31 + static_cast<uint32_t>(rank));
  if (op == ReduceOp::kProduct) return (rank < 2 ? 2 : 1) * ((bits & 1) != 0 ? 1 : -1);
  return static_cast<int>(bits % 31) - 15;
}

template <typename T>
T Expected(int ranks, int64_t i, ReduceOp op) {
  int64_t result = Contribution(0, i, op);
  for (int rank = 1; rank < ranks; ++rank) {
    const int64_t x = Contribution(rank, i, op);
    if (op == ReduceOp::kSum || op == ReduceOp::kMean) result += x;
    if (op == ReduceOp::kMin) result = std::min(result, x);
    if (op == ReduceOp::kMax) result = std::max(result, x);
    if (op == ReduceOp::kProduct) result *= x;
  }
  using W = Compute<T>;
  return op == ReduceOp::kMean ? static_cast<T>(static_cast<W>(result) / static_cast<W>(ranks))
                               : static_cast<T>(result);
}

Status CompareReduced(const void* data, int64_t begin, int64_t end, int ranks, DType dtype, ReduceOp op) {
  Status status;
  DispatchOver(ReducibleTypes{}, dtype, [&](auto type) {
    using T = typename decltype(type)::type;
    const T* const got = static_cast<const T*>(data);
    for (int64_t i = begin; i < end && status.ok(); ++i) {
      const T want = Expected<T>(ranks, i, op);
      const bool both_nan = got[i] != got[i] && want != want;
      if (got[i] != want && !both_nan) {
        status = errors::Internal("element ", i, " of [", begin, ", ", end, "), type ", DTypeName(dtype), ", op ",
                                  static_cast<int>(op), ": ", static_cast<double>(got[i]), " instead of ",
                                  static_cast<double>(want));
      }
    }
  });
  return status;
}

void Fill(void* data, int64_t count, int rank, DType dtype, ReduceOp op) {
  DispatchOver(ReducibleTypes{}, dtype, [&](auto type) {
    using T = typename decltype(type)::type;
    for (int64_t i = 0; i < count; ++i) static_cast<T*>(data)[i] = static_cast<T>(Contribution(rank, i, op));
  });
}

char ByteOf(int from, int to, size_t i) {
  return static_cast<char>(Mix(static_cast<uint32_t>(from * 16 + to)) + static_cast<uint32_t>(i) * 7);
}

Status CompareBytes(const char* got, size_t bytes, int from, int to) {
  for (size_t i = 0; i < bytes; ++i) {
    if (got[i] != ByteOf(from, to, i)) return errors::Internal("byte ", i, " from rank ", from, " is wrong");
  }
  return OkStatus();
}

void FillBytes(char* data, size_t bytes, int from, int to) {
  for (size_t i = 0; i < bytes; ++i) data[i] = ByteOf(from, to, i);
}

size_t RandomSize(uint32_t seed, int a, int b, size_t max_bytes) {
  const uint32_t bits = Mix(seed * 1009 + static_cast<uint32_t>(a * 64 + b));
  return bits % 4 == 0 ? bits / 4 % 2 : bits % (max_bytes + 1);
}

}  // namespace

std::span<const DType> ReducedTypes() { return kTypes; }
std::span<const ReduceOp> ReduceOps() { return kOps; }

Status CheckAllReduce(Group& group, int64_t count, DType dtype, ReduceOp op, bool shared) {
  std::vector<char> own(static_cast<size_t>(count) * DTypeSize(dtype) + 1);
  char* data = own.data();
  if (shared) {
    ASSIGN_OR_RETURN(data, group.AllocateShared(own.size()));
  }
  Fill(data, count, group.rank(), dtype, op);
  RETURN_IF_ERROR(group.AllReduce(data, count, dtype, op));
  return CompareReduced(data, 0, count, group.size(), dtype, op);
}

Status CheckAllReduceOfTensors(Group& group, int64_t count, DType dtype, ReduceOp op, SumOrder order) {
  ASSIGN_OR_RETURN(Tensor from, Tensor::Make(dtype, Shape({count})));
  ASSIGN_OR_RETURN(const Tensor to, Tensor::Make(dtype, Shape({count})));
  void* const result = const_cast<void*>(to.raw());
  Fill(static_cast<char*>(from.raw()), count, group.rank(), dtype, op);
  ASSIGN_OR_RETURN(const Tensor before, from.Clone());
  RETURN_IF_ERROR(group.AllReduceInto(from.raw(), result, count, dtype, op, order));
  if (from.ByteSize() > 0 && std::memcmp(from.raw(), before.raw(), from.ByteSize()) != 0) {
    return errors::Internal("an all-reduce into another tensor has changed its input");
  }
  return CompareReduced(static_cast<const char*>(result), 0, count, group.size(), dtype, op);
}

Status CheckReduceScatter(Group& group, std::span<const int64_t> counts, DType dtype, ReduceOp op) {
  const std::vector<int64_t> offsets = Offsets(counts);
  std::vector<char> data(static_cast<size_t>(offsets.back()) * DTypeSize(dtype) + 1);
  Fill(data.data(), offsets.back(), group.rank(), dtype, op);
  RETURN_IF_ERROR(group.ReduceScatter(data.data(), counts, dtype, op));
  const size_t self = static_cast<size_t>(group.rank());
  return CompareReduced(data.data(), offsets[self], offsets[self + 1], group.size(), dtype, op);
}

Status CheckAllGather(Group& group, uint32_t seed, size_t max_bytes) {
  ASSIGN_OR_RETURN(const std::vector<size_t> bytes, group.AllGatherSizes(RandomSize(seed, group.rank(), 0, max_bytes)));
  const std::vector<size_t> offsets = Offsets(std::span<const size_t>(bytes));
  std::vector<char> data(offsets.back() + 1);
  const size_t self = static_cast<size_t>(group.rank());
  FillBytes(data.data() + offsets[self], bytes[self], group.rank(), 0);
  RETURN_IF_ERROR(group.AllGather(data.data(), bytes));
  for (size_t i = 0; i < bytes.size(); ++i) {
    if (bytes[i] != RandomSize(seed, static_cast<int>(i), 0, max_bytes)) return errors::Internal("wrong sizes");
    RETURN_IF_ERROR(CompareBytes(data.data() + offsets[i], bytes[i], static_cast<int>(i), 0));
  }
  return OkStatus();
}

Status CheckBroadcast(Group& group, size_t bytes, int root) {
  std::vector<char> data(bytes + 1);
  if (group.rank() == root) FillBytes(data.data(), bytes, root, 0);
  RETURN_IF_ERROR(group.Broadcast(data.data(), bytes, root));
  return CompareBytes(data.data(), bytes, root, 0);
}

Status CheckAllToAll(Group& group, uint32_t seed, size_t max_bytes) {
  const int n = group.size(), self = group.rank();
  std::vector<size_t> in_bytes, out_bytes;
  for (int i = 0; i < n; ++i) {
    in_bytes.push_back(RandomSize(seed, self, i, max_bytes));
    out_bytes.push_back(RandomSize(seed, i, self, max_bytes));
  }
  const std::vector<size_t> in_at = Offsets(std::span<const size_t>(in_bytes));
  const std::vector<size_t> out_at = Offsets(std::span<const size_t>(out_bytes));
  std::vector<char> in(in_at.back() + 1), out(out_at.back() + 1);
  for (int i = 0; i < n; ++i) FillBytes(in.data() + in_at[size_t(i)], in_bytes[size_t(i)], self, i);
  RETURN_IF_ERROR(group.AllToAll(in.data(), in_bytes, out.data(), out_bytes));
  for (int i = 0; i < n; ++i) {
    RETURN_IF_ERROR(CompareBytes(out.data() + out_at[size_t(i)], out_bytes[size_t(i)], i, self));
  }
  return OkStatus();
}

Status CheckEverything(Group& group, uint32_t seed, int64_t max_count) {
  uint32_t turn = seed;
  for (const DType dtype : kTypes) {
    for (const ReduceOp op : kOps) {
      const int64_t random = Mix(++turn) % static_cast<uint32_t>(max_count + 1);
      for (const int64_t count : {int64_t{0}, int64_t{1}, int64_t{group.size()} + 1, random | 1}) {
        RETURN_IF_ERROR(CheckAllReduce(group, count, dtype, op));
      }
      std::vector<int64_t> counts;
      for (int i = 0; i < group.size(); ++i) {
        counts.push_back(static_cast<int64_t>(RandomSize(turn, i, 1, static_cast<size_t>(max_count / group.size()))));
      }
      RETURN_IF_ERROR(CheckReduceScatter(group, counts, dtype, op));
    }
    RETURN_IF_ERROR(CheckAllGather(group, ++turn, static_cast<size_t>(max_count)));
    RETURN_IF_ERROR(CheckAllToAll(group, ++turn, static_cast<size_t>(max_count / group.size())));
    const uint32_t bits = Mix(++turn);
    const int root = static_cast<int>(bits % static_cast<uint32_t>(group.size()));
    RETURN_IF_ERROR(CheckBroadcast(group, bits % static_cast<uint32_t>(max_count), root));
    RETURN_IF_ERROR(group.Barrier());
  }
  return OkStatus();
}

}  // namespace millstream::testing
