// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <deque>
#include <limits>
#include <map>
#include <vector>

#include "millstream/framework/op.h"

namespace millstream {
namespace {

// A prefix of labels: the path from the root of a tree to this node. Its probabilities, as logarithms, over all
// alignments that end in the last label or in a blank.
template <typename T>
struct Prefix {
  static constexpr T kNever = -std::numeric_limits<T>::infinity();
  struct Chance {
    T total = kNever, blank = kNever, label = kNever;
  };

  Prefix* parent = nullptr;
  int64_t label = -1;
  Chance before, now;  // after the last step, and this one
  std::map<int64_t, Prefix*> children;

  bool in_beam() const { return now.total != kNever; }
  // What the probability of a child that ends in `next` comes from: after the same label a blank must stand between.
  T Source(int64_t next) const { return next == label ? before.blank : before.total; }
};

template <typename T>
T LogAdd(T a, T b) {
  if (a < b) std::swap(a, b);
  return b == Prefix<T>::kNever ? a : a + std::log1p(std::exp(b - a));
}

// The `width` most likely prefixes, after any number of steps.
template <typename T>
class Beam {
 public:
  using Node = Prefix<T>;
  Beam(size_t width, int64_t classes) : width_(width), classes_(classes), blank_(classes - 1) {
    Node* root = &nodes_.emplace_back();
    root->now.total = root->now.blank = 0;
    leaves_.push_back(root);
  }

  void Step(const T* logits) {
    const T largest = *std::max_element(logits, logits + classes_);
    T sum = 0;
    for (int64_t c = 0; c < classes_; ++c) sum += std::exp(logits[c] - largest);
    const T offset = largest + std::log(sum);
    std::vector<Node*> branches = Best();
    leaves_.clear();
    for (Node* b : branches) b->before = b->now;
    for (Node* b : branches) {
      Stay(b, logits, offset);
      leaves_.push_back(b);
    }
    for (Node* b : branches) {
      if (!Promising(b->before.total)) continue;
      for (int64_t c = 0; c < classes_; ++c) {
        if (c != blank_) Grow(b, c, logits[c] - offset);
      }
    }
  }
  // The prefixes, most likely first.
  std::vector<Node*> Best() const {
    std::vector<Node*> best = leaves_;
    std::stable_sort(best.begin(), best.end(), [](Node* a, Node* b) { return a->now.total > b->now.total; });
    return best;
  }

 private:
  // Alignments that give the same labels: one more blank, the last label again, or that label after the parent.
  void Stay(Node* b, const T* logits, T offset) const {
    if (b->parent != nullptr) {
      if (b->parent->in_beam()) b->now.label = LogAdd(b->now.label, b->parent->Source(b->label));
      b->now.label += logits[b->label] - offset;
    }
    b->now.blank = b->before.total + logits[blank_] - offset;
    b->now.total = LogAdd(b->now.blank, b->now.label);
  }

  typename std::vector<Node*>::iterator Worst() {
    return std::min_element(leaves_.begin(), leaves_.end(),
                            [](Node* a, Node* b) { return a->now.total < b->now.total; });
  }
  bool Promising(T total) { return total > Node::kNever && (leaves_.size() < width_ || total > (*Worst())->now.total); }
  // The prefix with one more label, if it is likely enough to push out another one.
  void Grow(Node* b, int64_t label, T log_probability) {
    Node*& child = b->children[label];
    if (child == nullptr) {
      child = &nodes_.emplace_back();
      child->parent = b;
      child->label = label;
    }
    if (child->in_beam()) return;
    const T total = log_probability + b->Source(label);
    if (!Promising(total)) return;
    child->now = {.total = total, .blank = Node::kNever, .label = total};
    child->before = {};
    if (leaves_.size() == width_) {
      const auto worst = Worst();
      (*worst)->now = {};
      leaves_.erase(worst);
    }
    leaves_.push_back(child);
  }

  const size_t width_;
  const int64_t classes_, blank_;
  std::deque<Node> nodes_;  // all that were ever in the beam, and what they may grow to
  std::vector<Node*> leaves_;
};

// The decoded sequences of one rank, as a sparse matrix.
struct Decoded {
  std::vector<int64_t> indices, values;
  int64_t longest = 0;

