// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_DISTRIBUTED_GRPC_CHANNEL_H_
#define MILLSTREAM_DISTRIBUTED_GRPC_CHANNEL_H_

#include <grpc/grpc.h>

#include <memory>
#include <shared_mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "millstream/base/mutex.h"
#include "millstream/distributed/grpc/event_loop.h"
#include "millstream/distributed/wire/rpc.h"

namespace millstream {

// The threads of all asynchronous calls and streams that this process makes, which hold it while they last. They live
// as long as it does: a channel may be let go of by one of them.
EventLoop& ClientLoop();

class GrpcChannel final : public RpcChannel {
 public:
  GrpcChannel(const std::string& address, const RpcChannelOptions& options, grpc_channel_credentials* credentials);
  ~GrpcChannel() override;

  Status Call(const std::string& path, const google::protobuf::Message& request, google::protobuf::Message* response,
              const RpcCallOptions& options) override;
  void CallAsync(const std::string& path, const google::protobuf::Message& request, google::protobuf::Message* response,
                 const RpcCallOptions& options, std::function<void(Status)> done) override;
  Status AwaitServer(const RpcCallOptions& options) override;
  bool connected() override;
  const std::string& address() const override { return *address_; }

  grpc_call* StartCall(const std::string& path, grpc_completion_queue* queue, const RpcCallOptions& options);
  // What is sent with every call: the token, if there is one.
  size_t num_metadata() const { return token_.empty() ? 0 : 1; }
  grpc_metadata* metadata() { return &token_metadata_; }

 private:
  void* RegisteredCall(const std::string& path);
  grpc_completion_queue* TakeQueue();
  void GiveBackQueue(grpc_completion_queue* queue);

  const std::shared_ptr<const std::string> address_;  // calls that outlive the channel name it too
  const std::string token_;
  grpc_metadata token_metadata_;
  grpc_channel* channel_;

  std::shared_mutex paths_mu_;
  std::unordered_map<std::string, void*> paths_;

  Mutex mu_;
  std::vector<grpc_completion_queue*> queues_ ABSL_GUARDED_BY(mu_);  // of blocking calls
};

}  // namespace millstream

#endif  // MILLSTREAM_DISTRIBUTED_GRPC_CHANNEL_H_
