// SPDX-License-Identifier: Apache-2.0
// Random crops that show enough of an object.
#include <algorithm>
#include <cmath>

#include "millstream/framework/op.h"
#include "millstream/math/random/philox.h"
#include "millstream/math/random/random_inl.h"
#include "millstream/ops/random/candidate_sampler.h"
#include "millstream/ops/random/generator.h"

namespace millstream {
namespace {

// In pixels; bottom and right are not part of it.
struct PixelBox {
  int64_t top = 0, left = 0, bottom = 0, right = 0;

  float area() const { return static_cast<float>((bottom - top) * (right - left)); }
  float AreaWith(const PixelBox& o) const {
    const int64_t height = std::min(bottom, o.bottom) - std::max(top, o.top);
    const int64_t width = std::min(right, o.right) - std::max(left, o.left);
    return height < 0 || width < 0 ? 0.0f : static_cast<float>(height * width);
  }
};

// Rounded to even; numbers beyond every image are brought back.
int64_t Rounded(float x) { return static_cast<int64_t>(std::nearbyint(std::clamp(x, 0.0f, 4e9f))); }

struct CropOptions {
  float aspect_low, aspect_high, area_low, area_high;
  int64_t attempts;
};

class CropSampler {
 public:
  CropSampler(const CropOptions& options, int64_t height, int64_t width, const math::Philox& philox)
      : o_(options), height_(height), width_(width), numbers_(philox) {}

  // A crop of which `boxes` holds an object that is covered by the part `covered`; the whole image if none is found.
  PixelBox Sample(const std::vector<PixelBox>& boxes, float covered) {
    for (int64_t i = 0; i < o_.attempts; ++i) {
      const float unit = math::random_internal::ToFloat(numbers_.Next());
      const float aspect = unit * (o_.aspect_high - o_.aspect_low) + o_.aspect_low;
      PixelBox crop;
      if (!Draw(aspect, &crop) || crop.area() < 1) continue;
      const bool shown = std::ranges::any_of(
          boxes, [&](const PixelBox& box) { return box.area() >= 1 && crop.AreaWith(box) / box.area() >= covered; });
      if (shown) return crop;
    }
    return {0, 0, height_, width_};
  }

 private:
  int64_t Below(int64_t range) {
    return ExactUniform<uint32_t>(static_cast<uint32_t>(range), [this] { return numbers_.Next(); });
  }

  // The largest height that the area allows and whose width fits.
  int64_t MaxHeight(float max_area, float aspect) const {
    int64_t height = Rounded(std::sqrt(max_area / aspect));
    if (Rounded(static_cast<float>(height) * aspect) > width_) {
      height = static_cast<int64_t>(std::min((static_cast<double>(width_) + 0.5 - 1e-7) / aspect, 4e9));
      if (Rounded(static_cast<float>(height) * aspect) > width_) --height;
    }
    return std::min(height, height_);
  }

  // False if no crop with that aspect fits.
  bool Draw(float aspect, PixelBox* crop) {
    if (!(aspect > 0) || width_ <= 0 || height_ <= 0 || o_.area_low > o_.area_high) return false;
    const float image_width = static_cast<float>(width_), image_height = static_cast<float>(height_);
    const float min_area = o_.area_low * image_width * image_height,
                max_area = o_.area_high * image_width * image_height;
    const int64_t max_height = MaxHeight(max_area, aspect);
    int64_t height = std::min(Rounded(std::sqrt(min_area / aspect)), max_height);
    if (height < max_height) height += Below(max_height - height + 1);
    const auto width_of = [&](int64_t h) { return Rounded(static_cast<float>(h) * aspect); };
    const auto area_of = [&](int64_t h) { return static_cast<float>(width_of(h) * h); };
    // Rounding may have left the limits by a line.
    if (area_of(height) < min_area) ++height;
    if (area_of(height) > max_area) --height;
    const int64_t width = width_of(height);
    if (area_of(height) < min_area || area_of(height) > max_area) return false;
    if (width > width_ || height > height_ || width <= 0 || height <= 0) return false;
    crop->top = height < height_ ? Below(height_ - height) : 0;
    crop->left = width < width_ ? Below(width_ - width) : 0;
    crop->bottom = crop->top + height;
    crop->right = crop->left + width;
    return true;
  }