  template <typename T>
  void Add(int64_t row, const Prefix<T>* leaf, bool merge_repeated) {
    std::vector<int64_t> labels;
    for (; leaf->parent != nullptr; leaf = leaf->parent) {
      if (!merge_repeated || labels.empty() || labels.back() != leaf->label) labels.push_back(leaf->label);
    }
    const auto n = static_cast<int64_t>(labels.size());
    for (int64_t i = 0; i < n; ++i) {
      indices.insert(indices.end(), {row, i});
      values.push_back(labels[n - 1 - i]);
    }
    longest = std::max(longest, n);
  }
};

template <typename T>
class CtcBeamSearchDecoder final : public Kernel {
 public:
  explicit CtcBeamSearchDecoder(KernelInit& init)
      : merge_(init.Attr<bool>("merge_repeated")),
        width_(init.Attr<int64_t>("beam_width")),
        paths_(init.Attr<int64_t>("top_paths")) {
    if (paths_ > width_) init.Fail(errors::InvalidArgument("requested more paths than the beam width."));
  }

  Status Compute(KernelContext& ctx) override {
    const Tensor &inputs = ctx.input(0), &lengths = ctx.input(1);
    if (inputs.rank() != 3) return errors::InvalidArgument("inputs is not a 3-Tensor");
    if (lengths.rank() != 1) return errors::InvalidArgument("sequence_length is not a vector");
    const int64_t steps = inputs.dim(0), batch = inputs.dim(1), classes = inputs.dim(2);
    if (steps == 0 || classes == 0) return errors::InvalidArgument("max_time and num_classes must not be 0");
    if (lengths.dim(0) != batch) return errors::FailedPrecondition("len(sequence_length) != batch_size.");
    ASSIGN_OR_RETURN(Tensor * scores, ctx.AllocateOutput(static_cast<int>(3 * paths_), Shape({batch, paths_})));
    std::vector<Decoded> decoded(static_cast<size_t>(paths_));
    for (int64_t b = 0; b < batch; ++b) {
      const int64_t n = lengths.data<int32_t>()[b];
      if (n > steps) return errors::FailedPrecondition("sequence_length(", b, ") <= ", steps);
      Beam<T> beam(static_cast<size_t>(width_), classes);
      for (int64_t t = 0; t < n; ++t) beam.Step(inputs.data<T>() + (t * batch + b) * classes);
      const auto best = beam.Best();
      if (static_cast<int64_t>(best.size()) < paths_) {
        return errors::InvalidArgument("Less leaves in the beam search than requested.");
      }
      for (int64_t p = 0; p < paths_; ++p) {
        decoded[p].Add(b, best[p], merge_);
        scores->data<T>()[b * paths_ + p] = best[p]->now.total;
      }
    }
    SetSequences(ctx, decoded, batch);
    return OkStatus();
  }

 private:
  static void SetSequences(KernelContext& ctx, const std::vector<Decoded>& decoded, int64_t batch) {
    const int paths = static_cast<int>(decoded.size());
    for (int p = 0; p < paths; ++p) {
      const auto n = static_cast<int64_t>(decoded[p].values.size());
      ctx.set_output(p, Tensor::Vector(decoded[p].indices).Reshaped(Shape({n, 2})));
      ctx.set_output(paths + p, Tensor::Vector(decoded[p].values));
      ctx.set_output(2 * paths + p, Tensor::Vector(std::vector<int64_t>{batch, decoded[p].longest}));
    }
  }

  const bool merge_;
  const int64_t width_, paths_;
};

Status BeamShape(ShapeContext& c) {
  PartialShape inputs, lengths;
  RETURN_IF_ERROR(ShapeContext::WithRank(c.input(0), 3, &inputs));
  RETURN_IF_ERROR(ShapeContext::WithRank(c.input(1), 1, &lengths));
  int64_t batch = 0, paths = 0;
  RETURN_IF_ERROR(ShapeContext::MergeDim(inputs.dim(1), lengths.dim(0), &batch));
  RETURN_IF_ERROR(c.GetAttr("top_paths", &paths));
  int out = 0;
  for (int64_t p = 0; p < paths; ++p) c.set_output(out++, PartialShape({-1, 2}));
  for (int64_t p = 0; p < paths; ++p) c.set_output(out++, PartialShape({-1}));
  for (int64_t p = 0; p < paths; ++p) c.set_output(out++, PartialShape({2}));
  c.set_output(out, PartialShape({batch, paths}));
  return OkStatus();
}

OP("CTCBeamSearchDecoder")
    .Input("inputs: T")
    .Input("sequence_length: int32")
    .Output("decoded_indices: top_paths * int64")
    .Output("decoded_values: top_paths * int64")
    .Output("decoded_shape: top_paths * int64")
    .Output("log_probability: T")
    .Attr("beam_width: int >= 1")
    .Attr("top_paths: int >= 1")
    .Attr("merge_repeated: bool = true")
    .Attr("T: {float, double} = DT_FLOAT")
    .Shape(BeamShape)
    .NotDifferentiable()
    .Cpu<CtcBeamSearchDecoder>(Types<float, double>{})
    .Expensive()
    .Doc("The most likely sequences of labels over all their alignments, found by beam search.");

}  // namespace
}  // namespace millstream
