// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_DISTRIBUTED_MASTER_CLUSTER_TASK_H_
#define MILLSTREAM_DISTRIBUTED_MASTER_CLUSTER_TASK_H_

#include <memory>
#include <string>
#include <vector>

#include "millstream/distributed/worker/worker.h"
#include "millstream/graph/placement/partition.h"
#include "millstream/proto/config.pb.h"

namespace millstream {

// What a session needs at a task.
struct TaskSessionSpec {
  std::string name;
  proto::ConfigProto config;
  SessionOptions options;  // the same, read
  std::string task;        // the task's name in the session, if `config` brings a cluster; "": its own
  std::string master;      // likewise the master's name
  bool isolate_state = false;
  std::shared_ptr<FunctionLibrary> library;
};

// Where a cut edge leads.
struct EdgeTarget {
  uint32_t id = 0;
  std::string task;  // as the session names it
  uint64_t incarnation = 0;
};

// One incarnation of a task of the cluster, as masters use it. Calls that may block do so up to the protocol's
// deadline; errors name the task. Thread-safe.
class ClusterTask {
 public:
  virtual ~ClusterTask() = default;

  const std::string& name() const { return name_; }
  uint64_t incarnation() const { return incarnation_; }
  const std::vector<DeviceAttributes>& devices() const { return devices_; }
  virtual bool is_local() const = 0;
  // OK while this incarnation can be reached; afterwards Unavailable (it is gone) or Aborted (it was restarted). May
  // ask the network once it is lost.
  virtual Status CheckAlive() = 0;

  virtual Status CreateSession(const TaskSessionSpec& spec) = 0;  // may block
  virtual void DeleteSession(const std::string& session) = 0;     // does not wait
  virtual StatusOr<uint32_t> Register(const std::string& session, GraphPart part, const std::vector<EdgeTarget>& sends,
                                      const std::vector<FromTask>& from) = 0;  // may block
  virtual void Deregister(const std::string& session, uint32_t part) = 0;      // does not wait
  // `index` is the part's place in the caller's plan. `may_block`: the calling thread has nothing better to do.
  virtual void Run(PartRun run, uint64_t index, bool may_block) = 0;
  virtual void Cancel(uint64_t step, const Status& why) = 0;
  virtual Status Reset(const std::vector<std::string>& containers) = 0;  // may block

 protected:
  ClusterTask(std::string name, uint64_t incarnation, std::vector<DeviceAttributes> devices)
      : name_(std::move(name)), incarnation_(incarnation), devices_(std::move(devices)) {}

 private:
  const std::string name_;
  const uint64_t incarnation_;
  const std::vector<DeviceAttributes> devices_;
};

// The task of this process.
class LocalTask final : public ClusterTask {
 public:
  explicit LocalTask(Worker* worker)
      : ClusterTask(worker->task(), worker->incarnation(), worker->devices()), worker_(worker) {}

  bool is_local() const override { return true; }
  Status CheckAlive() override { return OkStatus(); }
  Status CreateSession(const TaskSessionSpec& spec) override;
  void DeleteSession(const std::string& session) override { worker_->DeleteSession(session).IgnoreError(); }
  StatusOr<uint32_t> Register(const std::string& session, GraphPart part, const std::vector<EdgeTarget>& sends,
                              const std::vector<FromTask>& from) override;
  void Deregister(const std::string& session, uint32_t part) override {
    worker_->Deregister(session, part).IgnoreError();
  }
  void Run(PartRun run, uint64_t, bool may_block) override { worker_->Run(std::move(run), may_block); }
  void Cancel(uint64_t step, const Status& why) override { worker_->Cancel(step, why); }
  Status Reset(const std::vector<std::string>& containers) override {
    worker_->Reset(containers);
    return OkStatus();
  }

 private:
  Worker* const worker_;
};

}  // namespace millstream

#endif  // MILLSTREAM_DISTRIBUTED_MASTER_CLUSTER_TASK_H_
