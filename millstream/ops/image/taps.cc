// SPDX-License-Identifier: Apache-2.0
#include "millstream/ops/image/taps.h"

#include <algorithm>
#include <cmath>

#include "millstream/ops/elements/cast_plan.h"

namespace millstream {

float ScaleOf(const ResizeOptions& o, int64_t in_size, int64_t out_size) {
  return o.align_corners && out_size > 1 ? static_cast<float>(in_size - 1) / static_cast<float>(out_size - 1)
                                         : static_cast<float>(in_size) / static_cast<float>(out_size);
}

namespace {

constexpr int kTableSize = 1024;  // positions between pixels that bicubic weights are told apart at

int64_t Clamp(int64_t i, int64_t size) { return std::min(std::max<int64_t>(i, 0), size - 1); }

void AddNearest(const ResizeOptions& o, float scale, int64_t i, int64_t in_size, Taps* taps) {
  const float at = (static_cast<float>(i) + (o.half_pixel_centers ? 0.5f : 0.0f)) * scale;
  const auto source = static_cast<int64_t>(o.align_corners ? std::round(at) : std::floor(at));
  taps->Add(Clamp(source, in_size), 1);
}

float Position(const ResizeOptions& o, float scale, int64_t i) {
  const auto x = static_cast<float>(i);
  return o.half_pixel_centers ? (x + 0.5f) * scale - 0.5f : x * scale;
}

void AddBilinear(const ResizeOptions& o, float scale, int64_t i, int64_t in_size, Taps* taps) {
  const float at = Position(o, scale, i), below = std::floor(at), part = at - below;
  const auto low = static_cast<int64_t>(below);
  taps->Add(Clamp(low, in_size), 1 - part);
  taps->Add(Clamp(low + 1, in_size), part);
}

// Keys' cubic kernel at distance x.
double Cubic(double a, double x) {
  return x <= 1 ? ((a + 2) * x - (a + 3)) * x * x + 1 : ((a * x - 5 * a) * x + 8 * a) * x - 4 * a;
}

void AddBicubic(const ResizeOptions& o, float scale, int64_t i, int64_t in_size, Taps* taps) {
  const double a = o.half_pixel_centers ? -0.5 : -0.75;
  const float at = Position(o, scale, i), below = std::floor(at);
  const double part = static_cast<double>(std::lrintf((at - below) * kTableSize)) / kTableSize;
  const auto low = static_cast<int64_t>(below);
  const double weights[4] = {Cubic(a, 1 + part), Cubic(a, part), Cubic(a, 1 - part), Cubic(a, 2 - part)};
  double sum = 0;
  for (int k = 0; k < 4; ++k) sum += Clamp(low - 1 + k, in_size) == low - 1 + k ? weights[k] : 0;
  for (int k = 0; k < 4; ++k) {
    const int64_t source = low - 1 + k, inside = Clamp(source, in_size);
    if (!o.half_pixel_centers) {
      taps->Add(inside, static_cast<float>(weights[k]));
    } else if (inside == source && std::fabs(sum) >= 1000.0 * 1.17549435e-38) {
      // What lies outside does not count here.
      taps->Add(inside, static_cast<float>(weights[k] / sum));
    }
  }
}

void AddArea(float scale, int64_t i, int64_t in_size, Taps* taps) {
  const float begin = static_cast<float>(i) * scale, end = static_cast<float>(i + 1) * scale;
  for (auto k = static_cast<int64_t>(std::floor(begin)); k < static_cast<int64_t>(std::ceil(end)); ++k) {
    const auto low = static_cast<float>(k), high = static_cast<float>(k + 1);
    taps->Add(Clamp(k, in_size), (std::min(high, end) - std::max(low, begin)) / scale);
  }
}

}  // namespace

Taps MakeTaps(const ResizeOptions& options, int64_t in_size, int64_t out_size) {
  Taps taps;
  const float scale = ScaleOf(options, in_size, out_size);
  for (int64_t i = 0; i < out_size; ++i) {
    switch (options.method) {
      case Interpolation::kNearest:
        AddNearest(options, scale, i, in_size, &taps);
        break;
      case Interpolation::kBilinear:
        AddBilinear(options, scale, i, in_size, &taps);
        break;
      case Interpolation::kBicubic:
        AddBicubic(options, scale, i, in_size, &taps);
        break;
      case Interpolation::kArea:
        AddArea(scale, i, in_size, &taps);
        break;
    }
    taps.EndElement();
  }
  return taps;
}

Status CheckTapMemory(KernelContext& ctx, int64_t height, int64_t width) {
  constexpr int64_t kAlwaysThere = int64_t{1} << 20;
  if (height + width < kAlwaysThere) return OkStatus();
  using Room = char[256];  // of an element, with what vectors take as they grow
  return AllocateRecords<Room>(ctx, height + width).status();
}

StatusOr<ImageShape> ReadImages(const Tensor& t, const char* what) {
  if (t.rank() != 4) return errors::InvalidArgument(what, " must be 4-dimensional ", t.shape().ToString());
  const ImageShape s{t.dim(0), t.dim(1), t.dim(2), t.dim(3)};
  if (s.height <= 0 || s.width <= 0) return errors::InvalidArgument(what, " must be of non-zero size");
  if (s.channels <= 0) return errors::InvalidArgument("image must have at least one channel");
  return s;
}

Status ReadImageSize(const Tensor& size, int64_t* height, int64_t* width) {
  if (size.rank() != 1) return errors::InvalidArgument("shape_t must be 1-dimensional", size.shape().ToString());
  if (size.num_elements() != 2) {
    return errors::InvalidArgument("shape_t must have two elements", size.shape().ToString());
  }
  *height = size.data<int32_t>()[0];
  *width = size.data<int32_t>()[1];
  if (*height > 0 && *width > 0) return OkStatus();
  return errors::InvalidArgument("output dimensions must be positive");
}

StatusOr<Tensor> ImageAsFloat(KernelContext& ctx, const Tensor& t) {
  if (t.dtype() == DType::kFloat) return t;
  ASSIGN_OR_RETURN(Tensor out, ctx.AllocateTemp(DType::kFloat, t.shape()));
  CastPlan::Make(t.dtype(), DType::kFloat, false).Run(t.raw(), out.raw(), t.num_elements());
  return out;
}

Status SetFromFloat(KernelContext& ctx, int i, Tensor from) {
  if (ctx.output_dtype(i) == DType::kFloat) {
    ctx.set_output(i, std::move(from));
    return OkStatus();
  }
  ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(i, from.shape()));
  CastPlan::Make(DType::kFloat, out->dtype(), false).Run(from.raw(), out->raw(), from.num_elements());
  return OkStatus();
}

Status ResizeShape(ShapeContext& c) { return ResizeShapeFrom(c, 1); }

Status ResizeShapeFrom(ShapeContext& c, int size_input) {
  PartialShape in, size;
  RETURN_IF_ERROR(ShapeContext::WithRank(c.input(0), 4, &in));
  RETURN_IF_ERROR(ShapeContext::WithRank(c.input(size_input), 1, &size));
  int64_t two = 0;
  RETURN_IF_ERROR(ShapeContext::MergeDim(size.dim(0), 2, &two));
  std::vector<int64_t> values;
  const bool known = c.ConstantInts(size_input, &values) && values.size() == 2;
  if (known && (values[0] < 0 || values[1] < 0)) {
    return errors::InvalidArgument("Dimension ", std::min(values[0], values[1]), " must be >= 0");
  }
  c.set_output(0, PartialShape({in.dim(0), known ? values[0] : -1, known ? values[1] : -1, in.dim(3)}));
  return OkStatus();
}

}  // namespace millstream
