// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_DISTRIBUTED_TESTING_DIRECT_CALL_H_
#define MILLSTREAM_DISTRIBUTED_TESTING_DIRECT_CALL_H_

#include <memory>
#include <string>

#include "millstream/base/notification.h"
#include "millstream/distributed/wire/rpc.h"

namespace millstream::testing {

// A call of a service's method without a network.
class DirectCall final : public RpcCall {
 public:
  // A connection that a call comes over; it ends with its last copy.
  struct Connection {
    uint64_t number = 0;
  };
  explicit DirectCall(const RpcMethod& method, const std::shared_ptr<const Connection>& connection = nullptr)
      : request_(method.request->New()),
        response_(method.response->New()),
        connection_number_(connection == nullptr ? 0 : connection->number),
        connection_(connection) {}

  google::protobuf::Message& request() override { return *request_; }
  google::protobuf::Message& response() override { return *response_; }
  std::string peer() override { return "direct"; }
  bool peer_is_loopback() override { return true; }
  absl::string_view metadata(absl::string_view) override { return ""; }
  uint64_t connection_number() override { return connection_number_; }
  std::weak_ptr<const void> connection() override { return connection_; }
  Cancellation* cancellation() override { return &cancellation_; }
  void Finish(Status status) override {
    status_ = std::move(status);
    finished_.Notify();
  }
  // The answer; waits for it.
  Status Run(const RpcMethod& method) {
    method.run(*this);
    finished_.Wait();
    return status_;
  }

 private:
  const std::unique_ptr<google::protobuf::Message> request_;
  const std::unique_ptr<google::protobuf::Message> response_;
  const uint64_t connection_number_;
  const std::weak_ptr<const Connection> connection_;  // it may end before the call does
  Cancellation cancellation_;
  Notification finished_;
  Status status_;
};

}  // namespace millstream::testing

#endif  // MILLSTREAM_DISTRIBUTED_TESTING_DIRECT_CALL_H_
