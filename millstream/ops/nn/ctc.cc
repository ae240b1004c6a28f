// SPDX-License-Identifier: Apache-2.0
// Connectionist temporal classification (Graves et al., 2006): sequences of labels whose alignment is not known.
#include <algorithm>
#include <cmath>
#include <limits>

#include "millstream/ops/gradients/gradients.h"

namespace millstream {
namespace {

constexpr double kLogZero = -std::numeric_limits<double>::infinity();

double LogAdd(double a, double b) {
  if (a == kLogZero) return b;
  if (b == kLogZero) return a;
  return std::max(a, b) + std::log1p(std::exp(-std::fabs(a - b)));
}

struct CtcOptions {
  bool collapse = false, merge = true, ignore_longer = false;
};

// The labels of one sequence with blanks around them, and the probabilities of all ways through them.
class Lattice {
 public:
  Lattice(const std::vector<int>& labels, int blank, bool merge) : blank_(blank), merge_(merge) {
    path_.push_back(blank);
    for (const int l : labels) {
      path_.push_back(l);
      path_.push_back(blank);
    }
  }

  // logs[t * classes + k] are logarithms of probabilities. Adds to gradient[t * stride + k]; the negative logarithm of
  // the probability of the labels.
  double Run(const std::vector<double>& logs, int64_t steps, int64_t classes, std::vector<double>* gradient) const {
    const auto n = static_cast<int64_t>(path_.size());
    std::vector<double> alpha(static_cast<size_t>(steps * n), kLogZero), beta = alpha;
    const auto log_at = [&](int64_t t, int64_t u) { return logs[t * classes + path_[u]]; };
    alpha[0] = log_at(0, 0);
    if (n > 1) alpha[1] = log_at(0, 1);
    for (int64_t t = 1; t < steps; ++t) {
      for (int64_t u = 0; u < n; ++u) {
        double sum = Stays(u) ? alpha[(t - 1) * n + u] : kLogZero;
        if (u > 0) sum = LogAdd(sum, alpha[(t - 1) * n + u - 1]);
        if (Skips(u)) sum = LogAdd(sum, alpha[(t - 1) * n + u - 2]);
        alpha[t * n + u] = sum + log_at(t, u);
      }
    }
    for (int64_t u = std::max<int64_t>(n - 2, 0); u < n; ++u) beta[(steps - 1) * n + u] = 0;
    for (int64_t t = steps - 2; t >= 0; --t) {
      for (int64_t u = 0; u < n; ++u) {
        double sum = Stays(u) ? beta[(t + 1) * n + u] + log_at(t + 1, u) : kLogZero;
        if (u + 1 < n) sum = LogAdd(sum, beta[(t + 1) * n + u + 1] + log_at(t + 1, u + 1));
        if (u + 2 < n && Skips(u + 2)) sum = LogAdd(sum, beta[(t + 1) * n + u + 2] + log_at(t + 1, u + 2));
        beta[t * n + u] = sum;
      }
    }
    double total = kLogZero;
    for (int64_t u = 0; u < n; ++u) total = LogAdd(total, alpha[u] + beta[u]);
    for (int64_t t = 0; t < steps; ++t) {
      std::vector<double> by_class(static_cast<size_t>(classes), kLogZero);
      for (int64_t u = 0; u < n; ++u)
        by_class[path_[u]] = LogAdd(by_class[path_[u]], alpha[t * n + u] + beta[t * n + u]);
      for (int64_t k = 0; k < classes; ++k) {
        const double expected = total == kLogZero ? 0 : std::exp(by_class[k] - total);
        (*gradient)[t * classes + k] = std::exp(logs[t * classes + k]) - expected;
      }
    }
    return -total;
  }

 private:
  // Whether a step may repeat place u, and whether it may come from two places before.
  bool Stays(int64_t u) const { return merge_ || path_[u] == blank_; }
  bool Skips(int64_t u) const { return u > 1 && path_[u] != blank_ && !(merge_ && path_[u] == path_[u - 2]); }