  const CropOptions o_;
  const int64_t height_, width_;
  math::PhiloxSampler numbers_;
};

Status ReadRange(KernelInit& init, const char* attr, const char* what, float* low, float* high) {
  const auto range = init.Attr<std::vector<float>>(attr);
  if (range.size() != 2) return errors::InvalidArgument(what, " range field must specify 2 dimensions");
  *low = range[0], *high = range[1];
  if (*low > 0 && *high > 0) return OkStatus();
  return errors::InvalidArgument(what, " range must be non-negative: [", *low, ", ", *high, "]");
}

template <typename T>
class SampleBoxBase : public Kernel {
 public:
  explicit SampleBoxBase(KernelInit& init) : whole_(init.Attr<bool>("use_image_if_no_bounding_boxes")) {
    o_.attempts = init.Attr<int64_t>("max_attempts");
    if (init.HasAttr("min_object_covered")) covered_ = init.Attr<float>("min_object_covered");
    init.Check(CheckCovered(covered_));
    init.Check(ReadRange(init, "aspect_ratio_range", "Aspect ratio", &o_.aspect_low, &o_.aspect_high));
    init.Check(ReadRange(init, "area_range", "Area", &o_.area_low, &o_.area_high));
    if (o_.area_low > 1 || o_.area_high > 1) {
      init.Fail(errors::InvalidArgument("Area range must be less then or equal to 1.0: [", o_.area_low, ", ",
                                        o_.area_high, "]"));
    }
    if (o_.attempts <= 0) init.Fail(errors::InvalidArgument("Max attempts must be non-negative: ", o_.attempts));
  }

 protected:
  Status Sample(KernelContext& ctx, const math::Philox& philox) const {
    int64_t height = 0, width = 0;
    RETURN_IF_ERROR(ReadSize(ctx.input(0), &height, &width));
    float covered = covered_;
    if (ctx.num_inputs() > 2) {
      const Tensor& value = ctx.input(2);
      if (value.rank() != 0) {
        return errors::InvalidArgument("min_object_covered must be 0-D, got shape ", value.shape().ToString());
      }
      covered = value.scalar<float>();
      RETURN_IF_ERROR(CheckCovered(covered));
    }
    std::vector<PixelBox> boxes;
    RETURN_IF_ERROR(ReadBoxes(ctx.input(1), height, width, &boxes));
    return Write(ctx, CropSampler(o_, height, width, philox).Sample(boxes, covered), height, width);
  }
  int64_t attempts() const { return o_.attempts; }

 private:
  static Status CheckCovered(float covered) {
    if (covered >= 0) return OkStatus();
    return errors::InvalidArgument("Min object covered must be non-negative: ", covered);
  }

  static Status ReadSize(const Tensor& size, int64_t* height, int64_t* width) {
    if (size.rank() != 1) return errors::InvalidArgument("image_size must be 1-dimensional", size.shape().ToString());
    if (size.dim(0) != 3) return errors::InvalidArgument("image_size must contain 3 elements", size.shape().ToString());
    *height = static_cast<int64_t>(size.data<T>()[0]);
    *width = static_cast<int64_t>(size.data<T>()[1]);
    const int64_t limit = std::numeric_limits<int32_t>::max();
    if (*height < 0 || *height >= limit) return errors::InvalidArgument("image height cannot be >= int32 max");
    if (*width < 0 || *width >= limit) return errors::InvalidArgument("image width cannot be >= int32 max");
    return OkStatus();
  }

  // Boxes are given as parts of the image: top, left, bottom, right.
  Status ReadBoxes(const Tensor& t, int64_t height, int64_t width, std::vector<PixelBox>* boxes) const {
    if (t.rank() != 3) {
      return errors::InvalidArgument("input boxes must be 3-dimensional [batch, num_boxes, coords]: ",
                                     t.shape().ToString());
    }
    if (t.dim(2) != 4) {
      return errors::InvalidArgument("bounding boxes must have shape [4] or [*, 4], got ", t.shape().ToString());
    }
    for (const float v : t.flat<float>()) {
      if (!(v >= 0 && v <= 1))
        return errors::InvalidArgument("All bounding box coordinates must be in [0.0, 1.0]: ", v);
    }
    const auto pixel = [](float part, int64_t size) { return static_cast<int64_t>(part * static_cast<float>(size)); };
    for (int64_t i = 0; i < t.num_elements(); i += 4) {
      const float* p = t.data<float>() + i;
      boxes->push_back({pixel(p[0], height), pixel(p[1], width), pixel(p[2], height), pixel(p[3], width)});
    }
    if (!boxes->empty()) return OkStatus();
    boxes->push_back({0, 0, height, width});
    if (whole_) return OkStatus();
    return errors::InvalidArgument(
        "No bounding boxes provided as input. One must enable use_image_if_no_bounding_boxes if you wish to not "
        "provide "
        "any bounding boxes.");
  }

