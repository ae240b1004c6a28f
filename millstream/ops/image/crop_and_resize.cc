// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <cstring>

#include "millstream/graph/gradients/gradient.h"
#include "millstream/math/simd.h"
#include "millstream/ops/elements/blob.h"
#include "millstream/ops/image/taps.h"

namespace millstream {
namespace {

// Where the pixels of a crop along one axis lie between those of the image.
struct CropAxis {
  float begin, step, last;

  CropAxis(float low, float high, int64_t image, int64_t crop) {
    const auto size = static_cast<float>(image - 1);
    step = crop > 1 ? (high - low) * size / static_cast<float>(crop - 1) : 0;
    begin = crop > 1 ? low * size : 0.5f * (low + high) * size;
    last = size;
  }
  float at(int64_t i) const { return begin + static_cast<float>(i) * step; }
  bool inside(float position) const { return position >= 0 && position <= last; }
};

struct Neighbours {
  int64_t low, high;
  float part;

  Neighbours(float at, bool nearest) {
    low = static_cast<int64_t>(nearest ? std::round(at) : std::floor(at));
    high = nearest ? low : static_cast<int64_t>(std::ceil(at));
    part = nearest ? 0 : at - static_cast<float>(low);
  }
};

Status CheckBoxes(const Tensor& boxes, const Tensor& which, int64_t batch) {
  if (boxes.num_elements() == 0 && which.num_elements() == 0) return OkStatus();
  if (boxes.rank() != 2 || boxes.dim(1) != 4) {
    return errors::InvalidArgument("boxes must have shape [num_boxes, 4], got ", boxes.shape().ToString());
  }
  if (which.rank() != 1 || which.dim(0) != boxes.dim(0)) {
    return errors::InvalidArgument("box_index must have one element for each box");
  }
  for (const int32_t b : which.flat<int32_t>()) {
    if (b < 0 || b >= batch) return errors::OutOfRange("box_index has values outside [0, batch_size)");
  }
  return OkStatus();
}

// Calls visit(crop pixel, place of the image, y, x) for every pixel of crops [first, last); y and x are null outside.
template <typename Visit>
MILLSTREAM_ALWAYS_INLINE void ForPixels(const Tensor& boxes, const Tensor& which, const ImageShape& image,
                                        int64_t height, int64_t width, bool nearest, int64_t first, int64_t last,
                                        Visit visit) {
  for (int64_t b = first; b < last; ++b) {
    const float* box = boxes.data<float>() + 4 * b;
    const CropAxis ys(box[0], box[2], image.height, height), xs(box[1], box[3], image.width, width);
    for (int64_t i = 0; i < height; ++i) {
      for (int64_t j = 0; j < width; ++j) {
        const float y = ys.at(i), x = xs.at(j);
        const int64_t pixel = (b * height + i) * width + j;
        if (!ys.inside(y) || !xs.inside(x)) {
          visit(pixel, int64_t{0}, nullptr, nullptr);
          continue;
        }
        const Neighbours ny(y, nearest), nx(x, nearest);
        visit(pixel, which.data<int32_t>()[b] * image.height * image.width, &ny, &nx);
      }
    }
  }
}

// As ForPixels() for all crops.
template <typename Visit>
void ForEachPixel(const Tensor& boxes, const Tensor& which, const ImageShape& image, int64_t height, int64_t width,
                  bool nearest, Visit visit) {
  ForPixels(boxes, which, image, height, width, nearest, 0, which.num_elements(), visit);
}

class CropAndResize : public Kernel {
 public:
  explicit CropAndResize(KernelInit& init)
      : nearest_(init.Attr<std::string>("method") == "nearest"), outside_(init.Attr<float>("extrapolation_value")) {}

  Status Compute(KernelContext& ctx) override {
    const Tensor &boxes = ctx.input(1), &which = ctx.input(2);
    ASSIGN_OR_RETURN(const ImageShape image, ReadImages(ctx.input(0), "input image"));
    RETURN_IF_ERROR(CheckBoxes(boxes, which, image.batch));
    int64_t height = 0, width = 0;
    RETURN_IF_ERROR(ReadImageSize(ctx.input(3), &height, &width));
    const std::vector<int64_t> dims{which.num_elements(), height, width, image.channels};
    ASSIGN_OR_RETURN(const Shape shape, Shape::Make(dims));
    ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, shape));
    ASSIGN_OR_RETURN(const Tensor pixels, ImageAsFloat(ctx, ctx.input(0)));
    const int64_t depth = image.channels;
    const float* from = pixels.data<float>();
    float* to = out->data<float>();
    const double cost = 2.0 * static_cast<double>(height * width) * static_cast<double>(depth + 4);
    ctx.ParallelFor(which.num_elements(), cost, [&](int64_t first, int64_t last) {
      simd::Run<float>([&, from, to, depth, line = image.width * depth, outside = outside_] {
        ForPixels(boxes, which, image, height, width, nearest_, first, last,
                  [=](int64_t pixel, int64_t base, const Neighbours* y, const Neighbours* x) MILLSTREAM_INLINE_LAMBDA {
                    float* crop = to + pixel * depth;
                    if (y == nullptr) return static_cast<void>(std::fill_n(crop, depth, outside));
                    const float *top = from + base * depth + y->low * line, *bottom = top + (y->high - y->low) * line;
                    const int64_t left = x->low * depth, right = x->high * depth;
                    const float part_x = x->part, part_y = y->part;
                    MILLSTREAM_INDEPENDENT_LOOP
                    for (int64_t c = 0; c < depth; ++c) {
                      const float above = top[left + c] + (top[right + c] - top[left + c]) * part_x;
                      const float below = bottom[left + c] + (bottom[right + c] - bottom[left + c]) * part_x;
                      crop[c] = above + (below - above) * part_y;
                    }
                  });
        return 0;
      });
    });
    return OkStatus();
  }

