// SPDX-License-Identifier: Apache-2.0
// Suppression of overlapping boxes for batches of images and several classes.
#include <algorithm>

#include "millstream/framework/op.h"
#include "millstream/ops/image/boxes.h"

namespace millstream {
namespace {

Status CheckScalar(const Tensor& t, const char* what) {
  if (t.rank() == 0) return OkStatus();
  return errors::InvalidArgument(what, " must be 0-D, got shape ", t.shape().ToString());
}

// Sizes of the input: images, boxes of each, classes, and the number of classes that have boxes of their own (or 1).
struct Detections {
  int64_t batch, boxes, classes, box_classes;
};

struct Detection {
  const float* box;
  float score;
  int64_t of_class;
};

class CombinedSuppression final : public Kernel {
 public:
  explicit CombinedSuppression(KernelInit& init)
      : pad_per_class_(init.Attr<bool>("pad_per_class")), clip_(init.Attr<bool>("clip_boxes")) {}

  Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(const Detections d, ReadSizes(ctx.input(0), ctx.input(1)));
    Suppression s;
    RETURN_IF_ERROR(CheckScalar(ctx.input(2), "max_size_per_class"));
    RETURN_IF_ERROR(CheckScalar(ctx.input(3), "max_total_size"));
    RETURN_IF_ERROR(CheckScalar(ctx.input(4), "iou_threshold"));
    RETURN_IF_ERROR(CheckScalar(ctx.input(5), "score_threshold"));
    s.limit = ctx.input(2).scalar<int32_t>();
    if (s.limit <= 0) return errors::InvalidArgument("max_size_per_class must be positive");
    int64_t size = ctx.input(3).scalar<int32_t>();
    if (size <= 0) return errors::InvalidArgument("max_total_size must be > 0");
    s.overlap = ctx.input(4).scalar<float>();
    s.score = ctx.input(5).scalar<float>();
    if (!(s.overlap >= 0 && s.overlap <= 1)) return errors::InvalidArgument("iou_threshold must be in [0, 1]");
    if (pad_per_class_) size = std::min(size, s.limit * d.classes);
    const int64_t box_dims[] = {d.batch, size, 4}, dims[] = {d.batch, size};
    ASSIGN_OR_RETURN(const Shape box_shape, Shape::Make(box_dims));
    ASSIGN_OR_RETURN(const Shape shape, Shape::Make(dims));
    Results r;
    ASSIGN_OR_RETURN(r.boxes, ctx.AllocateOutput(0, box_shape));
    ASSIGN_OR_RETURN(r.scores, ctx.AllocateOutput(1, shape));
    ASSIGN_OR_RETURN(r.classes, ctx.AllocateOutput(2, shape));
    ASSIGN_OR_RETURN(r.counts, ctx.AllocateOutput(3, Shape({d.batch})));
    ctx.ParallelFor(d.batch, 100.0 * static_cast<double>(d.boxes * d.classes), [&](int64_t begin, int64_t end) {
      for (int64_t b = begin; b < end; ++b) Write(Image(ctx, d, s, b), b, size, r);
    });
    return OkStatus();
  }

 private:
  struct Results {
    Tensor *boxes, *scores, *classes, *counts;
  };

  static StatusOr<Detections> ReadSizes(const Tensor& boxes, const Tensor& scores) {
    if (boxes.rank() != 4) return errors::InvalidArgument("boxes must be 4-D", boxes.shape().ToString());
    if (scores.rank() != 3) return errors::InvalidArgument("scores must be 3-D", scores.shape().ToString());
    const Detections d{boxes.dim(0), boxes.dim(1), scores.dim(2), boxes.dim(2)};
    if (scores.dim(0) != d.batch) return errors::InvalidArgument("boxes and scores must have same batch size");
    if (d.box_classes != 1 && d.box_classes != d.classes) {
      return errors::InvalidArgument("third dimension of boxes must be either 1 or num classes");
    }
    if (boxes.dim(3) != 4) return errors::InvalidArgument("boxes must have 4 columns");
    if (scores.dim(1) != d.boxes) return errors::InvalidArgument("scores has incompatible shape");
    return d;
  }

