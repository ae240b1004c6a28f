// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_DISTRIBUTED_GRPC_CLIENT_CONNECTION_H_
#define MILLSTREAM_DISTRIBUTED_GRPC_CLIENT_CONNECTION_H_

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "millstream/base/thread_policy.h"
#include "millstream/distributed/grpc/client_call.h"
#include "millstream/distributed/grpc/connection.h"
#include "millstream/distributed/grpc/tls.h"
#include "millstream/distributed/link/unique_fd.h"

namespace millstream {

// How to reach a server. Shared by the connections of a channel.
struct ClientTarget {
  std::shared_ptr<const std::string> address;
  std::shared_ptr<TlsContext> tls;  // null: no encryption
  RpcChannelOptions options;
};

// A connection to a server. A thread that waits for the answer of its call reads the socket itself, for all calls: that
// saves a wake-up. The client's loop reads for asynchronous calls and while nobody calls.
class ClientConnection final : public Connection {
 public:
  using Clock = std::chrono::steady_clock;

  // Resolves, connects, shakes hands and waits for the server's first word. Blocks. Unavailable, DeadlineExceeded.
  static StatusOr<std::shared_ptr<ClientConnection>> Dial(const ClientTarget& target, Clock::time_point deadline);
  // Over a transport that is connected already.
  ClientConnection(const ClientTarget& target, std::unique_ptr<Transport> transport);

  // Takes no more calls, if false. Never blocks.
  bool usable() const { return usable_.load(std::memory_order_acquire); }

  Status StartCall(const std::shared_ptr<ClientCall>& call, const std::string& path, Clock::time_point deadline);
  // Waits until the call has ended, which it does at its deadline.
  void Await(ClientCall& call, Clock::time_point deadline);
  // A call has been ended from outside.
  void WakeReader();
  // The client's loop reads, from now on. For calls that nobody waits for.
  void LeaveToLoop();

  // Its channel is gone, or has another: closed as soon as its calls have ended.
  void Release();

  // What every stream's headers begin with.
  std::vector<HttpHeader> HeadersFor(absl::string_view path) const;

  // With the lock held, by its calls.
  void Consumed(int32_t stream, size_t bytes) { session_.Consume(stream, bytes); }
  void ResetStream(const Http2Stream& stream);

 private:
  std::shared_ptr<Http2Stream> OnNewStream() override { return nullptr; }
  void OnGoaway(int32_t) override { usable_.store(false, std::memory_order_release); }
  void OnSettings() override;
  void OnClosing(const Status& why) override ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void SetInterest(bool write) override ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void AfterRead() override ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void CheckTimes(int64_t now) override ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  bool needs_keepalive() override ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) { return session_.num_streams() > 0; }

  Status AwaitGreeting(Clock::time_point deadline);
  // Proves that both ends know the job's token. Blocks.
  Status CheckCertificate();
  Status ProveToken(Clock::time_point deadline);
  StatusOr<std::string> TrustCall(const char* path, const std::string& request, Clock::time_point deadline);
  void CloseIfUnused() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void SetArmed(bool armed) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void ReadFor(ClientCall& call, Clock::time_point deadline) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void Poll(bool write, Clock::time_point deadline);

  const ClientTarget target_;
  const UniqueFd wake_;  // for the caller that reads
  std::atomic<bool> usable_{true};
  WaitPolicy wait_policy_;
  CoreContention contention_{1'000'000};

  // Guarded by the lock.
  CondVar changed_;
  bool greeted_ = false;
  bool released_ = false;
  bool armed_ = true;          // the loop reads
  bool caller_reads_ = false;  // a caller does
  bool needs_loop_ = false;    // there are calls that nobody waits for
  int waiters_ = 0;
  Status why_closed_;
};

}  // namespace millstream

#endif  // MILLSTREAM_DISTRIBUTED_GRPC_CLIENT_CONNECTION_H_