 private:
  const bool nearest_;
  const float outside_;
};

class CropAndResizeGradImage : public Kernel {
 public:
  explicit CropAndResizeGradImage(KernelInit& init) : nearest_(init.Attr<std::string>("method") == "nearest") {}

  Status Compute(KernelContext& ctx) override {
    const Tensor &dy = ctx.input(0), &boxes = ctx.input(1), &which = ctx.input(2), &size = ctx.input(3);
    ASSIGN_OR_RETURN(const ImageShape crop, ReadImages(dy, "grads image"));
    if (size.rank() != 1 || size.num_elements() != 4) {
      return errors::InvalidArgument("image_size must be 1-D and have 4 elements", size.shape().ToString());
    }
    const int32_t* s = size.data<int32_t>();
    const std::vector<int64_t> dims(s, s + 4);
    ASSIGN_OR_RETURN(const Shape shape, Shape::Make(dims));
    const ImageShape image{dims[0], dims[1], dims[2], dims[3]};
    if (image.height <= 0 || image.width <= 0) return errors::InvalidArgument("image dimensions must be positive");
    if (image.channels != crop.channels) return errors::InvalidArgument("image_size and grads are incompatible");
    RETURN_IF_ERROR(CheckBoxes(boxes, which, image.batch));
    if (crop.batch != which.num_elements()) {
      return errors::InvalidArgument("boxes and grads have incompatible shape");
    }
    ASSIGN_OR_RETURN(Tensor sums, ctx.AllocateTemp(DType::kFloat, shape));
    FillZero(ctx, &sums);
    const int64_t depth = image.channels;
    ForEachPixel(boxes, which, image, crop.height, crop.width, nearest_,
                 [&](int64_t pixel, int64_t base, const Neighbours* y, const Neighbours* x) {
                   if (y == nullptr) return;
                   const float* from = dy.data<float>() + pixel * depth;
                   const auto add = [&](int64_t i, int64_t j, float weight) {
                     float* to = sums.data<float>() + (base + i * image.width + j) * depth;
                     for (int64_t c = 0; c < depth; ++c) to[c] += weight * from[c];
                   };
                   add(y->low, x->low, (1 - y->part) * (1 - x->part));
                   add(y->low, x->high, (1 - y->part) * x->part);
                   add(y->high, x->low, y->part * (1 - x->part));
                   add(y->high, x->high, y->part * x->part);
                 });
    return SetFromFloat(ctx, 0, std::move(sums));
  }

 private:
  const bool nearest_;
};

class CropAndResizeGradBoxes : public Kernel {
 public:
  explicit CropAndResizeGradBoxes(KernelInit&) {}

  Status Compute(KernelContext& ctx) override {
    const Tensor &dy = ctx.input(0), &boxes = ctx.input(2), &which = ctx.input(3);
    ASSIGN_OR_RETURN(const ImageShape crop, ReadImages(dy, "grads image"));
    ASSIGN_OR_RETURN(const ImageShape image, ReadImages(ctx.input(1), "input image"));
    RETURN_IF_ERROR(CheckBoxes(boxes, which, image.batch));
    if (crop.batch != which.num_elements()) return errors::InvalidArgument("boxes and grads have incompatible shape");
    if (crop.channels != image.channels) return errors::InvalidArgument("image, grads depth differ");
    ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, Shape({which.num_elements(), 4})));
    std::fill_n(out->data<float>(), out->num_elements(), 0.0f);
    ASSIGN_OR_RETURN(const Tensor pixels, ImageAsFloat(ctx, ctx.input(1)));
    const int64_t depth = image.channels;
    const float* from = pixels.data<float>();
    ForEachPixel(boxes, which, image, crop.height, crop.width, false,
                 [&](int64_t pixel, int64_t base, const Neighbours* y, const Neighbours* x) {
                   if (y == nullptr) return;
                   float along_y = 0, along_x = 0;
                   for (int64_t c = 0; c < depth; ++c) {
                     const auto at = [&](int64_t i, int64_t j) {
                       return from[(base + i * image.width + j) * depth + c];
                     };
                     const float tl = at(y->low, x->low), tr = at(y->low, x->high);
                     const float bl = at(y->high, x->low), br = at(y->high, x->high);
                     const float d = dy.data<float>()[pixel * depth + c];
                     along_y += d * ((1 - x->part) * (bl - tl) + x->part * (br - tr));
                     along_x += d * ((1 - y->part) * (tr - tl) + y->part * (br - bl));
                   }
                   float* to = out->data<float>() + pixel / (crop.height * crop.width) * 4;
                   Spread(along_y, pixel / crop.width % crop.height, image.height, crop.height, to, to + 2);
                   Spread(along_x, pixel % crop.width, image.width, crop.width, to + 1, to + 3);
                 });
    return OkStatus();
  }

 private:
  // How moving the two ends of a box moves pixel i of the crop.
  static void Spread(float d, int64_t i, int64_t image, int64_t crop, float* low, float* high) {
    const auto size = static_cast<float>(image - 1);
    const float share = crop > 1 ? static_cast<float>(i) / static_cast<float>(crop - 1) : 0.5f;
    *low += d * size * (1 - share);
    *high += d * size * share;
  }
};

