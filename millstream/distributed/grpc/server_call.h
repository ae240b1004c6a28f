// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_DISTRIBUTED_GRPC_SERVER_CALL_H_
#define MILLSTREAM_DISTRIBUTED_GRPC_SERVER_CALL_H_

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "millstream/base/timer_queue.h"
#include "millstream/distributed/grpc/http2_session.h"
#include "millstream/distributed/grpc/message.h"
#include "millstream/distributed/grpc/server_method.h"
#include "millstream/distributed/wire/run_elsewhere.h"

namespace millstream {

class GrpcServer;
class ServerConnection;

// One request at a server: its headers, which decide whether it is let in before any of its body is kept, its message,
// the handler's run and the answer. It lives as long as the stream is open and until it is finished.
class ServerCall final : public RpcCall,
                         public CallWithThreads,
                         public Http2Stream,
                         public std::enable_shared_from_this<ServerCall> {
 public:
  ServerCall(GrpcServer* server, std::shared_ptr<ServerConnection> connection);
  ~ServerCall() override;

  google::protobuf::Message& request() override { return *messages_.request; }
  google::protobuf::Message& response() override { return *messages_.response; }
  std::string peer() override;
  bool peer_is_loopback() override;
  Role role() override { return role_; }
  absl::string_view metadata(absl::string_view key) override;
  Cancellation* cancellation() override { return &cancellation_; }
  void RunElsewhere(CallWait wait, std::function<void()> work) override;
  void Finish(Status status) override;
  uint64_t connection_number() override;
  std::weak_ptr<const void> connection() override { return connection_; }

  // Ends it with an error, before the handler has been called. With the connection's lock held.
  void Refuse(const Status& why);
  // Gives the stream to `other`; false if it is over. With the connection's lock held.
  bool HandOver(std::shared_ptr<Http2Stream> other);
  ServerConnection& server_connection() { return *connection_; }

  void OnHeader(absl::string_view name, absl::string_view value) override;
  void OnHeadersComplete(bool too_large) override;
  void OnData(const char* data, size_t size) override;
  void OnEnd() override;
  void OnClosed(uint32_t error) override;
  void OnLost(const Status& why) override;
  void OnStop(const Status& why, bool at_once) override;
  size_t Pending(size_t max, bool* last) override;
  void TakePending(size_t bytes, OutQueue* out) override;
  std::span<const HttpHeader> trailers() override;

 private:
  // Whether the headers let the call in. The answer may have been given already.
  Status Admit();
  bool IsGrpc();
  void StartDeadline();
  void Run();
  Status Prepare();
  // Cancelled or DeadlineExceeded if nobody waits for the answer any more.
  Status CheckWanted();
  void CancelLater(const Status& why);
  void Answer(const Status& status, OutgoingMessage message);

  struct Metadata {
    uint32_t name_end, value_end;  // in metadata_
  };

  GrpcServer* const server_;
  const std::shared_ptr<ServerConnection> connection_;
  Cancellation cancellation_;

  // Of the connection's lock, until the handler runs.
  std::string metadata_;  // names and values, one after the other
  absl::InlinedVector<Metadata, 16> entries_;
  std::string path_;
  Role role_ = Role::kObserver;
  ServerMethod* method_ = nullptr;
  std::optional<IncomingMessage> message_;
  bool has_headers_ = false, refused_ = false, ended_ = false, over_ = false, entered_ = false, opened_ = false;
  TimerQueue::Id deadline_ = 0;

  // Of whoever answers.
  ServerMethod::Messages messages_;
  size_t request_bytes_ = 0;
  std::shared_ptr<ServerCall> self_;  // from the handler's begin to Finish()
  std::atomic<bool> finished_{false};
  std::atomic<bool> given_up_{false};  // cancellation_ is about to say so

  // Of the connection's lock: the answer.
  OutgoingMessage answer_;
  size_t sent_ = 0;
};

}  // namespace millstream

#endif  // MILLSTREAM_DISTRIBUTED_GRPC_SERVER_CALL_H_
