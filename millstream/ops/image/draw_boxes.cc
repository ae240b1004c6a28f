// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "millstream/framework/op.h"
#include "millstream/ops/elements/blob.h"
#include "millstream/ops/image/taps.h"

namespace millstream {
namespace {

constexpr float kColors[10][4] = {{1, 1, 0, 1},     {0, 0, 1, 1},   {1, 0, 0, 1},   {0, 1, 0, 1}, {0.5, 0, 0.5, 1},
                                  {0.5, 0.5, 0, 1}, {0.5, 0, 0, 1}, {0, 0, 0.5, 1}, {0, 1, 1, 1}, {1, 0, 1, 1}};

// Draws the sides of boxes that are inside of the images.
template <typename T>
class DrawBoxes : public Kernel {
 public:
  explicit DrawBoxes(KernelInit&) {}

  Status Compute(KernelContext& ctx) override {
    const Tensor &images = ctx.input(0), &boxes = ctx.input(1);
    if (images.rank() != 4) return errors::InvalidArgument("The rank of the images should be 4");
    if (boxes.rank() != 3) return errors::InvalidArgument("The rank of the boxes tensor should be 3");
    const int64_t depth = images.dim(3);
    if (depth != 1 && depth != 3 && depth != 4) {
      return errors::InvalidArgument("Channel depth should be either 1 (GRY), 3 (RGB), or 4 (RGBA)");
    }
    if (boxes.dim(0) != images.dim(0)) return errors::InvalidArgument("The batch sizes should be the same");
    if (boxes.dim(2) != 4) return errors::InvalidArgument("The size of the third dimension of the box must be 4");
    std::vector<std::vector<float>> colors;
    RETURN_IF_ERROR(ReadColors(ctx, depth, &colors));
    ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, images.shape()));
    ParallelCopy(ctx, images.data<T>(), images.num_elements(), out->data<T>());
    const int64_t image = images.dim(1) * images.dim(2) * depth, n = boxes.dim(1);
    for (int64_t b = 0; b < boxes.dim(0); ++b) {
      for (int64_t k = 0; k < n; ++k) {
        DrawOne(out->data<T>() + b * image, images.shape(), boxes.data<float>() + (b * n + k) * 4,
                colors[k % colors.size()]);
      }
    }
    return OkStatus();
  }

 private:
  static Status ReadColors(const KernelContext& ctx, int64_t depth, std::vector<std::vector<float>>* colors) {
    if (ctx.num_inputs() > 2 && ctx.input(2).num_elements() > 0) {
      const Tensor& given = ctx.input(2);
      if (given.rank() != 2) return errors::InvalidArgument("colors must be a 2-D matrix", given.shape().ToString());
      if (given.dim(1) < depth) {
        return errors::InvalidArgument("Color depth should be equal or greater than image depth");
      }
      for (int64_t i = 0; i < given.dim(0); ++i) {
        const float* c = given.data<float>() + i * given.dim(1);
        colors->emplace_back(c, c + depth);
      }
    } else {
      for (const auto& c : kColors) {
        colors->emplace_back(c, c + 4);
        if (depth == 1) colors->back()[0] = 1;
      }
    }
    return OkStatus();
  }

  static void DrawOne(T* image, const Shape& shape, const float* box, const std::vector<float>& color) {
    const int64_t height = shape.dim(1), width = shape.dim(2), depth = shape.dim(3);
    // Far outside is as good as just outside, and fits.
    const auto place = [](float part, int64_t size) {
      const float at = part * static_cast<float>(size - 1);
      return at >= -1e9f && at <= 1e9f ? static_cast<int64_t>(at) : static_cast<int64_t>(at > 0 ? 1e9f : -1e9f);
    };
    const int64_t top = place(box[0], height), left = place(box[1], width);
    const int64_t bottom = place(box[2], height), right = place(box[3], width);
    if (top > bottom || left > right || top >= height || bottom < 0 || left >= width || right < 0) return;
    const auto set = [&](int64_t y, int64_t x) {
      for (int64_t c = 0; c < depth; ++c) image[(y * width + x) * depth + c] = static_cast<T>(color[c]);
    };
    const int64_t x0 = std::max<int64_t>(left, 0), x1 = std::min(right, width - 1);
    const int64_t y0 = std::max<int64_t>(top, 0), y1 = std::min(bottom, height - 1);
    for (int64_t x = x0; x <= x1; ++x) {
      if (top >= 0) set(top, x);
      if (bottom < height) set(bottom, x);
    }
    for (int64_t y = y0; y <= y1; ++y) {
      if (left >= 0) set(y, left);
      if (right < width) set(y, right);
    }
  }
};

Status DrawShape(ShapeContext& c) {
  PartialShape in;
  RETURN_IF_ERROR(ShapeContext::WithRankAtLeast(c.input(0), 3, &in));
  const int64_t depth = in.rank() == 4 ? in.dim(3) : -1;
  if (depth >= 0 && depth != 1 && depth != 3 && depth != 4) {
    return errors::InvalidArgument("Channel depth should be either 1 (GRY), 3 (RGB), or 4 (RGBA)");
  }
  c.set_output(0, c.input(0));
  return OkStatus();
}

OP("DrawBoundingBoxes")
    .Input("images: T")
    .Input("boxes: float")
    .Output("output: T")
    .Attr("T: {float, half} = DT_FLOAT")
    .Shape(DrawShape)
    .NotDifferentiable()
    .Cpu<DrawBoxes>(Types<float, Half>{})
    .Doc("Images with boxes, given in parts of their size, drawn into them.");

OP("DrawBoundingBoxesV2")
    .Input("images: T")
    .Input("boxes: float")
    .Input("colors: float")
    .Output("output: T")
    .Attr("T: {float, half} = DT_FLOAT")
    .Shape(DrawShape)
    .Cpu<DrawBoxes>(Types<float, Half>{})
    .Doc("As DrawBoundingBoxes, in given colors.");

}  // namespace
}  // namespace millstream