  const int blank_;
  const bool merge_;
  std::vector<int> path_;
};

Status CheckSequences(const Tensor& inputs, const Tensor& lengths) {
  if (inputs.rank() != 3) return errors::InvalidArgument("inputs is not a 3-Tensor");
  if (lengths.rank() != 1) return errors::InvalidArgument("sequence_length is not a vector");
  if (inputs.dim(0) == 0) return errors::InvalidArgument("Max time or first dimension of input cannot be 0.");
  return OkStatus();
}

template <typename T>
class CtcLoss : public Kernel {
 public:
  explicit CtcLoss(KernelInit& init) {
    options_.collapse = init.Attr<bool>("preprocess_collapse_repeated");
    options_.merge = init.Attr<bool>("ctc_merge_repeated");
    options_.ignore_longer = init.Attr<bool>("ignore_longer_outputs_than_inputs");
  }

  Status Compute(KernelContext& ctx) override {
    const Tensor &inputs = ctx.input(0), &lengths = ctx.input(3);
    RETURN_IF_ERROR(CheckSequences(inputs, lengths));
    const int64_t steps = inputs.dim(0), batch = inputs.dim(1), classes = inputs.dim(2);
    if (batch == 0) return errors::InvalidArgument("batch_size must not be 0");
    if (classes < 1) return errors::InvalidArgument("inputs must have classes");
    if (lengths.dim(0) != batch) return errors::InvalidArgument("len(sequence_length) != batch_size.");
    std::vector<std::vector<int>> labels(static_cast<size_t>(batch));
    RETURN_IF_ERROR(ReadLabels(ctx.input(1), ctx.input(2), classes, &labels));
    ASSIGN_OR_RETURN(Tensor * loss, ctx.AllocateOutput(0, lengths.shape()));
    ASSIGN_OR_RETURN(Tensor * gradient, ctx.AllocateOutput(1, inputs.shape()));
    std::fill_n(gradient->data<T>(), gradient->num_elements(), T(0));
    std::vector<int64_t> used(static_cast<size_t>(batch), 0);  // steps of each sequence
    for (int64_t b = 0; b < batch; ++b) {
      const int64_t n = lengths.data<int32_t>()[b];
      if (n < 0 || n > steps) return errors::InvalidArgument("sequence_length(", b, ") <= ", steps);
      loss->data<T>()[b] = T(0);
      const int64_t required = Required(labels[b]);
      if (required > n) {
        if (options_.ignore_longer) continue;
        return errors::InvalidArgument("Not enough time for target transition sequence (required: ", required,
                                       ", available: ", n, ")", b,
                                       "You can turn this error into a warning by using the "
                                       "flag ignore_longer_outputs_than_inputs");
      }
      used[b] = n;
    }
    const int64_t labels_per_row = ctx.input(2).num_elements() / batch;
    const double cost = 100.0 * static_cast<double>(steps) * static_cast<double>(labels_per_row + classes);
    ctx.ParallelFor(batch, cost, [&](int64_t begin, int64_t end) {
      for (int64_t b = begin; b < end; ++b) {
        if (used[b] > 0) loss->data<T>()[b] = static_cast<T>(One(inputs, b, used[b], labels[b], gradient));
      }
    });
    return OkStatus();
  }

 private:
  Status ReadLabels(const Tensor& indices, const Tensor& values, int64_t classes,
                    std::vector<std::vector<int>>* labels) const {
    if (indices.rank() != 2 || indices.dim(1) < 2) return errors::InvalidArgument("labels_indices is not a matrix");
    if (values.rank() != 1 || values.dim(0) != indices.dim(0)) {
      return errors::InvalidArgument("labels_indices and labels_values must contain the same number of rows");
    }
    for (int64_t i = 0; i < values.dim(0); ++i) {
      const int64_t b = indices.data<int64_t>()[i * indices.dim(1)];
      const int32_t label = values.data<int32_t>()[i];
      if (b < 0 || b >= static_cast<int64_t>(labels->size())) {
        return errors::InvalidArgument("labels batch index must be between 0 and ", labels->size(), " but saw: ", b);
      }
      if (label < 0 || label >= classes - 1) {
        return errors::InvalidArgument("All labels must be nonnegative integers below ", classes - 1, ", batch: ", b,
                                       " labels: ", label);
      }
      auto& list = (*labels)[b];
      if (options_.collapse && !list.empty() && list.back() == label) continue;
      list.push_back(label);
    }
    return OkStatus();
  }

