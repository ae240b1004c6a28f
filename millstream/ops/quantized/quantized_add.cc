// SPDX-License-Identifier: Apache-2.0
#include "millstream/framework/op.h"
#include "millstream/ops/elements/broadcast.h"
#include "millstream/ops/quantized/quantized.h"

namespace millstream {
namespace {

struct QuantizedOperands {
  float low[2], high[2];  // the ranges of x and y
};

StatusOr<QuantizedOperands> ReadQuantizedOperands(const KernelContext& ctx, const char* const (&names)[4]) {
  QuantizedOperands o{};
  for (int i = 0; i < 2; ++i) {
    ASSIGN_OR_RETURN(o.low[i], RangeInput(ctx, 2 + 2 * i, names[2 * i]));
    ASSIGN_OR_RETURN(o.high[i], RangeInput(ctx, 3 + 2 * i, names[2 * i + 1]));
  }
  return o;
}
constexpr int64_t kQuantizedBlock = 1024;
constexpr const char* kXY[4] = {"min_x", "max_x", "min_y", "max_y"};
constexpr const char* kInputBias[4] = {"min_input", "max_input", "min_bias", "max_bias"};

Status CheckOperandRanges(const QuantizedOperands& o) {
  if (!(o.high[0] > o.low[0])) return errors::InvalidArgument("max_x must be larger than min_x.");
  if (!(o.high[1] > o.low[1])) return errors::InvalidArgument("max_y must be larger than min_y.");
  return OkStatus();
}

// Bytes as the int32 numbers that stand for the same in another range.
class ToInt32 {
 public:
  // A table by equal steps from those of 0 and 1; `exact`: each code by itself, as for scalars.
  ToInt32(float low, float high, const QuantizedRange<int32_t>& to, bool exact) {
    const QuantizedRange<uint8_t> from(low, high);
    const int64_t first = to.CodeOf(from.ToFloat(0));
    const auto step = static_cast<int32_t>(to.CodeOf(from.ToFloat(1)) - first);
    for (int i = 0; i < 256; ++i) {
      table_[i] = exact ? to.FromFloat(from.ToFloat(static_cast<uint8_t>(i)))
                        : static_cast<int32_t>(std::clamp<int64_t>(first + int64_t{i} * step, INT32_MIN, INT32_MAX));
    }
  }
  // From each code what stands for zero.
  ToInt32(float low, float high) {
    const auto zero = static_cast<int32_t>(QuantizedRange<uint8_t>(low, high).CodeOf(0));
    for (int i = 0; i < 256; ++i) table_[i] = WrapAdd(i, WrapMul(zero, -1));
  }
  int32_t operator[](uint8_t code) const { return table_[code]; }

 private:
  int32_t table_[256];
};

// z = fn(x, y) with broadcasting.
template <typename Fn>
Status CombineQuantized(KernelContext& ctx, const ToInt32& x_codes, const ToInt32& y_codes, Fn fn) {
  const Tensor &x = ctx.input(0), &y = ctx.input(1);
  ASSIGN_OR_RETURN(const Shape shape, BroadcastShapes(x.shape(), y.shape()));
  ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, shape));
  if (shape.num_elements() == 0) return OkStatus();
  const BroadcastMap x_map(x.shape(), shape), y_map(y.shape(), shape);
  auto* z = Integers<int32_t>(out);
  ctx.ParallelFor(shape.num_elements(), 2.0, [&](int64_t begin, int64_t end) {
    uint8_t x_block[kQuantizedBlock], y_block[kQuantizedBlock];
    BroadcastReader xs(x_map, x.raw(), 1, x_block), ys(y_map, y.raw(), 1, y_block);
    for (int64_t i = begin; i < end; i += kQuantizedBlock) {
      const int64_t n = std::min(kQuantizedBlock, end - i);
      const auto* a = static_cast<const uint8_t*>(xs.Read(i, n));
      const auto* b = static_cast<const uint8_t*>(ys.Read(i, n));
      for (int64_t k = 0; k < n; ++k) z[i + k] = fn(x_codes[a[k]], y_codes[b[k]]);
    }
  });
  return OkStatus();
}

class QuantizedAdd {
 public:
  static Status Run(KernelContext& ctx, const QuantizedOperands& o) {
    const float widest = std::max(std::fabs(std::min(o.low[0], o.low[1])), std::fabs(std::max(o.high[0], o.high[1])));
    const float high = widest * (1 << 14);
    const QuantizedRange<int32_t> sum(-high, high);
    const bool x_scalar = ctx.input(0).num_elements() == 1, y_scalar = ctx.input(1).num_elements() == 1;
    const ToInt32 x(o.low[0], o.high[0], sum, x_scalar), y(o.low[1], o.high[1], sum, y_scalar && !x_scalar);
    RETURN_IF_ERROR(CombineQuantized(ctx, x, y, WrapAdd));
    return OutputRange(ctx, 1, -high, high);
  }
};
class QuantizedMul {
 public:
  static Status Run(KernelContext& ctx, const QuantizedOperands& o) {
    RETURN_IF_ERROR(CombineQuantized(ctx, ToInt32(o.low[0], o.high[0]), ToInt32(o.low[1], o.high[1]), WrapMul));
    float low = 0, high = 0;
    RangeOfProducts<uint8_t, uint8_t>(o.low[0], o.high[0], o.low[1], o.high[1], &low, &high);
    return OutputRange(ctx, 1, low, high);
  }
};