  // Begin and size for Slice, and the box to draw.
  static Status Write(KernelContext& ctx, const PixelBox& crop, int64_t height, int64_t width) {
    ASSIGN_OR_RETURN(Tensor * begin, ctx.AllocateOutput(0, Shape({3})));
    ASSIGN_OR_RETURN(Tensor * size, ctx.AllocateOutput(1, Shape({3})));
    ASSIGN_OR_RETURN(Tensor * box, ctx.AllocateOutput(2, Shape({1, 1, 4})));
    const int64_t begins[] = {crop.top, crop.left, 0}, sizes[] = {crop.bottom - crop.top, crop.right - crop.left, -1};
    for (int i = 0; i < 3; ++i) {
      begin->data<T>()[i] = static_cast<T>(begins[i]);
      size->data<T>()[i] = static_cast<T>(sizes[i]);
    }
    const auto part = [](int64_t a, int64_t b) { return static_cast<float>(a) / static_cast<float>(b); };
    const float corners[] = {part(crop.top, height), part(crop.left, width), part(crop.bottom, height),
                             part(crop.right, width)};
    std::ranges::copy(corners, box->data<float>());
    return OkStatus();
  }

  CropOptions o_{};
  float covered_ = 0;
  const bool whole_;
};

template <typename T>
class SampleBox final : public SampleBoxBase<T> {
 public:
  explicit SampleBox(KernelInit& init)
      : SampleBoxBase<T>(init), stream_(init.Attr<int64_t>("seed"), init.Attr<int64_t>("seed2")) {}
  Status Compute(KernelContext& ctx) override { return this->Sample(ctx, stream_.Reserve(this->attempts())); }

 private:
  math::PhiloxStream stream_;
};

template <typename T>
class StatelessSampleBox final : public SampleBoxBase<T> {
 public:
  using SampleBoxBase<T>::SampleBoxBase;
  Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(const math::Philox philox, GeneratorFromSeed(ctx.input(3)));
    return this->Sample(ctx, philox);
  }
};

Status SampleBoxShape(ShapeContext& c) {
  PartialShape size, boxes;
  RETURN_IF_ERROR(ShapeContext::WithRank(c.input(0), 1, &size));
  RETURN_IF_ERROR(ShapeContext::WithRank(c.input(1), 3, &boxes));
  int64_t unused = 0;
  RETURN_IF_ERROR(ShapeContext::MergeDim(size.dim(0), 3, &unused));
  RETURN_IF_ERROR(ShapeContext::MergeDim(boxes.dim(2), 4, &unused));
  if (c.num_inputs() > 2) RETURN_IF_ERROR(ShapeContext::WithRank(c.input(2), 0, &size));
  if (c.num_inputs() > 3) RETURN_IF_ERROR(CheckSeedShape(c.input(3)));
  c.set_output(0, Shape({3}));
  c.set_output(1, Shape({3}));
  c.set_output(2, Shape({1, 1, 4}));
  return OkStatus();
}

void SampleBoxInputs(OpBuilder& op) { op.Input("image_size: T").Input("bounding_boxes: float"); }
void SampleBoxResults(OpBuilder& op) {
  op.Output("begin: T").Output("size: T").Output("bboxes: float").Attr("T: {uint8, int8, int16, int32, int64}");
}
void SampleBoxLimits(OpBuilder& op) {
  op.Attr("aspect_ratio_range: list(float) = [0.75, 1.33]")
      .Attr("area_range: list(float) = [0.05, 1]")
      .Attr("max_attempts: int = 100")
      .Attr("use_image_if_no_bounding_boxes: bool = false")
      .Shape(SampleBoxShape);
}

using SizeTypes = Types<uint8_t, int8_t, int16_t, int32_t, int64_t>;

OP("SampleDistortedBoundingBox")
    .With(SampleBoxInputs)
    .With(SampleBoxResults)
    .Attr("seed: int = 0")
    .Attr("seed2: int = 0")
    .Attr("min_object_covered: float = 0.1")
    .With(SampleBoxLimits)
    .NotDifferentiable()
    .Stateful()
    .Cpu<SampleBox>(SizeTypes{})
    .Doc(
        "A random crop of an image that covers enough of one of the boxes: begin and size for Slice, and the crop as a "
        "box.");

OP("SampleDistortedBoundingBoxV2")
    .With(SampleBoxInputs)
    .Input("min_object_covered: float")
    .With(SampleBoxResults)
    .Attr("seed: int = 0")
    .Attr("seed2: int = 0")
    .With(SampleBoxLimits)
    .NotDifferentiable()
    .Stateful()
    .Cpu<SampleBox>(SizeTypes{})
    .Doc("As SampleDistortedBoundingBox, with a part to cover that is computed.");

OP("StatelessSampleDistortedBoundingBox")
    .With(SampleBoxInputs)
    .Input("min_object_covered: float")
    .Input("seed: Tseed")
    .With(SampleBoxResults)
    .Attr("Tseed: {int32, int64}")
    .With(SampleBoxLimits)
    .NotDifferentiable()
    .Cpu<StatelessSampleBox>(SizeTypes{})
    .Doc("As SampleDistortedBoundingBoxV2; the same seed gives the same crop.");

}  // namespace
}  // namespace millstream