  // What is left of image b, from the highest score down.
  static std::vector<Detection> Image(const KernelContext& ctx, const Detections& d, const Suppression& s, int64_t b) {
    const float* boxes = ctx.input(0).data<float>() + b * d.boxes * d.box_classes * 4;
    const float* scores = ctx.input(1).data<float>() + b * d.boxes * d.classes;
    std::vector<Detection> found;
    std::vector<float> of_class(static_cast<size_t>(d.boxes));
    for (int64_t k = 0; k < d.classes; ++k) {
      for (int64_t i = 0; i < d.boxes; ++i) of_class[i] = scores[i * d.classes + k];
      const auto box = [&](int64_t i) { return boxes + (i * d.box_classes + (d.box_classes > 1 ? k : 0)) * 4; };
      const Selection chosen = Select(s, of_class, [&](int64_t i, int64_t j) { return Overlap(box(i), box(j)); });
      for (size_t i = 0; i < chosen.boxes.size(); ++i) {
        found.push_back({box(chosen.boxes[i]), chosen.scores[i], k});
      }
    }
    std::ranges::stable_sort(found, std::greater<>(), &Detection::score);
    return found;
  }

  void Write(const std::vector<Detection>& found, int64_t b, int64_t size, const Results& r) const {
    const int64_t count = std::min(size, static_cast<int64_t>(found.size()));
    float* boxes = r.boxes->data<float>() + b * size * 4;
    float *scores = r.scores->data<float>() + b * size, *classes = r.classes->data<float>() + b * size;
    std::fill_n(boxes, size * 4, 0.0f);
    std::fill_n(scores, size, 0.0f);
    std::fill_n(classes, size, 0.0f);
    for (int64_t i = 0; i < count; ++i) {
      const Detection& d = found[i];
      for (int c = 0; c < 4; ++c) boxes[4 * i + c] = clip_ ? std::max(std::min(d.box[c], 1.0f), 0.0f) : d.box[c];
      scores[i] = d.score;
      classes[i] = static_cast<float>(d.of_class);
    }
    r.counts->data<int32_t>()[b] = static_cast<int32_t>(count);
  }

  const bool pad_per_class_, clip_;
};

Status CombinedShape(ShapeContext& c) {
  PartialShape boxes, scores, scalar;
  RETURN_IF_ERROR(ShapeContext::WithRank(c.input(0), 4, &boxes));
  RETURN_IF_ERROR(ShapeContext::WithRank(c.input(1), 3, &scores));
  for (int i = 2; i < 6; ++i) RETURN_IF_ERROR(ShapeContext::WithRank(c.input(i), 0, &scalar));
  int64_t unused = 0;
  RETURN_IF_ERROR(ShapeContext::MergeDim(boxes.dim(3), 4, &unused));
  RETURN_IF_ERROR(ShapeContext::MergeDim(boxes.dim(0), scores.dim(0), &unused));
  RETURN_IF_ERROR(ShapeContext::MergeDim(boxes.dim(1), scores.dim(1), &unused));
  if (boxes.dim(2) >= 0 && scores.dim(2) >= 0 && boxes.dim(2) != 1 && boxes.dim(2) != scores.dim(2)) {
    return errors::InvalidArgument(
        "third dimension of boxes must be either 1 or equal to the third dimension of scores");
  }
  bool pad_per_class = false;
  RETURN_IF_ERROR(c.GetAttr("pad_per_class", &pad_per_class));
  int64_t per_class = 0, size = -1;
  if (!c.ConstantInt(3, &size)) size = -1;
  if (size == 0 || size < -1) return errors::InvalidArgument("max_total_size should be > 0 ");
  if (pad_per_class) {
    const bool known = c.ConstantInt(2, &per_class) && size > 0 && scores.dim(2) >= 0;
    size = known && per_class > 0 ? std::min(size, std::min(per_class, size) * scores.dim(2)) : -1;
  }
  const int64_t batch = boxes.dim(0);
  c.set_output(0, PartialShape({batch, size, 4}));
  c.set_output(1, PartialShape({batch, size}));
  c.set_output(2, PartialShape({batch, size}));
  c.set_output(3, PartialShape({batch}));
  return OkStatus();
}

OP("CombinedNonMaxSuppression")
    .Input("boxes: float")
    .Input("scores: float")
    .Input("max_output_size_per_class: int32")
    .Input("max_total_size: int32")
    .Input("iou_threshold: float")
    .Input("score_threshold: float")
    .Output("nmsed_boxes: float")
    .Output("nmsed_scores: float")
    .Output("nmsed_classes: float")
    .Output("valid_detections: int32")
    .Attr("pad_per_class: bool = false")
    .Attr("clip_boxes: bool = true")
    .Shape(CombinedShape)
    .Cpu<CombinedSuppression>()
    .Doc("For each image of a batch and each class, the boxes of the highest scores that do not overlap much.");

}  // namespace
}  // namespace millstream
