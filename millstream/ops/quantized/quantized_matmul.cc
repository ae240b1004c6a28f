// SPDX-License-Identifier: Apache-2.0
// Products of matrices and convolutions of bytes: as int32, after taking the codes of zero away.
#include <array>

#include "millstream/ops/elements/product.h"
#include "millstream/ops/nn/conv2d.h"
#include "millstream/ops/quantized/quantized.h"

namespace millstream {
namespace {

// A byte operand: its range, and the code that stands for zero.
struct ByteOperand {
  float low = 0, high = 0;
  int32_t zero = 0;

  static StatusOr<ByteOperand> Read(const KernelContext& ctx, int i, const char* low, const char* high) {
    ByteOperand operand;
    ASSIGN_OR_RETURN(operand.low, RangeInput(ctx, i, low));
    ASSIGN_OR_RETURN(operand.high, RangeInput(ctx, i + 1, high));
    operand.zero = static_cast<int32_t>(QuantizedRange<uint8_t>(operand.low, operand.high).CodeOf(0));
    return operand;
  }
  void Convert(const uint8_t* from, int64_t n, int32_t* to) const {
    const int32_t negative = WrapMul(zero, -1);
    for (int64_t i = 0; i < n; ++i) to[i] = WrapAdd(from[i], negative);
  }
  StatusOr<Tensor> Converted(KernelContext& ctx, const Tensor& t) const {
    ASSIGN_OR_RETURN(Tensor wide, ctx.AllocateTemp(DType::kInt32, t.shape()));
    ctx.ParallelFor(t.num_elements(), 0.3, [&](int64_t begin, int64_t end) {
      Convert(Integers<uint8_t>(t) + begin, end - begin, wide.data<int32_t>() + begin);
    });
    return wide;
  }
};

Status OutputRangeOfProducts(KernelContext& ctx, const ByteOperand& a, const ByteOperand& b) {
  float low = 0, high = 0;
  RangeOfProducts<uint8_t, uint8_t>(a.low, a.high, b.low, b.high, &low, &high);
  return OutputRange(ctx, 1, low, high);
}

class QuantizedMatMul final : public Kernel {
 public:
  explicit QuantizedMatMul(KernelInit& init)
      : transpose_a_(init.Attr<bool>("transpose_a")), transpose_b_(init.Attr<bool>("transpose_b")) {
    RequireType(init, "T2", DType::kQuint8);
    RequireType(init, "Toutput", DType::kQint32);
  }

  Status Compute(KernelContext& ctx) override {
    const Tensor &a = ctx.input(0), &b = ctx.input(1);
    ASSIGN_OR_RETURN(const ByteOperand left, ByteOperand::Read(ctx, 2, "min_a", "max_a"));
    ASSIGN_OR_RETURN(const ByteOperand right, ByteOperand::Read(ctx, 4, "min_b", "max_b"));
    if (!(left.high > left.low)) return errors::InvalidArgument("max_a must be larger than min_a.");
    if (!(right.high > right.low)) return errors::InvalidArgument("max_b must be larger than min_b.");
    if (a.rank() != 2) return errors::InvalidArgument("In[0] is not a matrix");
    if (b.rank() != 2) return errors::InvalidArgument("In[1] is not a matrix");
    ProductArgs p;
    p.transpose_a = transpose_a_;
    p.transpose_b = transpose_b_;
    p.m = a.dim(transpose_a_ ? 1 : 0);
    p.k = a.dim(transpose_a_ ? 0 : 1);
    p.n = b.dim(transpose_b_ ? 0 : 1);
    if (b.dim(transpose_b_ ? 1 : 0) != p.k) {
      return errors::InvalidArgument("Matrix size-incompatible: In[0]: ", a.shape().ToString(),
                                     ", In[1]: ", b.shape().ToString());
    }
    ASSIGN_OR_RETURN(const Shape shape, Shape::Make(std::array{p.m, p.n}));
    ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, shape));
    ASSIGN_OR_RETURN(const Tensor x, left.Converted(ctx, a));
    ASSIGN_OR_RETURN(const Tensor y, right.Converted(ctx, b));
    Tensor z = out->Bitcast(DType::kInt32, shape);
    RETURN_IF_ERROR(MultiplyMatrices(ctx, x, y, p, &z));
    return OutputRangeOfProducts(ctx, left, right);
  }

 private:
  const bool transpose_a_, transpose_b_;
};

