// SPDX-License-Identifier: Apache-2.0
#include "millstream/runtime/job_member.h"

#include <cstdlib>
#include <map>
#include <string>

#include "millstream/base/logging.h"
#include "millstream/base/mutex.h"

namespace millstream {
namespace {

struct Registry {
  Mutex mu;
  std::map<std::string, LeaveFunction> by_scheme ABSL_GUARDED_BY(mu);
};

Registry& LeaveFunctions() {
  static auto* const registry = new Registry();
  return *registry;
}

class OutsideClient final : public JobMember {
 public:
  OutsideClient(std::string target, LeaveFunction leave) : target_(std::move(target)), leave_(std::move(leave)) {}

  bool has_ps() const override { return false; }
  bool AnyPsAnswers() const override { return false; }
  bool JobIsDone() const override { return false; }
  void TrainingBegins() override {}
  void TrainingEnded() override {
    if (const Status told = leave_(target_); !told.ok()) {
      LogWarning(absl::StrCat("Cannot tell ", target_, " that this client has ended: ", told.message()));
    }
  }
  Cancellation& stop() override { return stop_; }

 private:
  const std::string target_;
  const LeaveFunction leave_;
  Cancellation stop_;
};

}  // namespace

void RegisterLeaveFunction(const std::string& scheme, LeaveFunction leave) {
  Registry& registry = LeaveFunctions();
  MutexLock lock(registry.mu);
  registry.by_scheme[scheme] = std::move(leave);
}

std::shared_ptr<JobMember> OutsideClientOf(const std::string& target) {
  const size_t end = target.find("://");
  if (end == std::string::npos) return nullptr;
  Registry& registry = LeaveFunctions();
  MutexLock lock(registry.mu);
  const auto it = registry.by_scheme.find(target.substr(0, end));
  return it == registry.by_scheme.end() ? nullptr : std::make_shared<OutsideClient>(target, it->second);
}

bool PsTasksAreKept() {
  const char* keep = std::getenv("MILLSTREAM_KEEP_PS");
  return keep != nullptr && std::string(keep) == "1";
}

}  // namespace millstream
