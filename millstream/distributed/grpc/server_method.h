// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_DISTRIBUTED_GRPC_SERVER_METHOD_H_
#define MILLSTREAM_DISTRIBUTED_GRPC_SERVER_METHOD_H_

#include <memory>
#include <utility>
#include <vector>

#include "millstream/base/mutex.h"
#include "millstream/distributed/wire/rpc.h"

namespace millstream {

// A method of a running server, and the messages that its calls use again and again. Thread-safe.
class ServerMethod {
 public:
  struct Messages {
    std::unique_ptr<google::protobuf::Message> request, response;
  };

  explicit ServerMethod(RpcMethod method) : method_(std::move(method)) {}

  const RpcMethod& method() const { return method_; }

  Messages Take() {
    {
      MutexLock lock(mu_);
      if (!kept_.empty()) {
        Messages messages = std::move(kept_.back());
        kept_.pop_back();
        return messages;
      }
    }
    return {std::unique_ptr<google::protobuf::Message>(method_.request->New()),
            std::unique_ptr<google::protobuf::Message>(method_.response->New())};
  }
  // `bytes` is what they held: larger ones are not kept.
  void GiveBack(Messages messages, size_t bytes) {
    if (bytes > kMaxKeptBytes) return;
    messages.request->Clear();
    messages.response->Clear();
    MutexLock lock(mu_);
    if (kept_.size() < kMaxKept) kept_.push_back(std::move(messages));
  }

 private:
  static constexpr size_t kMaxKept = 8;
  static constexpr size_t kMaxKeptBytes = size_t{16} << 20;

  const RpcMethod method_;
  Mutex mu_;
  std::vector<Messages> kept_ ABSL_GUARDED_BY(mu_);  // the last ones used are used first: they are in the cache
};

}  // namespace millstream

#endif  // MILLSTREAM_DISTRIBUTED_GRPC_SERVER_METHOD_H_
