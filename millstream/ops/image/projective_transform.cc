// SPDX-License-Identifier: Apache-2.0
// Projective transforms of images.
#include <algorithm>
#include <cmath>

#include "millstream/framework/op.h"
#include "millstream/ops/image/taps.h"
#include "millstream/tensor/dispatch.h"

namespace millstream {
namespace {

enum class Fill { kConstant, kReflect, kWrap, kNearest };

// A coordinate of the image for one that may lie outside, along an axis of `size` pixels.
float Inside(Fill fill, float at, int64_t size) {
  if (fill == Fill::kConstant) return at;
  const auto n = static_cast<float>(size), last = n - 1;
  if (fill == Fill::kReflect && at < 0) {
    at += 2 * n * std::trunc(-at / (2 * n));
    at = at < -n ? at + 2 * n : -at - 1;
  } else if (fill == Fill::kReflect && at > last) {
    at -= 2 * n * std::trunc(at / (2 * n));
    if (at >= n) at = 2 * n - at - 1;
  } else if (fill == Fill::kWrap && at < 0 && size > 1) {
    at += n * (std::trunc(-at / last) + 1);
  } else if (fill == Fill::kWrap && at > last && size > 1) {
    at -= n * std::trunc(at / last);
  }
  return std::clamp(at, 0.0f, last);
}

// One image and where its pixels go.
template <typename T>
struct Source {
  const T* image;
  const ImageShape& shape;
  T fill;

  // The pixel whose coordinates are whole numbers, channel c.
  T At(float y, float x, int64_t c) const {
    const auto height = static_cast<float>(shape.height), width = static_cast<float>(shape.width);
    if (!(y >= 0 && y < height && x >= 0 && x < width)) return fill;
    const int64_t row = std::min(static_cast<int64_t>(y), shape.height - 1);
    const int64_t column = std::min(static_cast<int64_t>(x), shape.width - 1);
    return image[(row * shape.width + column) * shape.channels + c];
  }
  T Between(float y, float x, int64_t c) const {
    const float top = std::floor(y), left = std::floor(x), bottom = top + 1, right = left + 1;
    const auto line = [&](float row) {
      return (right - x) * static_cast<float>(At(row, left, c)) + (x - left) * static_cast<float>(At(row, right, c));
    };
    return static_cast<T>((bottom - y) * line(top) + (y - top) * line(bottom));
  }
};

class ProjectiveTransform final : public Kernel {
 public:
  explicit ProjectiveTransform(KernelInit& init) {
    const std::string interpolation = init.Attr<std::string>("interpolation");
    const std::string fill = init.Attr<std::string>("fill_mode");
    bilinear_ = interpolation == "BILINEAR";
    if (!bilinear_ && interpolation != "NEAREST") {
      init.Fail(
          errors::InvalidArgument("Invalid interpolation ", interpolation, ". Supported types: NEAREST, BILINEAR"));
    }
    fill_ = fill == "REFLECT"   ? Fill::kReflect
            : fill == "WRAP"    ? Fill::kWrap
            : fill == "NEAREST" ? Fill::kNearest
                                : Fill::kConstant;
    if (fill_ == Fill::kConstant && fill != "CONSTANT") {
      init.Fail(errors::InvalidArgument("Invalid mode ", fill, ". Supported types: REFLECT, WRAP, CONSTANT, NEAREST"));
    }
  }

