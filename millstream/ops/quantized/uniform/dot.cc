// SPDX-License-Identifier: Apache-2.0
// Products of matrices of uniformly quantized numbers, summed as int32.
#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "millstream/framework/op.h"
#include "millstream/ops/elements/product.h"
#include "millstream/ops/quantized/quantized.h"
#include "millstream/ops/quantized/uniform/affine.h"
#include "millstream/ops/quantized/uniform/codes.h"

namespace millstream::uniform {
namespace {

StatusOr<Shape> DotShapeOf(const Tensor& a, const Tensor& b) {
  if (a.rank() != 2) {
    return errors::InvalidArgument("lhs rank must be 2, but given lhs shape ", a.shape().ToString());
  }
  if (b.rank() != 2) {
    return errors::InvalidArgument("rhs rank must be 2, but given rhs shape ", b.shape().ToString());
  }
  if (a.dim(1) != b.dim(0)) {
    return errors::InvalidArgument("lhs.dim_size(1) and rhs.dim_size(0) must be equal, but given lhs shape ",
                                   a.shape().ToString(), " and rhs shape ", b.shape().ToString());
  }
  return Shape::Make(std::array{a.dim(0), b.dim(1)});
}

// Scales of a matrix: scalars, or one for each column.
StatusOr<Scales> ColumnScales(const Shape& matrix, const Tensor& scales, const Tensor& zeros, const char* name) {
  ASSIGN_OR_RETURN(const Scales read, Scales::Read(matrix, scales, zeros, scales.rank() == 0 ? -1 : 1));
  if (!read.AllPositive()) return errors::InvalidArgument(name, " scales elements must be all positive.");
  return read;
}

void CheckColumnAxis(KernelInit& init, const char* name) {
  const int axis = init.Attr<int>(name);
  if (axis != 1 && axis != -1) {
    init.Fail(errors::InvalidArgument(name, " Attr must be 1 (per-channel) or -1 (per-tensor)."));
  }
}

// The codes of a qint8 matrix without their zero points.
StatusOr<Tensor> Centered(KernelContext& ctx, const Tensor& matrix, const Scales& scales) {
  ASSIGN_OR_RETURN(Tensor wide, ctx.AllocateTemp(DType::kInt32, matrix.shape()));
  const auto* from = Integers<int8_t>(matrix);
  auto* to = wide.data<int32_t>();
  const int64_t columns = matrix.dim(1);
  ctx.ParallelFor(matrix.dim(0), 0.5 * static_cast<double>(columns), [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      for (int64_t c = 0; c < columns; ++c)
        to[row * columns + c] = WrapSubtract(from[row * columns + c], scales.zero(c));
    }
  });
  return wide;
}

Status Multiply(KernelContext& ctx, const Tensor& a, const Tensor& b, Tensor* product) {
  ProductArgs args;
  args.m = a.dim(0);
  args.k = a.dim(1);
  args.n = b.dim(1);
  return MultiplyMatrices(ctx, a, b, args, product);
}

class UniformQuantizedDot final : public Kernel {
 public:
  explicit UniformQuantizedDot(KernelInit& init) : range_(init, "output_") {
    if (init.Attr<int>("lhs_quantization_axis") != -1) {
      init.Fail(errors::InvalidArgument("lhs_quantization_axis Attr must be -1 (per-tensor)."));
    }
    CheckColumnAxis(init, "rhs_quantization_axis");
    CheckColumnAxis(init, "output_quantization_axis");
  }

