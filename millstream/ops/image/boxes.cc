// SPDX-License-Identifier: Apache-2.0
#include "millstream/ops/image/boxes.h"

#include <algorithm>

#include "millstream/framework/op.h"
#include "millstream/ops/image/taps.h"

namespace millstream {
namespace {

Status ReadFloat(KernelContext& ctx, int i, const char* what, float* value) {
  if (ctx.input(i).rank() != 0) {
    return errors::InvalidArgument(what, " must be 0-D, got shape ", ctx.input(i).shape().ToString());
  }
  ASSIGN_OR_RETURN(const Tensor t, ImageAsFloat(ctx, ctx.input(i)));
  *value = t.scalar<float>();
  return OkStatus();
}

// All versions: what they have beyond the first is told by the number of inputs and outputs.
class NonMaxSuppression : public Kernel {
 public:
  explicit NonMaxSuppression(KernelInit& init) : overlaps_(init.op().name == "NonMaxSuppressionWithOverlaps") {
    if (init.HasAttr("iou_threshold")) {
      threshold_ = init.Attr<float>("iou_threshold");
      if (threshold_ < 0 || threshold_ > 1) {
        init.Fail(errors::InvalidArgument("iou_threshold must be in [0, 1]"));
      }
    }
    if (init.HasAttr("pad_to_max_output_size")) pad_ = init.Attr<bool>("pad_to_max_output_size");
  }

  Status Compute(KernelContext& ctx) override {
    Suppression s;
    if (ctx.input(2).rank() != 0) {
      return errors::InvalidArgument("max_output_size must be 0-D, got shape ", ctx.input(2).shape().ToString());
    }
    s.limit = ctx.input(2).scalar<int32_t>();
    s.overlap = threshold_;
    if (ctx.num_inputs() > 3) RETURN_IF_ERROR(ReadFloat(ctx, 3, "iou_threshold", &s.overlap));
    if (ctx.num_inputs() > 4) RETURN_IF_ERROR(ReadFloat(ctx, 4, "score_threshold", &s.score));
    if (ctx.num_inputs() > 5) RETURN_IF_ERROR(ReadFloat(ctx, 5, "soft_nms_sigma", &s.sigma));
    if (!overlaps_ && (s.overlap < 0 || s.overlap > 1)) {
      return errors::InvalidArgument("iou_threshold must be in [0, 1]");
    }
    if (s.sigma < 0) return errors::InvalidArgument("soft_nms_sigma must be >= 0");
    if (s.limit < 0 && pad_) return errors::InvalidArgument("max_output_size must be >= 0");
    RETURN_IF_ERROR(CheckBoxes(ctx.input(0), ctx.input(1)));
    ASSIGN_OR_RETURN(const Tensor boxes, ImageAsFloat(ctx, ctx.input(0)));
    ASSIGN_OR_RETURN(const Tensor scores, ImageAsFloat(ctx, ctx.input(1)));
    const float* b = boxes.data<float>();
    const int64_t n = boxes.dim(0);
    const Selection chosen = Select(s, scores.flat<float>(), [&](int64_t i, int64_t k) {
      return overlaps_ ? b[i * n + k] : Overlap(b + 4 * i, b + 4 * k);
    });
    return Write(ctx, chosen, pad_ ? s.limit : static_cast<int64_t>(chosen.boxes.size()));
  }

 private:
  Status CheckBoxes(const Tensor& boxes, const Tensor& scores) const {
    if (boxes.rank() != 2 || boxes.dim(1) != (overlaps_ ? boxes.dim(0) : 4)) {
      return errors::InvalidArgument(overlaps_ ? "overlaps must be square" : "boxes must have 4 columns",
                                     ", got shape ", boxes.shape().ToString());
    }
    if (scores.rank() != 1 || scores.dim(0) != boxes.dim(0)) {
      return errors::InvalidArgument("scores has incompatible shape ", scores.shape().ToString());
    }
    return OkStatus();
  }

  Status Write(KernelContext& ctx, const Selection& chosen, int64_t size) const {
    ASSIGN_OR_RETURN(Tensor * boxes, ctx.AllocateOutput(0, Shape({size})));
    std::fill_n(boxes->data<int32_t>(), size, 0);
    std::copy(chosen.boxes.begin(), chosen.boxes.end(), boxes->data<int32_t>());
    if (ctx.num_outputs() == 3) {
      ASSIGN_OR_RETURN(Tensor scores, ctx.AllocateTemp(DType::kFloat, Shape({size})));
      std::fill_n(scores.data<float>(), size, 0.0f);
      std::copy(chosen.scores.begin(), chosen.scores.end(), scores.data<float>());
      RETURN_IF_ERROR(SetFromFloat(ctx, 1, std::move(scores)));
    }
    if (ctx.num_outputs() > 1) {
      ASSIGN_OR_RETURN(Tensor * count, ctx.AllocateOutput(ctx.num_outputs() - 1, Shape()));
      count->scalar<int32_t>() = static_cast<int32_t>(chosen.boxes.size());
    }
    return OkStatus();
  }