// Windows over one dimension of an image. Where they leave a rest, they lie in the middle, also without padding.
struct ByteWindows {
  int64_t outputs = 0, before = 0, used = 0;  // positions; padding in front (negative: skipped); pixels from then on

  static StatusOr<ByteWindows> Make(const WindowAttrs& attrs, int axis, int64_t input, int64_t filter) {
    ASSIGN_OR_RETURN(const Placement place, PlaceWindow(attrs, axis, input, filter));
    ByteWindows w;
    w.outputs = place.output;
    w.used = (place.output - 1) * attrs.strides[axis] + filter;
    w.before = (w.used - input + (attrs.padding == Padding::kValid ? 1 : 0)) / 2;
    return w;
  }
};

class QuantizedConv2D final : public Kernel {
 public:
  explicit QuantizedConv2D(KernelInit& init) {
    RequireType(init, "Tfilter", DType::kQuint8);
    RequireType(init, "out_type", DType::kQint32);
    init.Check(CheckSteps(init.Attr<std::vector<int64_t>>("strides"), init.Attr<std::vector<int64_t>>("dilations")));
    StatusOr<WindowAttrs> attrs = WindowAttrs::Read(init.attrs());
    init.Check(attrs.status());
    if (!attrs.ok()) return;
    attrs_ = *std::move(attrs);
  }

  Status Compute(KernelContext& ctx) override {
    const Tensor &input = ctx.input(0), &filter = ctx.input(1);
    RETURN_IF_ERROR(CheckShapes(input, filter));
    ASSIGN_OR_RETURN(const ByteOperand image, ByteOperand::Read(ctx, 2, "min_input", "max_input"));
    ASSIGN_OR_RETURN(const ByteOperand weights, ByteOperand::Read(ctx, 4, "min_filter", "max_filter"));
    ASSIGN_OR_RETURN(const ByteWindows rows, ByteWindows::Make(attrs_, 1, input.dim(1), filter.dim(0)));
    ASSIGN_OR_RETURN(const ByteWindows columns, ByteWindows::Make(attrs_, 2, input.dim(2), filter.dim(1)));
    if (rows.outputs <= 0) return errors::InvalidArgument("out_rows must be greater than 0, but got ", rows.outputs);
    if (columns.outputs <= 0) {
      return errors::InvalidArgument("out_cols must be greater than 0, but got ", columns.outputs);
    }
    ASSIGN_OR_RETURN(const Shape shape,
                     Shape::Make(std::array{input.dim(0), rows.outputs, columns.outputs, filter.dim(3)}));
    ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, shape));
    ASSIGN_OR_RETURN(const Tensor x, Framed(ctx, image, input, rows, columns));
    ASSIGN_OR_RETURN(const Tensor w, weights.Converted(ctx, filter));
    Convolution convolution;
    WindowAttrs framed = attrs_;
    framed.padding = Padding::kValid;
    ASSIGN_OR_RETURN(convolution.shape, MakeConvShape(framed, x.shape(), w.shape(), /*depthwise=*/false));
    Tensor y = out->Bitcast(DType::kInt32, shape);
    RETURN_IF_ERROR(Convolve(ctx, convolution, x, w, &y));
    return OutputRangeOfProducts(ctx, image, weights);
  }

 private:
  static Status CheckSteps(const std::vector<int64_t>& s, const std::vector<int64_t>& dilations) {
    if (s.size() != 4) return errors::InvalidArgument("Sliding window strides field must specify 4 dimensions");
    if (s[1] != s[2]) {
      return errors::InvalidArgument(
          "Current implementation only supports equal length strides in the row and column dimensions.");
    }
    if (s[0] != 1 || s[3] != 1) {
      return errors::InvalidArgument(
          "Current implementation does not yet support strides in the batch and depth dimensions.");
    }
    for (const int64_t d : dilations) {
      if (d != 1) return errors::InvalidArgument("Current implementation only supports dilated rate as 1.");
    }
    return OkStatus();
  }
  static Status CheckShapes(const Tensor& input, const Tensor& filter) {
    for (const int64_t size : input.shape().dims()) {
      if (size == 0) return errors::InvalidArgument("Invalid input: Shapes dimension cannot be 0.");
    }
    if (input.rank() != 4) return errors::InvalidArgument("input must be rank 4 but is rank ", input.rank());
    if (filter.rank() != 4) return errors::InvalidArgument("filter must be rank 4 but is rank ", filter.rank());
    constexpr const char* kSizes[] = {"filter_rows", "filter_cols", "in_depth", "out_depth"};
    for (const int i : {0, 1, 3}) {
      if (filter.dim(i) == 0) return errors::InvalidArgument(kSizes[i], " must be greater than 0, but got 0");
    }
    if (input.dim(3) != filter.dim(2)) {
      return errors::InvalidArgument("input and filter must have the same depth: ", input.dim(3), " vs ",
                                     filter.dim(2));
    }
    return OkStatus();
  }
  // The pixels that windows touch, zeros around them. As in TensorFlow what is around them is bytes where the code of
  // zero is not negative: of a larger code its low byte.
  static StatusOr<Tensor> Framed(KernelContext& ctx, const ByteOperand& image, const Tensor& input,
                                 const ByteWindows& rows, const ByteWindows& columns) {
    const int64_t channels = input.dim(3);
    ASSIGN_OR_RETURN(const Shape shape, Shape::Make(std::array{input.dim(0), rows.used, columns.used, channels}));
    ASSIGN_OR_RETURN(Tensor framed, ctx.AllocateTemp(DType::kInt32, shape));
    const int32_t around = image.zero > 255 ? (image.zero & 255) - image.zero : 0;
    const int64_t first = std::max<int64_t>(0, columns.before);
    const int64_t last = std::min(columns.used, columns.before + input.dim(2));
    const auto* from = Integers<uint8_t>(input);
    ctx.ParallelFor(input.dim(0) * rows.used, 0.3 * static_cast<double>(columns.used * channels),
                    [&](int64_t begin, int64_t end) {
                      for (int64_t i = begin; i < end; ++i) {
                        int32_t* line = framed.data<int32_t>() + i * columns.used * channels;
                        std::fill_n(line, columns.used * channels, around);
                        const int64_t row = i % rows.used - rows.before;
                        if (row < 0 || row >= input.dim(1)) continue;
                        const int64_t source = (i / rows.used * input.dim(1) + row) * input.dim(2);
                        image.Convert(from + (source + first - columns.before) * channels,
                                      std::max<int64_t>(0, last - first) * channels, line + first * channels);
                      }
                    });
    return framed;
  }

  WindowAttrs attrs_;
};