  Status Compute(KernelContext& ctx) override {
    const Tensor &a = ctx.input(0), &b = ctx.input(1);
    ASSIGN_OR_RETURN(const Shape shape, DotShapeOf(a, b));
    ASSIGN_OR_RETURN(const Scales a_scales, Scales::Read(a.shape(), ctx.input(2), ctx.input(3), -1));
    if (!a_scales.AllPositive()) return errors::InvalidArgument("lhs scales elements must be all positive.");
    ASSIGN_OR_RETURN(const Scales b_scales, ColumnScales(b.shape(), ctx.input(4), ctx.input(5), "rhs"));
    ASSIGN_OR_RETURN(const Scales out_scales, ColumnScales(shape, ctx.input(6), ctx.input(7), "output"));
    if (out_scales.per_channel() && !b_scales.per_channel()) {
      return errors::InvalidArgument("If rhs is per-tensor quantized, output must be also per-tensor quantized.");
    }
    std::vector<FixedMultiplier> factors(static_cast<size_t>(b_scales.size()));
    for (int64_t c = 0; c < b_scales.size(); ++c) {
      ASSIGN_OR_RETURN(factors[c], FixedMultiplier::Make(static_cast<double>(a_scales.scale(0)) * b_scales.scale(c) /
                                                         out_scales.scale(c)));
    }
    ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, shape));
    ASSIGN_OR_RETURN(const Tensor x, Centered(ctx, a, a_scales));
    ASSIGN_OR_RETURN(const Tensor y, Centered(ctx, b, b_scales));
    Tensor sums = out->Bitcast(DType::kInt32, shape);
    RETURN_IF_ERROR(Multiply(ctx, x, y, &sums));
    Rescale(ctx, factors, out_scales, out);
    return OkStatus();
  }

 private:
  void Rescale(KernelContext& ctx, const std::vector<FixedMultiplier>& factors, const Scales& scales,
               Tensor* out) const {
    const int64_t columns = out->dim(1);
    auto* z = Integers<int32_t>(out);
    ctx.ParallelFor(out->dim(0), 2.0 * static_cast<double>(columns), [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) {
        for (int64_t c = 0; c < columns; ++c) {
          int32_t& code = z[row * columns + c];
          code = range_.Clamp(WrapAdd(factors[factors.size() == 1 ? 0 : c](code), scales.zero(c)));
        }
      }
    });
  }

  const CodeRange range_;
};

// Codes from -128 to 127 for a row of floats, with zero among them: its scale and zero point, and the codes without it.
class RowCodes {
 public:
  RowCodes(const float* row, int64_t n, int32_t* centered) {
    constexpr double kLow = -128, kHigh = 127;
    float least = 0, most = 0;
    for (int64_t i = 0; i < n; ++i) {
      least = std::min(least, row[i]);
      most = std::max(most, row[i]);
    }
    const double width = static_cast<double>(most) - least;
    const auto scale = static_cast<float>(width / (kHigh - kLow));
    const auto per_unit = static_cast<float>(width == 0 ? 0 : (kHigh - kLow) / width);
    if (scale == 0 || !std::isfinite(per_unit)) {
      std::fill_n(centered, n, 0);
      return;
    }
    scale_ = scale;
    // From the end with the smaller rounding error.
    const double below = least / static_cast<double>(scale), above = most / static_cast<double>(scale);
    const bool from_low = std::abs(kLow) + std::abs(below) < std::abs(kHigh) + std::abs(above);
    const double place = from_low ? kLow - below : kHigh - above;
    const int zero = std::isnan(place) ? 0 : static_cast<int>(std::round(std::clamp(place, kLow, kHigh)));
    for (int64_t i = 0; i < n; ++i) {
      const int64_t code = std::clamp<int64_t>(RoundedCode(row[i], per_unit) + zero, -128, 127);
      centered[i] = static_cast<int32_t>(code) - zero;
    }
  }
  float scale() const { return scale_; }

 private:
  float scale_ = 1;
};

class UniformQuantizedDotHybrid final : public Kernel {
 public:
  explicit UniformQuantizedDotHybrid(KernelInit& init) { CheckColumnAxis(init, "rhs_quantization_axis"); }

  Status Compute(KernelContext& ctx) override {
    const Tensor &a = ctx.input(0), &b = ctx.input(1);
    ASSIGN_OR_RETURN(const Shape shape, DotShapeOf(a, b));
    ASSIGN_OR_RETURN(const Scales b_scales, ColumnScales(b.shape(), ctx.input(2), ctx.input(3), "rhs"));
    ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, shape));
    ASSIGN_OR_RETURN(Tensor x, ctx.AllocateTemp(DType::kInt32, a.shape()));
    const int64_t rows = a.dim(0), depth = a.dim(1), columns = b.dim(1);
    std::vector<float> row_scales(static_cast<size_t>(rows));
    ctx.ParallelFor(rows, 3.0 * static_cast<double>(depth), [&](int64_t begin, int64_t end) {
      for (int64_t r = begin; r < end; ++r) {
        row_scales[r] = RowCodes(a.data<float>() + r * depth, depth, x.data<int32_t>() + r * depth).scale();
      }
    });
    ASSIGN_OR_RETURN(const Tensor y, Centered(ctx, b, b_scales));
    ASSIGN_OR_RETURN(Tensor sums, ctx.AllocateTemp(DType::kInt32, shape));
    RETURN_IF_ERROR(Multiply(ctx, x, y, &sums));
    const int32_t* sum = sums.data<int32_t>();
    float* z = out->data<float>();
    ctx.ParallelFor(rows, static_cast<double>(columns), [&](int64_t begin, int64_t end) {
      for (int64_t r = begin; r < end; ++r) {
        for (int64_t c = 0; c < columns; ++c) {
          const int64_t i = r * columns + c;
          z[i] = static_cast<float>(sum[i]) * row_scales[r] * b_scales.scale(c);
        }
      }
    });
    return OkStatus();
  }
};

