// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <limits>

#include "millstream/framework/op.h"
#include "millstream/ops/summary/png.h"
#include "millstream/ops/summary/summary_output.h"
#include "millstream/proto/summary.pb.h"

namespace millstream {
namespace {

// Floating-point images are scaled to bytes: those without negative values so that the largest is 255, others so that
// zero is 127 and the largest magnitude reaches the end. Pixels with a value that is not finite get `bad_color`.
template <typename T>
std::vector<uint8_t> ToBytes(const T* image, int64_t pixels, int depth, const std::vector<uint8_t>& bad_color) {
  float low = std::numeric_limits<float>::infinity(), high = -low;
  std::vector<bool> finite(static_cast<size_t>(pixels));
  for (int64_t p = 0; p < pixels; ++p) {
    bool all = true;
    for (int c = 0; c < depth; ++c) all = all && std::isfinite(static_cast<float>(image[p * depth + c]));
    finite[static_cast<size_t>(p)] = all;
    for (int c = 0; all && c < depth; ++c) {
      low = std::min(low, static_cast<float>(image[p * depth + c]));
      high = std::max(high, static_cast<float>(image[p * depth + c]));
    }
  }
  constexpr float kZero = 1e-6f;
  const float largest = std::max(std::abs(low), std::abs(high));
  const float scale = low < 0 ? (largest < kZero ? 0.0f : 127.0f / largest) : (high < kZero ? 0.0f : 255.0f / high);
  const float offset = low < 0 ? 128.0f : 0.0f;
  std::vector<uint8_t> bytes(static_cast<size_t>(pixels) * static_cast<size_t>(depth));
  for (int64_t p = 0; p < pixels; ++p) {
    for (int c = 0; c < depth; ++c) {
      const float v = static_cast<float>(image[p * depth + c]) * scale + offset;
      bytes[static_cast<size_t>(p * depth + c)] = finite[static_cast<size_t>(p)]
                                                      ? static_cast<uint8_t>(std::clamp(v, 0.0f, 255.0f))
                                                      : bad_color[static_cast<size_t>(c)];
    }
  }
  return bytes;
}

StatusOr<std::string> EncodeImage(const Tensor& images, int64_t i, const std::vector<uint8_t>& bad_color) {
  const int64_t pixels = images.dim(1) * images.dim(2);
  const int depth = static_cast<int>(images.dim(3));
  const int64_t at = i * pixels * depth;
  std::vector<uint8_t> bytes;
  switch (images.dtype()) {
    case DType::kUint8:
      return EncodePng(images.data<uint8_t>() + at, images.dim(2), images.dim(1), depth);
    case DType::kHalf:
      bytes = ToBytes(images.data<Half>() + at, pixels, depth, bad_color);
      break;
    case DType::kDouble:
      bytes = ToBytes(images.data<double>() + at, pixels, depth, bad_color);
      break;
    default:
      bytes = ToBytes(images.data<float>() + at, pixels, depth, bad_color);
      break;
  }
  return EncodePng(bytes.data(), images.dim(2), images.dim(1), depth);
}

}  // namespace

Status AddImages(const std::string& tag, const Tensor& images, int64_t max_images,
                 const std::vector<uint8_t>& bad_color, proto::Summary* summary) {
  const bool known_depth = images.rank() == 4 && (images.dim(3) == 1 || images.dim(3) == 3 || images.dim(3) == 4);
  if (!known_depth) {
    return errors::InvalidArgument("Tensor must be 4-D with last dim 1, 3, or 4, not ", images.shape().ToString());
  }
  const int64_t height = images.dim(1), width = images.dim(2);
  if (height <= 0 || width <= 0 || height > INT32_MAX || width > INT32_MAX || height * width >= (int64_t{1} << 29)) {
    return errors::InvalidArgument("Tensor too large or empty for summary ", images.shape().ToString());
  }
  const int depth = static_cast<int>(images.dim(3));
  if (images.dtype() != DType::kUint8 && static_cast<int>(bad_color.size()) < depth) {
    return errors::InvalidArgument("expected depth <= bad_color.size, got depth = ", depth,
                                   ", bad_color.size = ", bad_color.size());
  }
  const int64_t count = std::min(max_images, images.dim(0));
  for (int64_t i = 0; i < count; ++i) {
    proto::Summary::Value* value = summary->add_value();
    value->set_tag(max_images > 1 ? absl::StrCat(tag, "/image/", i) : absl::StrCat(tag, "/image"));
    value->mutable_image()->set_height(static_cast<int32_t>(height));
    value->mutable_image()->set_width(static_cast<int32_t>(width));
    value->mutable_image()->set_colorspace(depth);
    ASSIGN_OR_RETURN(*value->mutable_image()->mutable_encoded_image_string(), EncodeImage(images, i, bad_color));
  }
  return OkStatus();
}

namespace {

class ImageSummary final : public Kernel {
 public:
  explicit ImageSummary(KernelInit& init) : max_images_(init.Attr<int64_t>("max_images")) {
    const auto color = init.Attr<Tensor>("bad_color");
    if (!color.IsInitialized() || color.dtype() != DType::kUint8) {
      return;  // refused below
    }
    bad_color_.assign(color.flat<uint8_t>().begin(), color.flat<uint8_t>().end());
    if (color.rank() != 1)
      init.Fail(errors::InvalidArgument("bad_color must be a vector, got shape ", color.shape().ToString()));
  }

  Status Compute(KernelContext& ctx) override {
    const Tensor& tag = ctx.input(0);
    if (tag.rank() != 0) return errors::InvalidArgument("Tags must be a scalar");
    proto::Summary summary;
    RETURN_IF_ERROR(AddImages(tag.scalar<std::string>(), ctx.input(1), max_images_, bad_color_, &summary));
    return OutputSummary(ctx, summary);
  }

 private:
  const int64_t max_images_;
  std::vector<uint8_t> bad_color_;
};

OP("ImageSummary")
    .Input("tag: string")
    .Input("tensor: T")
    .Output("summary: string")
    .Attr("max_images: int >= 1 = 3")
    .Attr("T: {uint8, float, half, double} = DT_FLOAT")
    .Attr("bad_color: tensor = uint8[255, 0, 0, 255]")
    .Shape(ScalarShape)
    .NotDifferentiable()
    .CpuFor<ImageSummary>(Types<uint8_t, float, Half, double>{})
    .Doc("A summary with images, as PNG files.");

}  // namespace
}  // namespace millstream