  Status Compute(KernelContext& ctx) override {
    const Tensor &images = ctx.input(0), &transforms = ctx.input(1);
    if (images.rank() != 4) return errors::InvalidArgument("Input images must have rank 4");
    const ImageShape in{images.dim(0), images.dim(1), images.dim(2), images.dim(3)};
    if (transforms.rank() != 2 || (transforms.dim(0) != in.batch && transforms.dim(0) != 1) || transforms.dim(1) != 8) {
      return errors::InvalidArgument("Input transform should be num_images x 8 or 1 x 8");
    }
    int64_t height = 0, width = 0;
    RETURN_IF_ERROR(ReadImageSize(ctx.input(2), &height, &width));
    float fill = 0;
    if (ctx.num_inputs() > 3) {
      const Tensor& value = ctx.input(3);
      if (value.rank() != 0) return errors::InvalidArgument("fill_value must be a scalar", value.shape().ToString());
      fill = value.scalar<float>();
    }
    const int64_t dims[] = {in.batch, height, width, in.channels};
    ASSIGN_OR_RETURN(const Shape shape, Shape::Make(dims));
    ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, shape));
    if (shape.num_elements() == 0) return OkStatus();
    const bool empty = images.num_elements() == 0;
    DispatchOver(ImageTypes{}, images.dtype(), [&]<typename T>(std::type_identity<T>) {
      const int64_t pixels = in.height * in.width * in.channels;
      ctx.ParallelFor(
          in.batch * height, 20.0 * static_cast<double>(width * in.channels), [&](int64_t begin, int64_t end) {
            for (int64_t i = begin; i < end; ++i) {
              const int64_t b = i / height;
              const float* t = transforms.data<float>() + (transforms.dim(0) == 1 ? 0 : 8 * b);
              const Source<T> source{empty ? nullptr : images.data<T>() + b * pixels, in, static_cast<T>(fill)};
              Row(source, t, i % height, width, out->data<T>() + i * width * in.channels);
            }
          });
    });
    return OkStatus();
  }

  using ImageTypes = Types<uint8_t, int32_t, int64_t, Half, BFloat16, float, double>;

 private:
  template <typename T>
  void Row(const Source<T>& source, const float* t, int64_t row, int64_t width, T* out) const {
    const ImageShape& s = source.shape;
    const auto v = static_cast<float>(row);
    for (int64_t column = 0; column < width; ++column, out += s.channels) {
      const auto u = static_cast<float>(column);
      const float depth = t[6] * u + t[7] * v + 1;
      const float x = Inside(fill_, (t[0] * u + t[1] * v + t[2]) / depth, s.width);
      const float y = Inside(fill_, (t[3] * u + t[4] * v + t[5]) / depth, s.height);
      for (int64_t c = 0; c < s.channels; ++c) {
        out[c] = depth == 0  ? source.fill
                 : bilinear_ ? source.Between(y, x, c)
                             : source.At(std::round(y), std::round(x), c);
      }
    }
  }

  bool bilinear_ = false;
  Fill fill_ = Fill::kConstant;
};

Status TransformShape(ShapeContext& c) { return ResizeShapeFrom(c, 2); }

OP("ImageProjectiveTransformV2")
    .Input("images: dtype")
    .Input("transforms: float")
    .Input("output_shape: int32")
    .Output("transformed_images: dtype")
    .Attr("dtype: {uint8, int32, int64, half, bfloat16, float, double}")
    .Attr("interpolation: string")
    .Attr("fill_mode: string = 'CONSTANT'")
    .Shape(TransformShape)
    .CpuFor<ProjectiveTransform>(ProjectiveTransform::ImageTypes{}, "dtype")
    .HostMemory("output_shape")
    .Doc("Each pixel of the output is taken from where a projective transform says in the image.");

OP("ImageProjectiveTransformV3")
    .Input("images: dtype")
    .Input("transforms: float")
    .Input("output_shape: int32")
    .Input("fill_value: float")
    .Output("transformed_images: dtype")
    .Attr("dtype: {uint8, int32, int64, half, bfloat16, float, double}")
    .Attr("interpolation: string")
    .Attr("fill_mode: string = 'CONSTANT'")
    .Shape(TransformShape)
    .CpuFor<ProjectiveTransform>(ProjectiveTransform::ImageTypes{}, "dtype")
    .HostMemory("output_shape")
    .HostMemory("fill_value")
    .Doc("As ImageProjectiveTransformV2, with a value for what lies outside of the image.");

}  // namespace
}  // namespace millstream
