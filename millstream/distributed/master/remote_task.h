// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_DISTRIBUTED_MASTER_REMOTE_TASK_H_
#define MILLSTREAM_DISTRIBUTED_MASTER_REMOTE_TASK_H_

#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "millstream/distributed/master/cluster_task.h"
#include "millstream/distributed/wire/frame_router.h"
#include "millstream/distributed/wire/rpc.h"

namespace millstream {

// One incarnation of a task in another process, as a caller: calls over a channel, steps over a link, whose answers it
// takes.
class RemoteTask final : public ClusterTask, public FrameReceiver {
 public:
  struct Options {
    std::string name;
    std::string address;
    uint64_t incarnation = 0;
    std::vector<DeviceAttributes> devices;
    std::shared_ptr<RpcChannel> channel;
    std::chrono::milliseconds deadline{30'000};  // of calls
    int64_t max_tensor_bytes = int64_t{64} << 30;
    std::string own_task;  // who we are
    uint64_t own_incarnation = 0;
  };
  // `routes` has the receivers of all other frames that the link brings.
  RemoteTask(Options options, const FrameRouter& routes);
  // REQUIRES: the link (if there is one) has ended.
  ~RemoteTask() override;

  // Serves the link. Once it is dialed, and before the task is used: set_link().
  FrameHandler* handler() { return &router_; }
  void set_link(std::shared_ptr<PeerLink> link);
  const std::shared_ptr<PeerLink>& link() const { return link_; }
  const std::shared_ptr<RpcChannel>& channel() const { return options_.channel; }
  // True once the link has ended and calls nobody any more.
  bool closed() const { return router_.links_ended() > 0; }
  // True while steps or sessions may use it.
  bool alive() const { return alive_.load(std::memory_order_acquire); }

  bool is_local() const override { return false; }
  Status CheckAlive() override;
  Status CreateSession(const TaskSessionSpec& spec) override;
  void DeleteSession(const std::string& session) override;
  StatusOr<uint32_t> Register(const std::string& session, GraphPart part, const std::vector<EdgeTarget>& sends,
                              const std::vector<FromTask>& from) override;
  void Deregister(const std::string& session, uint32_t part) override;
  void Run(PartRun run, uint64_t index, bool may_block) override;
  void Cancel(uint64_t step, const Status& why) override;
  Status Reset(const std::vector<std::string>& containers) override;

  StatusOr<Tensor> Allocate(PeerLink& link, const Frame& frame, uint64_t bytes) override;
  void Receive(PeerLink& link, Frame frame) override;
  void LinkLost(PeerLink& link, const Status& why) override;

 private:
  struct Pending {
    decltype(PartRun::done) done;
    std::vector<std::pair<uint32_t, Tensor>> fetches;  // that came ahead
  };
  Status Call(const char* method, const google::protobuf::Message& request, google::protobuf::Message* response);
  void CallWithoutWaiting(const char* method, const google::protobuf::Message& request,
                          std::shared_ptr<google::protobuf::Message> response);
  void Answer(const Frame& frame);
  void Fetched(Frame& frame);
  void Fail(uint64_t step, const Status& why);

  const Options options_;
  FrameRouter router_;
  std::shared_ptr<PeerLink> link_;
  std::atomic<bool> alive_{true};  // until lost_ is set
  mutable Mutex mu_;
  absl::flat_hash_map<uint64_t, Pending> pending_ ABSL_GUARDED_BY(mu_);  // by step
  Status lost_ ABSL_GUARDED_BY(mu_);
  bool restarted_ ABSL_GUARDED_BY(mu_) = false;
  std::chrono::steady_clock::time_point asked_ ABSL_GUARDED_BY(mu_);  // when we last looked for its successor
};

}  // namespace millstream

#endif  // MILLSTREAM_DISTRIBUTED_MASTER_REMOTE_TASK_H_
