// SPDX-License-Identifier: Apache-2.0
#include "millstream/train/input/input_queue.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "millstream/train/input/queue_runner.h"
#include "millstream/train/variables/variables.h"

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
  const char* name = shuffles                                    ? "random_shuffle_queue"
                     : absl::StartsWith(options.type, "Padding") ? "padding_fifo_queue"
                                                                 : "fifo_queue";
  Node* queue = s.WithOpName(name).Add(options.type, {}, std::move(attrs));
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
  const std::string name = from == 0 ? absl::StrCat("fraction_of_", to, "_full")
                                     : absl::StrCat("fraction_over_", from, "_of_", to - from, "_full");
  const Scope s = scope.NameScope(name);
  Output size = s.Op("QueueSizeV2", {queue});
  if (from > 0) size = s.Op("Maximum", {s.Op("Sub", {size, s.Const(static_cast<int32_t>(from))}), s.Const<int32_t>(0)});
  const float share = 1.0f / static_cast<float>(std::max<int64_t>(1, to - from));
  const Output full = s.Op("Mul", {CastTo(s, size, DType::kFloat), s.Const(share)});
  const std::string tag = s.name_prefix().substr(0, s.name_prefix().size() - 1);
  const Output tags = s.WithOpName("tags").Const(Tensor::Scalar(tag));
  const Output summary = s.WithOpName(s.name_prefix()).Op("ScalarSummary", {tags, full});
  if (s.ok()) s.AddToCollection(graph_keys::kSummaries, summary);
}

}  // namespace millstream
