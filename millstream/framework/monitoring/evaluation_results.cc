// SPDX-License-Identifier: Apache-2.0
#include "millstream/framework/monitoring/evaluation_results.h"

#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/strip.h"

namespace millstream {

EvaluationResults& EvaluationResults::OfProcess() {
  static auto* results = new EvaluationResults;
  return *results;
}

int EvaluationResults::AddListener(Listener listener) {
  MutexLock lock(mu_);
  listeners_.emplace(next_id_, std::move(listener));
  return next_id_++;
}

void EvaluationResults::RemoveListener(int id) {
  MutexLock lock(mu_);
  listeners_.erase(id);
}

void EvaluationResults::Report(const EvaluationResult& result) {
  MutexLock lock(mu_);
  for (const auto& [id, listener] : listeners_) listener(result);
}

std::string EvaluationResults::RunOf(absl::string_view folder) {
  while (absl::ConsumeSuffix(&folder, "/")) {
  }
  const absl::string_view name = folder.substr(folder.rfind('/') + 1);  // npos + 1 is 0
  const std::string lower = absl::AsciiStrToLower(name);
  for (const absl::string_view word : {"evaluation", "eval", "testing", "test", "validation", "valid", "val"}) {
    absl::string_view rest = lower;
    if (absl::ConsumePrefix(&rest, word) && (rest.empty() || !absl::ascii_isalpha(rest.front())))
      return std::string(name);
  }
  return "";
}

}  // namespace millstream
