// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_DISTRIBUTED_GRPC_CLIENT_CALL_H_
#define MILLSTREAM_DISTRIBUTED_GRPC_CLIENT_CALL_H_

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "millstream/base/timer_queue.h"
#include "millstream/distributed/grpc/http2_session.h"
#include "millstream/distributed/grpc/message.h"
#include "millstream/distributed/wire/rpc.h"

namespace millstream {

class ClientConnection;

// One call at the client, from its request to what came back. It ends once, by the answer, a lost connection, its
// deadline or its cancellation, whichever is first; the first two with the connection's lock held.
class ClientCall final : public Http2Stream, public std::enable_shared_from_this<ClientCall> {
 public:
  // `address` names the server in errors.
  ClientCall(std::shared_ptr<const std::string> address, OutgoingMessage request, google::protobuf::Message* response);

  // Of asynchronous calls: called with the outcome, on a thread of the client's loop. Before the call is started.
  void SetDone(std::function<void(Status)> done) { done_ = std::move(done); }
  // Of asynchronous calls: what starts the call again where the server has not looked at it.
  void SetRetry(std::function<void()> retry) { retry_ = std::move(retry); }
  // Whose cancellation ends the call. The call must be held by a shared_ptr.
  void Watch(Cancellation* cancellation);
  // Ends the call after that time, by a timer.
  void SetDeadline(std::chrono::steady_clock::time_point deadline);

  // On this connection. Unavailable if it takes no more calls: nothing has been sent, so another may be tried.
  Status Start(const std::shared_ptr<ClientConnection>& connection, const std::string& path,
               std::chrono::steady_clock::time_point deadline);
  // Ends the call from outside, unless it has ended; the server is told.
  void GiveUp(const Status& why);
  // Ends a call that was never started.
  void Fail(const Status& why) { End(why); }

  // The server has not looked at the call, since it closes the connection: another may be tried.
  bool was_refused() const { return was_refused_; }
  bool ended() const { return ended_.load(std::memory_order_acquire); }
  // The outcome; parses the answer. REQUIRES: ended(). Once.
  Status TakeOutcome();

  void OnHeader(absl::string_view name, absl::string_view value) override;
  void OnHeadersComplete(bool too_large) override;
  void OnData(const char* data, size_t size) override;
  void OnEnd() override;
  void OnClosed(uint32_t error) override;
  void OnLost(const Status& why) override;
  size_t Pending(size_t max, bool* last) override;
  void TakePending(size_t bytes, OutQueue* out) override;

 private:
  void End(Status status);
  // What the answer says, when the server has nothing more to say.
  Status Answered(const Status& otherwise) const;

  const std::shared_ptr<const std::string> address_;
  google::protobuf::Message* const response_;
  Cancellation* cancellation_ = nullptr;
  Cancellation::Token token_ = 0;
  TimerQueue::Id deadline_ = 0;
  std::function<void(Status)> done_;
  std::function<void()> retry_;

  // Guarded by the connection's lock.
  friend class ClientConnection;
  ClientConnection* owner_ = nullptr;
  OutgoingMessage request_;
  size_t sent_ = 0;
  bool closed_ = false, was_refused_ = false;
  IncomingMessage answer_;
  std::string http_status_, code_, message_;
  Status broken_;  // the answer is not what it should be

  Mutex mu_;
  std::weak_ptr<ClientConnection> connection_ ABSL_GUARDED_BY(mu_);
  bool ending_ ABSL_GUARDED_BY(mu_) = false;
  Status outcome_;  // constant once ended_
  std::atomic<bool> ended_{false};
};

}  // namespace millstream

#endif  // MILLSTREAM_DISTRIBUTED_GRPC_CLIENT_CALL_H_