template <typename Op>
class QuantizedBinary final : public Kernel {
 public:
  explicit QuantizedBinary(KernelInit& init) {
    RequireType(init, "T2", DType::kQuint8);
    RequireType(init, "Toutput", DType::kQint32);
  }
  Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(const QuantizedOperands o, ReadQuantizedOperands(ctx, kXY));
    RETURN_IF_ERROR(CheckOperandRanges(o));
    return Op::Run(ctx, o);
  }
};

// A bias for each channel, the last dimension.
class QuantizedBiasAdd final : public Kernel {
 public:
  explicit QuantizedBiasAdd(KernelInit& init) {
    RequireType(init, "T2", init.input_types()[0]);
    RequireType(init, "out_type", DType::kQint32);
  }

  Status Compute(KernelContext& ctx) override {
    const Tensor &in = ctx.input(0), &bias = ctx.input(1);
    ASSIGN_OR_RETURN(const QuantizedOperands o, ReadQuantizedOperands(ctx, kInputBias));
    if (in.rank() < 2) return errors::InvalidArgument("Input tensor must be at least 2D: ", in.shape().ToString());
    if (bias.rank() != 1) return errors::InvalidArgument("Biases must be 1D: ", bias.shape().ToString());
    if (bias.dim(0) != in.dim(in.rank() - 1)) {
      return errors::InvalidArgument("Must provide as many biases as the last dimension of the input tensor: ",
                                     bias.shape().ToString(), " vs. ", in.shape().ToString());
    }
    if (bias.num_elements() == 0) return errors::InvalidArgument("Must provide at least 1 bias");
    ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, in.shape()));
    const float high = std::max({o.high[0], -o.low[0], o.high[1], -o.low[1]}) * (1 << 17);
    DispatchQuantized(in.dtype(), [&](auto type) {
      using T = typename decltype(type)::type;
      Add(Integers<T>(in), Integers<T>(bias), o, high, bias.dim(0), in.num_elements(), Integers<int32_t>(out));
    });
    return OutputRange(ctx, 1, -high, high);
  }

 private:
  template <typename T>
  static void Add(const T* in, const T* bias, const QuantizedOperands& o, float high, int64_t channels, int64_t n,
                  int32_t* out) {
    const FloatQuantizedRange<T> in_range(o.low[0], o.high[0]), bias_range(o.low[1], o.high[1]);
    const FloatQuantizedRange<int32_t> sum(-high, high);
    const int32_t zero = QuantizedRange<int32_t>(-high, high).FromFloat(0);
    for (int64_t i = 0; i < n; i += channels) {
      for (int64_t c = 0; c < channels; ++c) {
        const int32_t b = WrapAdd(sum.FromFloat(bias_range.ToFloat(bias[c])), zero);
        out[i + c] = WrapAdd(sum.FromFloat(in_range.ToFloat(in[i + c])), b);
      }
    }
  }
};

Status QuantizedBinaryShape(ShapeContext& c) {
  RETURN_IF_ERROR(BroadcastBinaryShape(c));
  return ScalarRanges(c, 2, 4);
}
Status QuantizedBiasAddShape(ShapeContext& c) {
  PartialShape in, bias;
  RETURN_IF_ERROR(ShapeContext::WithRankAtLeast(c.input(0), 2, &in));
  RETURN_IF_ERROR(ShapeContext::WithRank(c.input(1), 1, &bias));
  if (in.rank_known()) {
    PartialShape merged = in;
    merged.set_dim(in.rank() - 1, bias.dim(0));
    ASSIGN_OR_RETURN(in, in.MergeWith(merged));
  }
  c.set_output(0, in);
  return ScalarRanges(c, 2, 4);
}

#define QUANTIZED_BINARY(Name, Op, doc)                                      \
  OP(Name)                                                                   \
      .Input("x: T1")                                                        \
      .Input("y: T2")                                                        \
      .Input("min_x: float")                                                 \
      .Input("max_x: float")                                                 \
      .Input("min_y: float")                                                 \
      .Input("max_y: float")                                                 \
      .Output("z: Toutput")                                                  \
      .Output("min_z: float")                                                \
      .Output("max_z: float")                                                \
      .Attr("T1: {qint8, quint8, qint32, qint16, quint16}")                  \
      .Attr("T2: {qint8, quint8, qint32, qint16, quint16}")                  \
      .Attr("Toutput: {qint8, quint8, qint32, qint16, quint16} = DT_QINT32") \
      .Shape(QuantizedBinaryShape)                                           \
      .NotDifferentiable()                                                   \
      .CpuFor<QuantizedBinary<Op>>(Types<Quint8>{}, "T1")                    \
      .Doc(doc)

QUANTIZED_BINARY("QuantizedAdd", QuantizedAdd, "Sums of quantized numbers, with broadcasting.");
QUANTIZED_BINARY("QuantizedMul", QuantizedMul, "Products of quantized numbers, with broadcasting.");
#undef QUANTIZED_BINARY

OP("QuantizedBiasAdd")
    .Input("input: T1")
    .Input("bias: T2")
    .Input("min_input: float")
    .Input("max_input: float")
    .Input("min_bias: float")
    .Input("max_bias: float")
    .Output("output: out_type")
    .Output("min_out: float")
    .Output("max_out: float")
    .Attr("T1: {qint8, quint8, qint32, qint16, quint16}")
    .Attr("T2: {qint8, quint8, qint32, qint16, quint16}")
    .Attr("out_type: {qint8, quint8, qint32, qint16, quint16}")
    .Shape(QuantizedBiasAddShape)
    .NotDifferentiable()
    .CpuFor<QuantizedBiasAdd>(Types<Quint8, Qint8>{}, "T1")
    .Doc("Adds a quantized bias to each channel.");

}  // namespace
}  // namespace millstream