  const bool overlaps_;
  float threshold_ = 0.5f;
  bool pad_ = false;
};

Status SuppressionShape(ShapeContext& c) {
  PartialShape boxes, scores, scalar;
  RETURN_IF_ERROR(ShapeContext::WithRank(c.input(0), 2, &boxes));
  RETURN_IF_ERROR(ShapeContext::WithRank(c.input(1), 1, &scores));
  for (int i = 2; i < c.num_inputs(); ++i) RETURN_IF_ERROR(ShapeContext::WithRank(c.input(i), 0, &scalar));
  int64_t unused = 0;
  RETURN_IF_ERROR(ShapeContext::MergeDim(boxes.dim(0), scores.dim(0), &unused));
  const bool overlaps = c.num_inputs() == 5 && !c.attrs().Has("T");
  RETURN_IF_ERROR(ShapeContext::MergeDim(boxes.dim(1), overlaps ? boxes.dim(0) : 4, &unused));
  bool pad = false;
  int64_t size = -1;
  if (c.attrs().Has("pad_to_max_output_size")) RETURN_IF_ERROR(c.GetAttr("pad_to_max_output_size", &pad));
  if (pad && !c.ConstantInt(2, &size)) size = -1;
  c.set_output(0, PartialShape({pad ? size : -1}));
  if (c.num_outputs() == 3) c.set_output(1, PartialShape({pad ? size : -1}));
  if (c.num_outputs() > 1) c.set_output(c.num_outputs() - 1, Shape());
  return OkStatus();
}

OP("NonMaxSuppression")
    .Input("boxes: float")
    .Input("scores: float")
    .Input("max_output_size: int32")
    .Output("selected_indices: int32")
    .Attr("iou_threshold: float = 0.5")
    .Shape(SuppressionShape)
    .NotDifferentiable()
    .Cpu<NonMaxSuppression>()
    .Doc("The boxes of the highest scores that do not overlap much.");

void ThresholdTypes(OpBuilder& op) {
  op.Attr("T: {half, float} = DT_FLOAT").Attr("T_threshold: {half, float} = DT_FLOAT");
}
void BoxInputs(OpBuilder& op) { op.Input("boxes: T").Input("scores: T").Input("max_output_size: int32"); }

OP("NonMaxSuppressionV2")
    .With(BoxInputs)
    .Input("iou_threshold: T_threshold")
    .Output("selected_indices: int32")
    .With(ThresholdTypes)
    .Shape(SuppressionShape)
    .NotDifferentiable()
    .Cpu<NonMaxSuppression>()
    .Doc("As NonMaxSuppression, with a threshold that is computed.");

OP("NonMaxSuppressionV3")
    .With(BoxInputs)
    .Input("iou_threshold: T_threshold")
    .Input("score_threshold: T_threshold")
    .Output("selected_indices: int32")
    .With(ThresholdTypes)
    .Shape(SuppressionShape)
    .Cpu<NonMaxSuppression>()
    .Doc("As NonMaxSuppressionV2, of the boxes whose score is above another threshold.");

OP("NonMaxSuppressionV4")
    .With(BoxInputs)
    .Input("iou_threshold: T_threshold")
    .Input("score_threshold: T_threshold")
    .Output("selected_indices: int32")
    .Output("valid_outputs: int32")
    .With(ThresholdTypes)
    .Attr("pad_to_max_output_size: bool = false")
    .Shape(SuppressionShape)
    .Cpu<NonMaxSuppression>()
    .Doc("As NonMaxSuppressionV3, padded with zeros to a fixed size if asked.");

OP("NonMaxSuppressionV5")
    .With(BoxInputs)
    .Input("iou_threshold: T")
    .Input("score_threshold: T")
    .Input("soft_nms_sigma: T")
    .Output("selected_indices: int32")
    .Output("selected_scores: T")
    .Output("valid_outputs: int32")
    .Attr("T: {half, float} = DT_FLOAT")
    .Attr("pad_to_max_output_size: bool = false")
    .Shape(SuppressionShape)
    .Cpu<NonMaxSuppression>()
    .Doc("As NonMaxSuppressionV4; overlaps may lower scores instead of dropping boxes.");

OP("NonMaxSuppressionWithOverlaps")
    .Input("overlaps: float")
    .Input("scores: float")
    .Input("max_output_size: int32")
    .Input("overlap_threshold: float")
    .Input("score_threshold: float")
    .Output("selected_indices: int32")
    .Shape(SuppressionShape)
    .NotDifferentiable()
    .Cpu<NonMaxSuppression>()
    .Doc("As NonMaxSuppressionV3, with overlaps that the caller computed.");

}  // namespace
}  // namespace millstream