  // Repeated labels need a blank between them where repetitions are merged.
  int64_t Required(const std::vector<int>& labels) const {
    auto n = static_cast<int64_t>(labels.size());
    for (size_t i = 1; options_.merge && i < labels.size(); ++i) n += labels[i] == labels[i - 1] ? 1 : 0;
    return n;
  }

  double One(const Tensor& inputs, int64_t b, int64_t steps, const std::vector<int>& labels, Tensor* gradient) const {
    const int64_t batch = inputs.dim(1), classes = inputs.dim(2);
    std::vector<double> logs(static_cast<size_t>(steps * classes)), slopes(logs.size());
    for (int64_t t = 0; t < steps; ++t) {
      const T* x = inputs.data<T>() + (t * batch + b) * classes;
      const double high = static_cast<double>(*std::max_element(x, x + classes));
      double sum = 0;
      for (int64_t k = 0; k < classes; ++k) sum += std::exp(static_cast<double>(x[k]) - high);
      for (int64_t k = 0; k < classes; ++k) logs[t * classes + k] = static_cast<double>(x[k]) - high - std::log(sum);
    }
    const Lattice lattice(labels, static_cast<int>(classes) - 1, options_.merge);
    const double loss = lattice.Run(logs, steps, classes, &slopes);
    for (int64_t t = 0; t < steps; ++t) {
      T* to = gradient->data<T>() + (t * batch + b) * classes;
      for (int64_t k = 0; k < classes; ++k) to[k] = static_cast<T>(slopes[t * classes + k]);
    }
    return loss;
  }

  CtcOptions options_;
};

// The best class of each step, without blanks and, if asked, repetitions.
template <typename T>
class CtcGreedyDecoder : public Kernel {
 public:
  explicit CtcGreedyDecoder(KernelInit& init)
      : merge_(init.Attr<bool>("merge_repeated")), blank_(init.Attr<int64_t>("blank_index")) {}

  Status Compute(KernelContext& ctx) override {
    const Tensor &inputs = ctx.input(0), &lengths = ctx.input(1);
    RETURN_IF_ERROR(CheckSequences(inputs, lengths));
    if (inputs.num_elements() == 0) return errors::InvalidArgument("inputs must not be empty");
    const int64_t steps = inputs.dim(0), batch = inputs.dim(1), classes = inputs.dim(2);
    if (lengths.dim(0) != batch) return errors::FailedPrecondition("len(sequence_length) != batch_size.");
    const int64_t blank = blank_ < 0 ? blank_ + classes : blank_;
    if (blank < 0 || blank >= classes) {
      return errors::InvalidArgument("blank_index expected to be between ", -classes, " and ", classes - 1);
    }
    ASSIGN_OR_RETURN(Tensor * scores, ctx.AllocateOutput(3, Shape({batch, 1})));
    std::vector<int64_t> indices, values;
    int64_t longest = 0;
    for (int64_t b = 0; b < batch; ++b) {
      const int64_t n = lengths.data<int32_t>()[b];
      if (n > steps) return errors::FailedPrecondition("sequence_length(", b, ") <= ", steps);
      double score = 0;
      int64_t previous = -1, count = 0;
      for (int64_t t = 0; t < n; ++t) {
        const T* x = inputs.data<T>() + (t * batch + b) * classes;
        const int64_t best = std::max_element(x, x + classes) - x;
        score -= static_cast<double>(x[best]);
        if (best != blank && !(merge_ && best == previous)) {
          indices.insert(indices.end(), {b, count++});
          values.push_back(best);
        }
        previous = best;
      }
      scores->data<T>()[b] = static_cast<T>(score);
      longest = std::max(longest, count);
    }
    const auto n = static_cast<int64_t>(values.size());
    ctx.set_output(0, Tensor::Vector(indices).Reshaped(Shape({n, 2})));
    ctx.set_output(1, Tensor::Vector(values));
    ctx.set_output(2, Tensor::Vector(std::vector<int64_t>{batch, longest}));
    return OkStatus();
  }

