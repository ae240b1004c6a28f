// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <limits>

#include "millstream/framework/op.h"
#include "millstream/math/simd.h"
#include "millstream/tensor/dispatch.h"

namespace millstream {
namespace {

template <typename T>
class BucketizeKernel : public Kernel {
 public:
  explicit BucketizeKernel(KernelInit& init) : boundaries_(init.Attr<std::vector<float>>("boundaries")) {
    if (!std::is_sorted(boundaries_.begin(), boundaries_.end())) {
      init.Fail(errors::InvalidArgument("Expected sorted boundaries"));
    }
  }

  Status Compute(KernelContext& ctx) override {
    const Tensor& in = ctx.input(0);
    ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, in.shape()));
    const T* x = in.data<T>();
    int32_t* y = out->data<int32_t>();
    ctx.ParallelFor(in.num_elements(), 10, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        y[i] =
            static_cast<int32_t>(std::upper_bound(boundaries_.begin(), boundaries_.end(), x[i]) - boundaries_.begin());
      }
    });
    return OkStatus();
  }

 private:
  const std::vector<float> boundaries_;
};

// Counts in bins of equal width; what is outside of the range goes to the first or last one.
template <typename T>
class HistogramKernel : public Kernel {
 public:
  explicit HistogramKernel(KernelInit&) {}

  Status Compute(KernelContext& ctx) override {
    const Tensor &values = ctx.input(0), &range = ctx.input(1), &bins = ctx.input(2);
    if (range.rank() != 1) return errors::InvalidArgument("value_range should be a vector.");
    if (range.num_elements() != 2) {
      return errors::InvalidArgument("value_range should be a vector of 2 elements.");
    }
    if (bins.rank() != 0) return errors::InvalidArgument("nbins should be a scalar.");
    const T low = range.data<T>()[0], high = range.data<T>()[1];
    const int32_t n = bins.scalar<int32_t>();
    if (!(low < high)) return errors::InvalidArgument("value_range should satisfy value_range[0] < value_range[1]");
    if (n <= 0) return errors::InvalidArgument("nbins should be a positive number");
    ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, Shape({n})));
    const double step = (static_cast<double>(high) - static_cast<double>(low)) / static_cast<double>(n);
    std::vector<int64_t> counts(static_cast<size_t>(n), 0);
    Count(values.data<T>(), values.num_elements(), static_cast<double>(low), static_cast<double>(high), step, &counts);
    DispatchOver(IndexTypes{}, out->dtype(), [&](auto type) {
      std::copy(counts.begin(), counts.end(), out->data<typename decltype(type)::type>());
    });
    return OkStatus();
  }

 private:
  // The bins of a block of values in vectors, then their counts.
  static void Count(const T* values, int64_t size, double low, double high, double step, std::vector<int64_t>* counts) {
    constexpr int64_t kBlock = 1024;
    const auto last = static_cast<double>(counts->size() - 1);
    int32_t bins[kBlock];
    int32_t* const bin = bins;
    for (int64_t first = 0; first < size; first += kBlock) {
      const int64_t n = std::min(kBlock, size - first);
      simd::For<double>(0, n, [=, v = values + first](int64_t i) MILLSTREAM_INLINE_LAMBDA {
        const auto x = static_cast<double>(v[i]);
        const double above = x < low ? low : x, inside = high < above ? high : above;
        const double place = std::floor((inside - low) / step), least = place >= 0 ? place : 0.0;
        bin[i] = static_cast<int32_t>(last < least ? last : least);
      });
      for (int64_t i = 0; i < n; ++i) ++(*counts)[static_cast<size_t>(bins[i])];
    }
  }
};

Status HistogramShape(ShapeContext& c) {
  PartialShape range, bins;
  RETURN_IF_ERROR(ShapeContext::WithRank(c.input(1), 1, &range));
  int64_t unused = 0;
  RETURN_IF_ERROR(ShapeContext::MergeDim(range.dim(0), 2, &unused));
  RETURN_IF_ERROR(ShapeContext::WithRank(c.input(2), 0, &bins));
  int64_t n = -1;
  if (c.ConstantInt(2, &n) && n <= 0) return errors::InvalidArgument("Dimension, ", n, ", must be non-negative");
  c.set_output(0, PartialShape({n}));
  return OkStatus();
}

OP("Bucketize")
    .Input("input: T")
    .Output("output: int32")
    .Attr("T: {int32, int64, float, double}")
    .Attr("boundaries: list(float)")
    .Shape(UnchangedShape)
    .Cpu<BucketizeKernel>(Types<int32_t, int64_t, float, double>{})
    .Doc("For each element, the number of boundaries that are not above it.");

OP("HistogramFixedWidth")
    .Input("values: T")
    .Input("value_range: T")
    .Input("nbins: int32")
    .Output("out: dtype")
    .Attr("T: {int32, int64, float, double}")
    .Attr("dtype: {int32, int64} = DT_INT32")
    .Shape(HistogramShape)
    .Cpu<HistogramKernel>(Types<int32_t, int64_t, float, double>{})
    .HostMemory("nbins")
    .Doc("Counts of values in bins of equal width over a range; the end bins take what is outside.");

}  // namespace
}  // namespace millstream