// Scalars, or as many as the product has columns.
Status CheckColumnScales(const ShapeContext& c, int scales, int64_t columns) {
  std::array<PartialShape, 2> shapes;
  for (int i = 0; i < 2; ++i) RETURN_IF_ERROR(ShapeContext::WithRankAtMost(c.input(scales + i), 1, &shapes[i]));
  if (!shapes[0].rank_known() || !shapes[1].rank_known()) return OkStatus();
  if (shapes[0].rank() != shapes[1].rank()) {
    return errors::InvalidArgument("scales and zero_points must have same rank.");
  }
  if (shapes[0].rank() == 0) return OkStatus();
  int64_t merged = 0;
  for (const PartialShape& s : shapes) RETURN_IF_ERROR(ShapeContext::MergeDim(s.dim(0), columns, &merged));
  return OkStatus();
}

Status ProductShape(ShapeContext& c, int first_column_scales) {
  PartialShape a, b;
  RETURN_IF_ERROR(ShapeContext::WithRank(c.input(0), 2, &a));
  RETURN_IF_ERROR(ShapeContext::WithRank(c.input(1), 2, &b));
  int64_t depth = 0;
  RETURN_IF_ERROR(ShapeContext::MergeDim(a.dim(1), b.dim(0), &depth));
  for (int i = first_column_scales; i < c.num_inputs(); i += 2) RETURN_IF_ERROR(CheckColumnScales(c, i, b.dim(1)));
  c.set_output(0, PartialShape({a.dim(0), b.dim(1)}));
  return OkStatus();
}

Status UniformDotShape(ShapeContext& c) {
  PartialShape unused;
  for (int i = 2; i < 4; ++i) RETURN_IF_ERROR(ShapeContext::WithRank(c.input(i), 0, &unused));
  return ProductShape(c, 4);
}
Status UniformDotHybridShape(ShapeContext& c) { return ProductShape(c, 2); }

OP("UniformQuantizedDot")
    .Input("lhs: Tin")
    .Input("rhs: Tin")
    .Input("lhs_scales: float")
    .Input("lhs_zero_points: int32")
    .Input("rhs_scales: float")
    .Input("rhs_zero_points: int32")
    .Input("output_scales: float")
    .Input("output_zero_points: int32")
    .Output("output: Tout")
    .Attr("Tin: {qint8}")
    .Attr("Tout: {qint32}")
    .Attr("lhs_quantization_axis: int = -1")
    .Attr("lhs_quantization_min_val: int")
    .Attr("lhs_quantization_max_val: int")
    .Attr("rhs_quantization_axis: int = -1")
    .Attr("rhs_quantization_min_val: int")
    .Attr("rhs_quantization_max_val: int")
    .Attr("output_quantization_axis: int = -1")
    .Attr("output_quantization_min_val: int")
    .Attr("output_quantization_max_val: int")
    .Shape(UniformDotShape)
    .CpuFor<UniformQuantizedDot>(Types<Qint8>{}, "Tin")
    .Expensive()
    .Doc("The product of two matrices of uniformly quantized numbers, quantized itself.");

OP("UniformQuantizedDotHybrid")
    .Input("lhs: Tlhs")
    .Input("rhs: Trhs")
    .Input("rhs_scales: float")
    .Input("rhs_zero_points: int32")
    .Output("output: Tout")
    .Attr("Tlhs: {float}")
    .Attr("Trhs: {qint8}")
    .Attr("Tout: {float}")
    .Attr("rhs_quantization_axis: int = -1")
    .Attr("rhs_quantization_min_val: int")
    .Attr("rhs_quantization_max_val: int")
    .Shape(UniformDotHybridShape)
    .CpuFor<UniformQuantizedDotHybrid>(Types<Qint8>{}, "Trhs")
    .Expensive()
    .Doc("The product of floats, quantized row by row to eight bits, and uniformly quantized numbers.");

}  // namespace
}  // namespace millstream::uniform
