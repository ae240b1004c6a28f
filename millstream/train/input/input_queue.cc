// SPDX-License-Identifier: Apache-2.0
#include "millstream/train/input/input_queue.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "millstream/train/input/queue_runner.h"
#include "millstream/train/operators/operators.h"

namespace millstream {

Output MakeInputQueue(const Scope& s, const InputQueue& options) {
  if (!s.ok()) return {};
  const bool shuffles = absl::StartsWith(options.type, "Random");
  if (options.capacity <= 0 || options.min_after_dequeue < 0 ||
      (shuffles && options.capacity <= options.min_after_dequeue)) {
    s.Fail(errors::InvalidArgument("capacity ", options.capacity, " must be above min_after_dequeue ",
                                   options.min_after_dequeue));
    return {};
  }
  std::vector<std::pair<std::string, AttrValue>> attrs = {{"component_types", options.types},
                                                          {"shapes", options.shapes},
                                                          {"capacity", options.capacity},
                                                          {"shared_name", options.shared_name}};
  if (shuffles) {
    attrs.emplace_back("min_after_dequeue", options.min_after_dequeue);
    attrs.emplace_back("seed", int64_t{options.seed ? 87654321 : 0});
    attrs.emplace_back("seed2", options.seed.value_or(0));
  }
  const char* base = shuffles                                    ? "random_shuffle_queue"
                     : absl::StartsWith(options.type, "Padding") ? "padding_fifo_queue"
                                                                 : "fifo_queue";
  Node* queue = s.WithOpName(options.name.empty() ? base : options.name).Add(options.type, {}, std::move(attrs));
  return queue == nullptr ? Output() : Output(queue);
}

void RunQueue(const Scope& s, Output queue, const std::vector<Node*>& enqueue_ops) {
  if (!s.ok()) return;
  const StatusOr<QueueRunner> runner = QueueRunner::Make(s, queue, enqueue_ops);
  if (!runner.ok()) {
    s.Fail(runner.status());
  } else if (Status added = AddQueueRunner(s, *runner); !added.ok()) {
    s.Fail(added);
  }
}

void SummarizeFullness(const Scope& scope, Output queue, int64_t from, int64_t to) {
  if (!scope.ok()) return;
  const bool shuffles = queue.node->Is("RandomShuffleQueueV2");
  const std::string name = shuffles ? absl::StrCat("fraction_over_", from, "_of_", to - from, "_full")
                                    : absl::StrCat("fraction_of_", to, "_full");
  Output size = scope.WithOpName(QueueOpName(queue, "Size")).Op("QueueSizeV2", {queue});
  if (shuffles) {
    const Output more = operators::Sub(scope, size, static_cast<int>(from));
    size = OpNamed(scope, "", "Maximum", {0, more});
  }
  const double share = 1.0 / static_cast<double>(std::max<int64_t>(1, to - from));
  const Output full = operators::Mul(scope, CastTo(scope, size, DType::kFloat), share);
  const Scope s = scope.NameScope(name);
  const std::string tag = s.name_prefix().substr(0, s.name_prefix().size() - 1);
  const Output summary = OpNamed(s, s.name_prefix(), "ScalarSummary", {Tensor::Scalar(tag), full});
  if (s.ok()) s.AddToCollection(graph_keys::kSummaries, summary);
}

}  // namespace millstream
