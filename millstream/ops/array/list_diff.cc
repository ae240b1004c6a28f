// SPDX-License-Identifier: Apache-2.0
#include <limits>

#include "millstream/framework/op.h"
#include "millstream/ops/elements/distinct.h"
#include "millstream/tensor/dispatch.h"

namespace millstream {
namespace {

using ListTypes = Join<RealTypes, Types<std::string>>;

// The places of the elements of x that y does not have.
template <typename T>
std::vector<int64_t> Missing(std::span<const T> x, std::span<const T> y) {
  const auto ny = static_cast<int64_t>(y.size()), nx = static_cast<int64_t>(x.size());
  const auto item = [&](int64_t i) -> const T& { return i < ny ? y[i] : x[i - ny]; };
  const Distinct found(
      ny + nx, [&](int64_t i) { return HashOf(item(i)); }, [&](int64_t i, int64_t k) { return item(i) == item(k); });
  std::vector<int64_t> places;
  for (int64_t i = 0; i < nx; ++i) {
    if (found.firsts()[found.ids()[ny + i]] >= ny) places.push_back(i);
  }
  return places;
}

template <typename T>
class ListDiffKernel : public Kernel {
 public:
  explicit ListDiffKernel(KernelInit&) {}

  Status Compute(KernelContext& ctx) override {
    const Tensor &x = ctx.input(0), &y = ctx.input(1);
    if (x.rank() != 1) return errors::InvalidArgument("x should be a 1D vector.");
    if (y.rank() != 1) return errors::InvalidArgument("y should be a 1D vector.");
    if (ctx.output_dtype(1) == DType::kInt32 && x.num_elements() > std::numeric_limits<int32_t>::max()) {
      return errors::InvalidArgument("x too large for int32 indexing");
    }
    const std::vector<int64_t> places = Missing(x.flat<T>(), y.flat<T>());
    const Shape shape({static_cast<int64_t>(places.size())});
    ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, shape));
    ASSIGN_OR_RETURN(Tensor * index, ctx.AllocateOutput(1, shape));
    for (size_t i = 0; i < places.size(); ++i) out->data<T>()[i] = x.data<T>()[places[i]];
    DispatchOver(IndexTypes{}, index->dtype(), [&](auto type) {
      std::copy(places.begin(), places.end(), index->data<typename decltype(type)::type>());
    });
    return OkStatus();
  }
};

Status ListDiffShape(ShapeContext& c) {
  PartialShape unused;
  RETURN_IF_ERROR(ShapeContext::WithRank(c.input(0), 1, &unused));
  RETURN_IF_ERROR(ShapeContext::WithRank(c.input(1), 1, &unused));
  c.set_output(0, PartialShape({-1}));
  c.set_output(1, PartialShape({-1}));
  return OkStatus();
}

OP("ListDiff")
    .Input("x: T")
    .Input("y: T")
    .Output("out: T")
    .Output("idx: out_idx")
    .Attr("T: type")
    .Attr("out_idx: {int32, int64} = DT_INT32")
    .Shape(ListDiffShape)
    .Cpu<ListDiffKernel>(ListTypes{})
    .Doc("The elements of x that are not in y, in their order, and where they are.");

}  // namespace
}  // namespace millstream