Status QuantizedMatMulShape(ShapeContext& c) {
  RETURN_IF_ERROR(MatMulShape(c));
  return ScalarRanges(c, 2, 4);
}
Status QuantizedConv2DShape(ShapeContext& c) {
  RETURN_IF_ERROR(Conv2DShape(c));
  return ScalarRanges(c, 2, 4);
}

OP("QuantizedMatMul")
    .Input("a: T1")
    .Input("b: T2")
    .Input("min_a: float")
    .Input("max_a: float")
    .Input("min_b: float")
    .Input("max_b: float")
    .Output("out: Toutput")
    .Output("min_out: float")
    .Output("max_out: float")
    .Attr("T1: {qint8, quint8, qint32, qint16, quint16}")
    .Attr("T2: {qint8, quint8, qint32, qint16, quint16}")
    .Attr("Toutput: {qint8, quint8, qint32, qint16, quint16} = DT_QINT32")
    .Attr("transpose_a: bool = false")
    .Attr("transpose_b: bool = false")
    .Attr("Tactivation: {qint8, quint8, qint32, qint16, quint16} = DT_QUINT8")
    .Shape(QuantizedMatMulShape)
    .NotDifferentiable()
    .CpuFor<QuantizedMatMul>(Types<Quint8>{}, "T1")
    .Expensive()
    .Doc("The product of two matrices of quantized numbers.");

OP("QuantizedConv2D")
    .Input("input: Tinput")
    .Input("filter: Tfilter")
    .Input("min_input: float")
    .Input("max_input: float")
    .Input("min_filter: float")
    .Input("max_filter: float")
    .Output("output: out_type")
    .Output("min_output: float")
    .Output("max_output: float")
    .Attr("Tinput: {qint8, quint8, qint32, qint16, quint16}")
    .Attr("Tfilter: {qint8, quint8, qint32, qint16, quint16}")
    .Attr("out_type: {qint8, quint8, qint32, qint16, quint16} = DT_QINT32")
    .Attr("strides: list(int)")
    .Attr("padding: {'SAME', 'VALID'}")
    .Attr("dilations: list(int) = [1, 1, 1, 1]")
    .Shape(QuantizedConv2DShape)
    .NotDifferentiable()
    .CpuFor<QuantizedConv2D>(Types<Quint8>{}, "Tinput")
    .Expensive()
    .Doc("A convolution of quantized images.");

}  // namespace
}  // namespace millstream
