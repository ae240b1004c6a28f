// SPDX-License-Identifier: Apache-2.0
#include "millstream/runtime/job_member.h"

#include <cstdlib>
#include <map>

#include "millstream/base/mutex.h"

namespace millstream {
namespace {

struct Members {
  Mutex mu;
  std::map<std::string, std::shared_ptr<JobMember>> by_target ABSL_GUARDED_BY(mu);
  static Members& Global() {
    static auto* const members = new Members;  // sessions may look until the process ends
    return *members;
  }
};

}  // namespace

std::shared_ptr<JobMember> FindJobMember(const std::string& target) {
  Members& members = Members::Global();
  MutexLock lock(members.mu);
  const auto it = members.by_target.find(target);
  return it == members.by_target.end() ? nullptr : it->second;
}

void SetJobMember(const std::string& target, std::shared_ptr<JobMember> member) {
  Members& members = Members::Global();
  MutexLock lock(members.mu);
  if (member == nullptr) {
    members.by_target.erase(target);
  } else {
    members.by_target[target] = std::move(member);
  }
}

bool PsTasksAreKept() {
  const char* keep = std::getenv("MILLSTREAM_KEEP_PS");
  return keep != nullptr && std::string(keep) == "1";
}

}  // namespace millstream