 private:
  const bool merge_;
  const int64_t blank_;
};

Status LossShape(ShapeContext& c) {
  PartialShape inputs, indices, values, lengths;
  RETURN_IF_ERROR(ShapeContext::WithRank(c.input(0), 3, &inputs));
  RETURN_IF_ERROR(ShapeContext::WithRank(c.input(1), 2, &indices));
  RETURN_IF_ERROR(ShapeContext::WithRank(c.input(2), 1, &values));
  RETURN_IF_ERROR(ShapeContext::WithRank(c.input(3), 1, &lengths));
  int64_t n = 0, batch = 0;
  RETURN_IF_ERROR(ShapeContext::MergeDim(indices.dim(0), values.dim(0), &n));
  RETURN_IF_ERROR(ShapeContext::MergeDim(inputs.dim(1), lengths.dim(0), &batch));
  inputs.set_dim(1, batch);
  c.set_output(0, PartialShape({batch}));
  c.set_output(1, std::move(inputs));
  return OkStatus();
}
Status GreedyShape(ShapeContext& c) {
  PartialShape inputs, lengths;
  RETURN_IF_ERROR(ShapeContext::WithRank(c.input(0), 3, &inputs));
  RETURN_IF_ERROR(ShapeContext::WithRank(c.input(1), 1, &lengths));
  int64_t batch = 0;
  RETURN_IF_ERROR(ShapeContext::MergeDim(inputs.dim(1), lengths.dim(0), &batch));
  c.set_output(0, PartialShape({-1, 2}));
  c.set_output(1, PartialShape({-1}));
  c.set_output(2, PartialShape({2}));
  c.set_output(3, PartialShape({batch, 1}));
  return OkStatus();
}

Status LossGrad(GradContext& g) {
  const Output column = g.Op("ExpandDims", {g.dy(0), g.scope().Const<int32_t>(-1)});
  g.set_dx(0, GradMath(g).Mul(column, g.output(1)));
  return g.status();
}

OP("CTCLoss")
    .Input("inputs: T")
    .Input("labels_indices: int64")
    .Input("labels_values: int32")
    .Input("sequence_length: int32")
    .Output("loss: T")
    .Output("gradient: T")
    .Attr("preprocess_collapse_repeated: bool = false")
    .Attr("ctc_merge_repeated: bool = true")
    .Attr("ignore_longer_outputs_than_inputs: bool = false")
    .Attr("T: {float, double} = DT_FLOAT")
    .Shape(LossShape)
    .Gradient(LossGrad)
    .Cpu<CtcLoss>(Types<float, double>{})
    .Expensive()
    .Doc("How unlikely sequences of labels are, over all their alignments, and the gradient of that.");

OP("CTCGreedyDecoder")
    .Input("inputs: T")
    .Input("sequence_length: int32")
    .Output("decoded_indices: int64")
    .Output("decoded_values: int64")
    .Output("decoded_shape: int64")
    .Output("log_probability: T")
    .Attr("merge_repeated: bool = false")
    .Attr("blank_index: int = -1")
    .Attr("T: {float, double} = DT_FLOAT")
    .Shape(GreedyShape)
    .NotDifferentiable()
    .Cpu<CtcGreedyDecoder>(Types<float, double>{})
    .Doc("The labels of the best class of each step.");

}  // namespace
}  // namespace millstream
