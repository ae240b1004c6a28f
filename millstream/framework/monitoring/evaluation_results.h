// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_FRAMEWORK_MONITORING_EVALUATION_RESULTS_H_
#define MILLSTREAM_FRAMEWORK_MONITORING_EVALUATION_RESULTS_H_

#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include "absl/strings/string_view.h"
#include "millstream/base/mutex.h"

namespace millstream {

// One number that an evaluation found: {"eval", "accuracy", 0.93, 1000}.
struct EvaluationResult {
  std::string run;  // which evaluation, as TensorBoard names it: the last part of the event folder's path
  std::string tag;
  double value = 0;
  int64_t step = -1;  // the global step that was evaluated; -1: unknown
};

// Results of evaluations in this process, from whoever evaluates to whoever shows them. Event files belong to a
// process, not to a server in it, and so does this. Nothing is stored here; without listeners a report is dropped.
// Thread-safe.
class EvaluationResults {
 public:
  static EvaluationResults& OfProcess();

  using Listener = std::function<void(const EvaluationResult&)>;
  // Listeners are called under a lock, must not block, and may not add or remove listeners.
  int AddListener(Listener listener);
  // The listener does not run any more once this has returned.
  void RemoveListener(int id);
  void Report(const EvaluationResult& result);

  // The run that an event folder stands for: "eval" for "/logs/mnist/eval". "" if it is not named as folders of
  // evaluations are: eval, test, val, valid or validation, alone or with more after it ("eval_holdout", "test-2").
  static std::string RunOf(absl::string_view folder);

 private:
  Mutex mu_;
  int next_id_ ABSL_GUARDED_BY(mu_) = 0;
  std::map<int, Listener> listeners_ ABSL_GUARDED_BY(mu_);
};

}  // namespace millstream

#endif  // MILLSTREAM_FRAMEWORK_MONITORING_EVALUATION_RESULTS_H_
