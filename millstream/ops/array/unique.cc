// SPDX-License-Identifier: Apache-2.0
#include <functional>
#include <limits>

#include "absl/container/inlined_vector.h"
#include "millstream/framework/op.h"
#include "millstream/tensor/dispatch.h"

namespace millstream {
namespace {

using UniqueTypes = Join<RealTypes, Types<bool, std::string>>;

template <typename T>
uint64_t HashOf(const T& value) {
  uint64_t h = 0;
  if constexpr (std::is_integral_v<T>)
    h = static_cast<uint64_t>(value);
  else if constexpr (kIsFloat16<T>)
    h = std::hash<float>()(static_cast<float>(value));
  else
    h = std::hash<T>()(value);
  h *= 0x9e3779b97f4a7c15u;
  return h ^ (h >> 32);
}

// Numbers the distinct values in order of their first occurrence: (*ids)[i] is the number of x[i], (*firsts)[k] the
// place where value k occurs first. NaN differs from everything, itself included.
template <typename T>
void NumberDistinct(const T* x, int64_t n, std::vector<int64_t>* ids, std::vector<int64_t>* firsts) {
  uint64_t capacity = 16;
  while (capacity < 2 * static_cast<uint64_t>(n)) capacity *= 2;
  std::vector<int64_t> table(capacity, -1);
  ids->resize(static_cast<size_t>(n));
  for (int64_t i = 0; i < n; ++i) {
    // NaNs would all meet in one slot, and none finds its equal.
    uint64_t slot = (x[i] == x[i] ? HashOf(x[i]) : HashOf(i)) & (capacity - 1);
    while (table[slot] >= 0 && !(x[(*firsts)[table[slot]]] == x[i])) slot = (slot + 1) & (capacity - 1);
    if (table[slot] < 0) {
      table[slot] = static_cast<int64_t>(firsts->size());
      firsts->push_back(i);
    }
    (*ids)[i] = table[slot];
  }
}

Status WriteIndices(KernelContext& ctx, int output, const std::vector<int64_t>& values) {
  ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(output, Shape({static_cast<int64_t>(values.size())})));
  DispatchOver(IndexTypes{}, out->dtype(), [&](auto type) {
    using Index = typename decltype(type)::type;
    std::transform(values.begin(), values.end(), out->data<Index>(), [](int64_t v) { return static_cast<Index>(v); });
  });
  return OkStatus();
}

template <typename T>
class UniqueKernel : public Kernel {
 public:
  explicit UniqueKernel(KernelInit&) {}

  Status Compute(KernelContext& ctx) override {
    const Tensor& in = ctx.input(0);
    if (in.rank() != 1) return errors::InvalidArgument("unique expects a 1D vector.");
    if (ctx.output_dtype(1) == DType::kInt32 && in.num_elements() > std::numeric_limits<int32_t>::max()) {
      return errors::InvalidArgument("unique does not support input tensors larger than 2147483647 elements");
    }
    std::vector<int64_t> ids, firsts;
    const T* x = in.data<T>();
    NumberDistinct(x, in.num_elements(), &ids, &firsts);
    ASSIGN_OR_RETURN(Tensor * y, ctx.AllocateOutput(0, Shape({static_cast<int64_t>(firsts.size())})));
    for (size_t k = 0; k < firsts.size(); ++k) y->data<T>()[k] = x[firsts[k]];
    RETURN_IF_ERROR(WriteIndices(ctx, 1, ids));
    if (ctx.num_outputs() < 3) return OkStatus();
    std::vector<int64_t> counts(firsts.size(), 0);
    for (const int64_t id : ids) ++counts[id];
    return WriteIndices(ctx, 2, counts);
  }
};

Status UniqueShape(ShapeContext& c) {
  PartialShape x;
  RETURN_IF_ERROR(ShapeContext::WithRank(c.input(0), 1, &x));
  c.set_output(0, PartialShape({-1}));
  c.set_output(1, std::move(x));
  if (c.num_outputs() > 2) c.set_output(2, PartialShape({-1}));
  return OkStatus();
}

OP("Unique")
    .Input("x: T")
    .Output("y: T")
    .Output("idx: out_idx")
    .Attr("T: type")
    .Attr("out_idx: {int32, int64} = DT_INT32")
    .Shape(UniqueShape)
    .Cpu<UniqueKernel>(UniqueTypes{}, "T")
    .Doc(
        "The distinct values of a vector in order of appearance, and for each element the place of its value among "
        "them.");

OP("UniqueWithCounts")
    .Input("x: T")
    .Output("y: T")
    .Output("idx: out_idx")
    .Output("count: out_idx")
    .Attr("T: type")
    .Attr("out_idx: {int32, int64} = DT_INT32")
    .Shape(UniqueShape)
    .Cpu<UniqueKernel>(UniqueTypes{}, "T")
    .Doc("As Unique, with the number of times each value occurs.");

}  // namespace
}  // namespace millstream