Status CropShape(ShapeContext& c) {
  PartialShape image, boxes, which, size;
  RETURN_IF_ERROR(ShapeContext::WithRank(c.input(0), 4, &image));
  RETURN_IF_ERROR(ShapeContext::WithRank(c.input(1), 2, &boxes));
  RETURN_IF_ERROR(ShapeContext::WithRank(c.input(2), 1, &which));
  RETURN_IF_ERROR(ShapeContext::WithRank(c.input(3), 1, &size));
  int64_t n = 0, four = 0, two = 0;
  RETURN_IF_ERROR(ShapeContext::MergeDim(boxes.dim(0), which.dim(0), &n));
  RETURN_IF_ERROR(ShapeContext::MergeDim(boxes.dim(1), 4, &four));
  RETURN_IF_ERROR(ShapeContext::MergeDim(size.dim(0), 2, &two));
  std::vector<int64_t> values;
  const bool known = c.ConstantInts(3, &values) && values.size() == 2;
  c.set_output(0, PartialShape({n, known ? values[0] : -1, known ? values[1] : -1, image.dim(3)}));
  return OkStatus();
}
Status GradImageShape(ShapeContext& c) {
  ASSIGN_OR_RETURN(PartialShape out, c.ConstantAsShape(3));
  RETURN_IF_ERROR(ShapeContext::WithRank(out, 4, &out));
  c.set_output(0, std::move(out));
  return OkStatus();
}
Status GradBoxesShape(ShapeContext& c) {
  c.set_output(0, c.input(2));
  return OkStatus();
}

Status CropGrad(GradContext& g) {
  const Output image = g.input(0), boxes = g.input(1), which = g.input(2), dy = g.dy(0);
  const auto method = g.Attr<std::string>("method");
  if (IsFloating(image.dtype())) {
    g.set_dx(0, g.Op("CropAndResizeGradImage", {dy, boxes, which, g.Op("Shape", {image})},
                     {{"T", image.dtype()}, {"method", method}}));
  }
  g.set_dx(1, g.Op("CropAndResizeGradBoxes", {dy, image, boxes, which}));
  return g.status();
}

OP("CropAndResize")
    .Input("image: T")
    .Input("boxes: float")
    .Input("box_ind: int32")
    .Input("crop_size: int32")
    .Output("crops: float")
    .Attr("T: {uint8, uint16, int8, int16, int32, int64, half, float, double}")
    .Attr("method: {'bilinear', 'nearest'} = 'bilinear'")
    .Attr("extrapolation_value: float = 0.0")
    .Shape(CropShape)
    .Gradient(CropGrad)
    .Cpu<CropAndResize>()
    .HostMemory("crop_size")
    .Doc("Boxes of images, given in parts of their size, as images of one size.");

OP("CropAndResizeGradImage")
    .Input("grads: float")
    .Input("boxes: float")
    .Input("box_ind: int32")
    .Input("image_size: int32")
    .Output("output: T")
    .Attr("T: {float, half, double}")
    .Attr("method: {'bilinear', 'nearest'} = 'bilinear'")
    .Shape(GradImageShape)
    .Cpu<CropAndResizeGradImage>()
    .HostMemory("image_size")
    .Doc("The gradient of CropAndResize for the images.");

OP("CropAndResizeGradBoxes")
    .Input("grads: float")
    .Input("image: T")
    .Input("boxes: float")
    .Input("box_ind: int32")
    .Output("output: float")
    .Attr("T: {uint8, uint16, int8, int16, int32, int64, half, float, double}")
    .Attr("method: {'bilinear'} = 'bilinear'")
    .Shape(GradBoxesShape)
    .Cpu<CropAndResizeGradBoxes>()
    .Doc("The gradient of CropAndResize for the boxes.");

}  // namespace
}  // namespace millstream
