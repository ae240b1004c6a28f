// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_DISTRIBUTED_CLIENT_REMOTE_SESSION_H_
#define MILLSTREAM_DISTRIBUTED_CLIENT_REMOTE_SESSION_H_

#include <atomic>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "millstream/base/mutex.h"
#include "millstream/distributed/client/sent_graph.h"
#include "millstream/distributed/wire/rpc.h"
#include "millstream/runtime/session.h"

namespace millstream {

namespace proto {
class RunStepRequest;
class RunStepResponse;
}  // namespace proto

// A session of a cluster, over TensorFlow's MasterService: NewSession() makes it for targets "grpc://host:port". It
// works with our servers and with TensorFlow's.
//
// The server is first asked when the graph is set, or by the first step. While it cannot be reached, calls wait for it
// and say so every 30 seconds; options.operation_timeout_ms ends the wait. A connection that is lost during a call
// fails it with Unavailable; a server that has been restarted answers Aborted, since it does not know the session.
class RemoteSession final : public Session {
 public:
  // Token and TLS come from the environment (server_options.h). InvalidArgument for a target that makes no sense.
  static StatusOr<std::unique_ptr<Session>> Connect(const SessionOptions& options);
  RemoteSession(const SessionOptions& options, std::shared_ptr<RpcChannel> channel);
  ~RemoteSession() override;

  Status Create(const proto::GraphDef& graph) override;
  Status Extend(const proto::GraphDef& graph) override;
  Status Extend(const Graph& graph) override;
  using Session::Run;
  Status Run(const RunOptions& options, const Feeds& feeds, const std::vector<std::string>& fetches,
             const std::vector<std::string>& targets, std::vector<Tensor>* outputs,
             proto::RunMetadata* metadata) override;
  StatusOr<CallableHandle> MakeCallable(const std::vector<std::string>& feeds, const std::vector<std::string>& fetches,
                                        const std::vector<std::string>& targets) override;
  Status RunCallable(CallableHandle handle, const std::vector<Tensor>& feeds, std::vector<Tensor>* outputs,
                     const RunOptions& options, proto::RunMetadata* metadata) override;
  Status ReleaseCallable(CallableHandle handle) override;
  StatusOr<std::string> PartialRunSetup(const std::vector<std::string>& feeds, const std::vector<std::string>& fetches,
                                        const std::vector<std::string>& targets) override;
  Status PartialRun(const std::string& handle, const Feeds& feeds, const std::vector<std::string>& fetches,
                    std::vector<Tensor>* outputs) override;
  std::vector<DeviceAttributes> ListDevices() override;
  Status Close() override;

 private:
  class RunningCall;
  struct StepMessages;

  // Calls the master, once it can be reached.
  Status Invoke(const char* method, const google::protobuf::Message& request, google::protobuf::Message* response,
                int64_t timeout_ms = 0, Cancellation* cancellation = nullptr);
  Status AwaitServer(const RpcCallOptions& options);
  // The handle of the master's session, which is made with an empty graph if there is none yet.
  StatusOr<std::string> Handle();
  Status CreateLocked(const proto::GraphDef& graph) ABSL_EXCLUSIVE_LOCKS_REQUIRED(graph_mu_);
  Status ExtendLocked(const proto::GraphDef& graph) ABSL_EXCLUSIVE_LOCKS_REQUIRED(graph_mu_);
  Status RunStep(StepMessages& step, const RunOptions& options, const Feeds& feeds,
                 const std::vector<std::string>& fetches, std::vector<Tensor>* outputs, proto::RunMetadata* metadata);
  // Unlike those of other clients, so that the server can tell a repeated request.
  int64_t NewRequestId();
  std::unique_ptr<StepMessages> TakeMessages();
  void GiveBackMessages(std::unique_ptr<StepMessages> messages);

  const SessionOptions options_;
  const std::shared_ptr<RpcChannel> channel_;
  std::atomic<uint64_t> next_request_;

  Mutex graph_mu_;
  std::string handle_ ABSL_GUARDED_BY(graph_mu_);  // "": the master has no session yet
  int64_t graph_version_ ABSL_GUARDED_BY(graph_mu_) = 0;
  SentGraph sent_ ABSL_GUARDED_BY(graph_mu_);

  Mutex mu_;
  CondVar calls_ended_;
  std::vector<Cancellation*> running_ ABSL_GUARDED_BY(mu_);
  bool closed_ ABSL_GUARDED_BY(mu_) = false;
  std::vector<std::unique_ptr<StepMessages>> messages_ ABSL_GUARDED_BY(mu_);  // their memory is used again
  struct Callable {
    std::vector<std::string> feeds, fetches, targets;
  };
  std::unordered_map<CallableHandle, std::shared_ptr<const Callable>> callables_ ABSL_GUARDED_BY(mu_);
};

// Clears the containers (all if none is named) of all tasks of the cluster at `target`; its sessions are gone
// afterwards. As tf.Session.reset().
Status ResetRemote(const SessionOptions& options, const std::vector<std::string>& containers);

}  // namespace millstream

#endif  // MILLSTREAM_DISTRIBUTED_CLIENT_REMOTE_SESSION_H_
