// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_DISTRIBUTED_GRPC_CONNECTION_H_
#define MILLSTREAM_DISTRIBUTED_GRPC_CONNECTION_H_

#include <atomic>
#include <memory>
#include <string>

#include "absl/container/inlined_vector.h"
#include "absl/functional/any_invocable.h"
#include "millstream/base/mutex.h"
#include "millstream/distributed/grpc/http2_session.h"
#include "millstream/distributed/grpc/out_queue.h"
#include "millstream/distributed/grpc/reader_loop.h"
#include "millstream/distributed/grpc/ticker.h"
#include "millstream/distributed/grpc/transport.h"
#include "millstream/distributed/link/liveness.h"

namespace millstream {

// An HTTP/2 connection over a socket: the session and whatever writes to it are guarded by one lock; any thread may
// write, directly to the socket as far as that takes it. What bytes that arrive ask for (handlers, answers of calls,
// cancellations) is deferred until the lock is released.
class Connection : public ReaderLoop::Member,
                   public Ticked,
                   protected Http2Session::Owner,
                   public std::enable_shared_from_this<Connection> {
 public:
  using Work = absl::AnyInvocable<void()>;

  // `peer`: its address, for messages.
  Connection(ReaderLoop* loop, std::unique_ptr<Transport> transport, Http2Session::Side side,
             const ConnectionLimits& limits, std::string peer);
  ~Connection() override = default;

  // Joins the loop. Once.
  void Start();

  // Runs `use` with the lock held, which may use the session, then sends what it submitted. False, without a call, if
  // the connection is closed.
  template <typename Use>
  bool With(const Use& use) {
    MutexLock lock(mu_);
    if (closed_) return false;
    use(session_);
    Flush();
    PostDeferred();
    return true;
  }
  // The same whether it is closed or not; nothing is sent.
  template <typename Use>
  void Locked(const Use& use) {
    MutexLock lock(mu_);
    use();
    PostDeferred();
  }
  // Runs `work` after the lock is released, on a thread of the loop. REQUIRES: within With() or a call of a stream.
  void Defer(Work work) { deferred_.push_back(std::move(work)); }
  // The same for what may take longer, after all that is deferred and in any order. For calls that have arrived.
  void DeferHandler(Work work) { handlers_.push_back(std::move(work)); }

  // Loses all streams, for this reason.
  void Close(const Status& why);
  bool closed();
  // Nothing waits for the socket.
  bool flushed();

  const std::string& peer() const { return peer_; }
  ReaderLoop* loop() const { return loop_; }

  void OnReady(uint32_t events) override;
  void Tick() override;

 protected:
  using WorkList = absl::InlinedVector<Work, 4>;
  void RunHandlers(WorkList handlers);

  // All with the lock held.
  // Reads once and takes what came; true: there may be more.
  bool ReadSome() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void Flush() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void CloseLocked(const Status& why) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void PostDeferred() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  virtual void SetInterest(bool write) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // After each read of OnReady().
  virtual void AfterRead() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {}
  virtual void OnHandshakeDone() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {}
  virtual void OnClosing(const Status& /*why*/) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {}
  // More than the keepalive: what else may have lasted too long.
  virtual void CheckTimes(int64_t /*now*/) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {}
  virtual bool needs_keepalive() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) { return true; }

  ReaderLoop* const loop_;
  const std::string peer_;
  Mutex mu_;
  // Guarded by mu_.
  std::unique_ptr<Transport> transport_;
  Http2Session session_;
  WorkList deferred_, handlers_;
  uint64_t id_ = 0;  // in the loop
  int64_t last_heard_;
  bool closed_ = false, handshaking_ = true, wants_write_ = false;

 private:
  OutQueue out_;
  uint64_t written_ = 0;
  Liveness liveness_;
  bool broken_ = false;  // writing has failed; the reader learns why
};

}  // namespace millstream

#endif  // MILLSTREAM_DISTRIBUTED_GRPC_CONNECTION_H_
