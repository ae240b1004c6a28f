// SPDX-License-Identifier: Apache-2.0
#include "millstream/math/conv/pool_inl.h"
#include "millstream/ops/nn/pool.h"
#include "millstream/ops/quantized/quantized.h"

namespace millstream {
namespace {

// Means of integers: the sums divided, rests left out.
template <typename T>
void AveragePixels(const math::PoolShape& s, const T* in, T* out, ThreadPool* pool) {
  const auto rows = [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      const T* image = in + row / s.out_height * s.in_height * s.in_width * s.channels;
      for (int64_t x = 0; x < s.out_width; ++x) {
        const math::internal::PoolWindow w = math::internal::WindowAt(s, row % s.out_height, x);
        T* pixel = out + (row * s.out_width + x) * s.channels;
        for (int64_t c = 0; c < s.channels; ++c) {
          int64_t sum = 0;
          for (int64_t i = w.top; i < w.bottom; ++i) {
            for (int64_t k = w.left; k < w.right; ++k) sum += image[(i * s.in_width + k) * s.channels + c];
          }
          pixel[c] = static_cast<T>(sum / w.size());
        }
      }
    }
  };
  const auto cost = static_cast<double>(s.out_width * s.channels * s.window_height * s.window_width);
  pool->ParallelFor(s.batch * s.out_height, 0.5 * cost, rows);
}

template <bool average>
class QuantizedPool final : public PoolKernel {
 public:
  explicit QuantizedPool(KernelInit& init) : PoolKernel(init, 3) {}

  Status Compute(KernelContext& ctx) override {
    const Tensor& input = ctx.input(0);
    Shape shape;
    ASSIGN_OR_RETURN(const math::PoolShape s,
                     average ? Sizes(ctx, input.shape()) : MaxSizes(ctx, input.shape(), &shape));
    ASSIGN_OR_RETURN(const float low, PoolRange(ctx, 1, "min_input"));
    ASSIGN_OR_RETURN(const float high, PoolRange(ctx, 2, "max_input"));
    if (average) {
      ASSIGN_OR_RETURN(shape, OutputShape(s, s.channels));
    }
    ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, shape));
    if (out->num_elements() > 0) {
      DispatchQuantized(input.dtype(), [&](auto type) {
        using T = typename decltype(type)::type;
        if constexpr (sizeof(T) == 1) {
          const auto pool = average ? &AveragePixels<T> : &math::MaxPool<T>;
          pool(s, Integers<T>(input), Integers<T>(out), ctx.pool());
        }
      });
    }
    return OutputRange(ctx, 1, low, high);
  }

 private:
  static StatusOr<float> PoolRange(const KernelContext& ctx, int i, const char* name) {
    const Tensor& t = ctx.input(i);
    if (t.rank() == 0) return t.data<float>()[0];
    return errors::InvalidArgument(name, " shape must be rank 0 but is rank ", t.rank(),
                                   ", received shape: ", t.shape().ToString());
  }
};

Status QuantizedPoolShape(ShapeContext& c) {
  RETURN_IF_ERROR(PoolShapeFn(c));
  return ScalarRanges(c, 1, 2);
}

#define QUANTIZED_POOL(Name, average, doc)                    \
  OP(Name)                                                    \
      .Input("input: T")                                      \
      .Input("min_input: float")                              \
      .Input("max_input: float")                              \
      .Output("output: T")                                    \
      .Output("min_output: float")                            \
      .Output("max_output: float")                            \
      .Attr("T: {qint8, quint8, qint32, qint16, quint16}")    \
      .Attr("ksize: list(int)")                               \
      .Attr("strides: list(int)")                             \
      .Attr("padding: {'SAME', 'VALID'}")                     \
      .Shape(QuantizedPoolShape)                              \
      .NotDifferentiable()                                    \
      .CpuFor<QuantizedPool<average>>(Types<Quint8, Qint8>{}) \
      .Doc(doc)

QUANTIZED_POOL("QuantizedMaxPool", false, "Maxima in windows of quantized images.");
QUANTIZED_POOL("QuantizedAvgPool", true, "Averages in windows of quantized images.");
#undef QUANTIZED_POOL

}  // namespace
}  // namespace millstream
