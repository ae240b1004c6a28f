// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <span>

#include "millstream/framework/op.h"
#include "millstream/ops/image/taps.h"
#include "millstream/ops/quantized/quantized.h"

namespace millstream {
namespace {

// How codes of a type are interpolated: `Wide` holds a code times 2^kBits. Parts of the way from one pixel to the next
// are whole numbers of 2^-kBits.
template <typename T>
struct CodeMath;
template <>
struct CodeMath<uint8_t> {
  using Wide = int32_t;
  static constexpr int kBits = 7;
};
template <>
struct CodeMath<int32_t> {
  using Wide = int64_t;
  static constexpr int kBits = 30;
};

// The two pixels that one of a resized axis lies between, as distances in elements.
struct PixelPair {
  int64_t low, high;
  float part;     // of the way from low to high
  int64_t whole;  // the same in units of 2^-bits
};

void MakePairs(int64_t in_size, int64_t out_size, float scale, bool half_pixel, int64_t step, int bits,
               PixelPair* pair) {
  for (int64_t i = 0; i < out_size; ++i) {
    const auto x = static_cast<float>(i);
    const float at = half_pixel ? (x + 0.5f) * scale - 0.5f : x * scale, below = std::floor(at);
    const int64_t high = std::clamp<int64_t>(static_cast<int64_t>(std::ceil(at)), 0, in_size - 1);
    const int64_t low = std::clamp<int64_t>(static_cast<int64_t>(below), 0, high);
    const float part = at - below;
    *pair++ = {low * step, high * step, part, static_cast<int64_t>(part * static_cast<float>(1 << bits))};
  }
}

template <typename T>
T Between(T top_left, T top_right, T bottom_left, T bottom_right, const PixelPair& x, const PixelPair& y) {
  if constexpr (std::is_same_v<T, float>) {
    const float top = top_left + (top_right - top_left) * x.part;
    const float bottom = bottom_left + (bottom_right - bottom_left) * x.part;
    return top + (bottom - top) * y.part;
  } else {
    using Wide = typename CodeMath<T>::Wide;
    constexpr Wide kOne = Wide{1} << CodeMath<T>::kBits;
    // TensorFlow looks at codes as floats, which cuts the last bits of large ones.
    const auto wide = [](T code) { return static_cast<Wide>(static_cast<float>(code)); };
    const Wide right = static_cast<Wide>(x.whole), down = static_cast<Wide>(y.whole);
    const Wide top = wide(top_left) * kOne + (wide(top_right) - wide(top_left)) * right;
    const Wide bottom = wide(bottom_left) * kOne + (wide(bottom_right) - wide(bottom_left)) * right;
    const Wide sum = top + (bottom - top) / kOne * down;
    return static_cast<T>(std::min<Wide>((sum + kOne / 2) / kOne, std::numeric_limits<T>::max()));
  }
}

template <typename T>
void ResizeRow(const T* top, const T* bottom, std::span<const PixelPair> xs, const PixelPair& y, int64_t channels,
               T* to) {
  for (const PixelPair& x : xs) {
    for (int64_t c = 0; c < channels; ++c) {
      *to++ = Between(top[x.low + c], top[x.high + c], bottom[x.low + c], bottom[x.high + c], x, y);
    }
  }
}

class QuantizedResize final : public Kernel {
 public:
  explicit QuantizedResize(KernelInit& init) : half_pixel_(init.Attr<bool>("half_pixel_centers")) {
    options_.align_corners = init.Attr<bool>("align_corners");
  }

  Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(const float low, RangeInput(ctx, 2, "min"));
    ASSIGN_OR_RETURN(const float high, RangeInput(ctx, 3, "max"));
    const Tensor& images = ctx.input(0);
    ASSIGN_OR_RETURN(const ImageShape in, ReadImages(images, "input"));
    int64_t height = 0, width = 0;
    RETURN_IF_ERROR(ReadImageSize(ctx.input(1), &height, &width));
    const int64_t dims[] = {in.batch, height, width, in.channels};
    ASSIGN_OR_RETURN(const Shape shape, Shape::Make(dims));
    ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, shape));
    RETURN_IF_ERROR(OutputRange(ctx, 1, low, high));
    if (shape.num_elements() == 0) return OkStatus();
    if (height == in.height && width == in.width) {
      std::memcpy(out->raw(), images.raw(), images.ByteSize());
      return OkStatus();
    }
    if (images.dtype() == DType::kFloat) return Run<float>(ctx, images, in, out);
    return images.dtype() == DType::kQuint8 ? Run<uint8_t>(ctx, images, in, out) : Run<int32_t>(ctx, images, in, out);
  }

 private:
  template <typename T>
  Status Run(KernelContext& ctx, const Tensor& images, const ImageShape& in, Tensor* out) const {
    int bits = 0;
    if constexpr (!std::is_same_v<T, float>) bits = CodeMath<T>::kBits;
    const int64_t height = out->dim(1), width = out->dim(2), row = in.width * in.channels,
                  out_row = width * in.channels;
    // The sizes are not trusted: the tables are memory like that of tensors.
    ASSIGN_OR_RETURN(Tensor y_table, AllocateRecords<PixelPair>(ctx, height));
    ASSIGN_OR_RETURN(Tensor x_table, AllocateRecords<PixelPair>(ctx, width));
    PixelPair *ys = Records<PixelPair>(&y_table), *x_pairs = Records<PixelPair>(&x_table);
    MakePairs(in.height, height, ScaleOf(options_, in.height, height), half_pixel_, row, bits, ys);
    MakePairs(in.width, width, ScaleOf(options_, in.width, width), half_pixel_, in.channels, bits, x_pairs);
    const std::span<const PixelPair> xs(x_pairs, static_cast<size_t>(width));
    const T* from = static_cast<const T*>(images.raw());
    T* to = static_cast<T*>(out->raw());
    ctx.ParallelFor(in.batch * height, 3.0 * static_cast<double>(out_row), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const T* image = from + i / height * in.height * row;
        const PixelPair& y = ys[i % height];
        ResizeRow(image + y.low, image + y.high, xs, y, in.channels, to + i * out_row);
      }
    });
    return OkStatus();
  }

  const bool half_pixel_;
  ResizeOptions options_{Interpolation::kBilinear};
};

Status QuantizedResizeShape(ShapeContext& c) {
  RETURN_IF_ERROR(ResizeShape(c));
  return ScalarRanges(c, 2, 2);
}

OP("QuantizedResizeBilinear")
    .Input("images: T")
    .Input("size: int32")
    .Input("min: float")
    .Input("max: float")
    .Output("resized_images: T")
    .Output("out_min: float")
    .Output("out_max: float")
    .Attr("T: {quint8, qint32, float}")
    .Attr("align_corners: bool = false")
    .Attr("half_pixel_centers: bool = false")
    .Shape(QuantizedResizeShape)
    .Cpu<QuantizedResize>()
    .HostMemory("size")
    .Doc("Quantized images in another size, interpolated linearly.");

}  // namespace
}  // namespace millstream
