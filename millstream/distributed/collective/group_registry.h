// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_DISTRIBUTED_COLLECTIVE_GROUP_REGISTRY_H_
#define MILLSTREAM_DISTRIBUTED_COLLECTIVE_GROUP_REGISTRY_H_

#include <map>
#include <string>
#include <vector>

#include "millstream/base/mutex.h"
#include "millstream/collective/op_hub.h"
#include "millstream/distributed/collective/group_note.h"

namespace millstream {

// What the leader of a cluster knows of its groups of collective ops: members register here, and the tasks of a
// complete group are told who is in it. Thread-safe.
class GroupRegistry {
 public:
  // `addresses`: of all tasks of the cluster, for messages.
  explicit GroupRegistry(std::map<std::string, std::string> addresses);

  struct Outgoing {
    std::string task;
    GroupNote note;
  };
  // A note of kind kJoin from `task`: what is to be told to whom.
  std::vector<Outgoing> Join(const std::string& task, const GroupNote& note);
  // Of kind kLeave: a member no longer waits.
  void Leave(const std::string& task, const GroupNote& note);
  void TaskLost(const std::string& task);
  // Whether a member of the task is known to wait for the group to be formed.
  bool HasJoined(const std::string& task, const std::string& group);
  // Who has registered for a group that is not complete, and who of the cluster has not.
  std::string MissingIn(const std::string& group);

 private:
  using Members = std::map<std::string, std::string, collective::OpRound::Less>;  // with their tasks
  struct Joining {
    int size = 0;
    Members members;
  };
  struct Formed {
    uint64_t epoch = 0;
    Members members;
  };
  void DissolveOther(const std::string& task, const GroupNote& note, std::vector<Outgoing>* out)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void Form(const std::string& group, const Joining& joining, std::vector<Outgoing>* out)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  const std::map<std::string, std::string> addresses_;
  Mutex mu_;
  std::map<std::string, Joining> joining_ ABSL_GUARDED_BY(mu_);
  std::map<std::string, Formed> formed_ ABSL_GUARDED_BY(mu_);
  uint64_t last_epoch_ ABSL_GUARDED_BY(mu_);
};

// "worker:3" for "/job:worker/replica:0/task:3".
std::string ShortTaskName(const std::string& task);

}  // namespace millstream

#endif  // MILLSTREAM_DISTRIBUTED_COLLECTIVE_GROUP_REGISTRY_H_
