// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_DISTRIBUTED_MASTER_RENAMED_TASK_H_
#define MILLSTREAM_DISTRIBUTED_MASTER_RENAMED_TASK_H_

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/strip.h"
#include "millstream/distributed/master/cluster_task.h"

namespace millstream {

// A task under the name that one session's cluster gives it (session_cluster.h).
class RenamedTask final : public ClusterTask {
 public:
  RenamedTask(std::string name, std::shared_ptr<ClusterTask> task)
      : ClusterTask(name, task->incarnation(), Renamed(*task, name)), task_(std::move(task)) {}

  bool is_local() const override { return task_->is_local(); }
  Status CheckAlive() override {
    Status status = task_->CheckAlive();
    return status.ok() ? status : WithContext(status, name());
  }
  Status CreateSession(const TaskSessionSpec& spec) override {
    TaskSessionSpec renamed = spec;
    renamed.task = name();
    return task_->CreateSession(renamed);
  }
  void DeleteSession(const std::string& session) override { task_->DeleteSession(session); }
  StatusOr<uint32_t> Register(const std::string& session, GraphPart part, const std::vector<EdgeTarget>& sends,
                              const std::vector<FromTask>& from) override {
    return task_->Register(session, std::move(part), sends, from);
  }
  void Deregister(const std::string& session, uint32_t part) override { task_->Deregister(session, part); }
  void Run(PartRun run, uint64_t index, bool may_block) override { task_->Run(std::move(run), index, may_block); }
  void Cancel(uint64_t step, const Status& why) override { task_->Cancel(step, why); }
  Status Reset(const std::vector<std::string>& containers) override { return task_->Reset(containers); }

 private:
  static std::vector<DeviceAttributes> Renamed(const ClusterTask& task, const std::string& name) {
    std::vector<DeviceAttributes> devices = task.devices();
    for (DeviceAttributes& device : devices)
      device.name = absl::StrCat(name, absl::StripPrefix(device.name, task.name()));
    return devices;
  }

  const std::shared_ptr<ClusterTask> task_;
};

}  // namespace millstream

#endif  // MILLSTREAM_DISTRIBUTED_MASTER_RENAMED_TASK_H_
