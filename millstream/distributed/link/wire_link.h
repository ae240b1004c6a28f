// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_DISTRIBUTED_LINK_WIRE_LINK_H_
#define MILLSTREAM_DISTRIBUTED_LINK_WIRE_LINK_H_

#include <memory>
#include <optional>
#include <string>

#include "millstream/base/mutex.h"
#include "millstream/distributed/link/frame_codec.h"
#include "millstream/distributed/link/frame_queue.h"
#include "millstream/distributed/link/io_loop.h"
#include "millstream/distributed/link/link_hub.h"
#include "millstream/distributed/link/link_set.h"
#include "millstream/distributed/link/liveness.h"
#include "millstream/distributed/link/unique_fd.h"

namespace millstream {

// What a link is made from.
struct LinkParts {
  std::string peer;
  uint64_t incarnation = 0;
  std::shared_ptr<IoLoop> loop;
  std::shared_ptr<LinkSet> set;
  FrameHandler* handler = nullptr;
  LinkOptions options;
};

// A link whose frames travel as bytes: the queue of what is to be sent, the talk of the links among themselves, and the
// end. The writing side has one owner at a time: a thread that finds nobody writing and nothing left over writes its
// frame itself; the others queue theirs, and the owner or the I/O thread goes on with them. Reading is the I/O
// thread's, or that of who serves the link, and then with reading_mu_ held.
class WireLink : public PeerLink, public IoLoop::Member, protected FrameDecoder::Sink {
 public:
  ~WireLink() override = default;

  void Send(Frame frame) final;
  void Close(Status why) final;
  int64_t last_heard_ns() const final { return last_heard_.load(std::memory_order_relaxed); }
  size_t queued_frames() final;

  // On the loop's thread: joins the loop, sends `greeting` (the answer to a handshake) and tells the handler.
  void Start(const std::string& greeting);
  void CloseAfterQueue(Status why) final;

  int64_t deadline_ns() final;
  void OnTimer(int64_t now) final;
  void OnStop() final;

 protected:
  WireLink(LinkParts parts, UniqueFd socket, bool polled);

  // Writes bytes of `out` until all are written, nothing more fits now, or *budget is used up. Of the writing side's
  // owner.
  virtual Status Write(OutgoingFrame& out, size_t* budget) = 0;
  // Whether there is something that the loop must go on with. Called with the lock of the queue held.
  virtual void OnBacklog(bool any) = 0;
  // Changes whenever the peer takes something of what was written.
  virtual uint64_t peer_progress() const = 0;
  // On the loop's thread, once the greeting is sent, before the handler knows of the link.
  virtual void OnStart() {}
  // As deadline_ns() and OnTimer(), for the transport.
  virtual int64_t transport_deadline_ns() { return kNever; }
  virtual void OnTransportTimer(int64_t /*now*/) {}
  // A loan of the payload in place of its bytes; nothing: they are sent.
  virtual std::optional<Loan> Lend(const Tensor& /*payload*/) { return std::nullopt; }
  // The links' own talk that is not about keepalive or the end. On the I/O thread.
  virtual void OnControl(WireType /*type*/) {}
  // The link has ended and nobody writes any more: lets go of what it holds. `told`: the peer was sent the reason.
  virtual void ReleaseTransport(UniqueFd socket, bool told) = 0;

  // The link has broken. Any thread; the first one counts.
  void Fail(const Status& why);
  // "/job:ps/replica:0/task:0 (tcp): " before the cause.
  Status Named(const Status& why) const;
  bool readable() const { return state_.load(std::memory_order_acquire) <= State::kClosing; }
  bool backlog() const { return backlog_.load(std::memory_order_acquire); }
  // For the I/O thread: goes on with what is queued; true if any bytes went out.
  bool DrainBacklog(size_t budget);
  // Makes the calling thread the owner of the writing side if nobody is.
  bool TryOwnWriting();
  void DisownWriting(bool any_left);
  // Sends a control frame of that type as soon as possible.
  void RequestRegion() { Request(&wants_region_); }
  void RequestMapped() { Request(&wants_mapped_); }
  const LinkOptions& options() const { return options_; }
  FrameHandler* handler() const { return handler_; }
  void Heard(int64_t now) { last_heard_.store(now, std::memory_order_relaxed); }
  const std::shared_ptr<IoLoop>& loop() const { return loop_; }
  int socket() const { return socket_.get(); }

  // Held by who reads, where that may be another than the I/O thread; the link's end waits for it.
  Mutex reading_mu_;
  FrameDecoder decoder_{this};
  std::atomic<uint64_t> bytes_written_{0};  // changed by the owner of the writing side

 private:
  enum class State { kOpen, kClosing, kFailed, kFinished };

  StatusOr<Tensor> AllocatePayload(const Frame& frame, uint64_t bytes) final;
  void Deliver(Frame frame) final;
  void Control(WireType type, const std::string& body) final;

  void SendLater(Frame frame);
  void StartFrame(Frame frame);
  void Drain(size_t budget);
  bool TakeNext();
  bool StartRequested() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void Request(bool* what);
  bool Breaks();
  bool Disown(bool any_left) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void Release();
  void EndTransport() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void SetBacklog(bool any) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void SayGoodbye(const Status& why);
  void PostFinish();
  void Finish();
  std::shared_ptr<WireLink> self() { return std::static_pointer_cast<WireLink>(shared_from_this()); }

  const std::shared_ptr<IoLoop> loop_;
  const std::shared_ptr<LinkSet> set_;
  FrameHandler* const handler_;
  const LinkOptions options_;
  const bool polled_;
  UniqueFd socket_;

  std::atomic<int64_t> last_heard_;
  std::atomic<bool> backlog_{false};        // written under mu_
  std::atomic<State> state_{State::kOpen};  // written under mu_
  std::atomic<int64_t> delayed_until_{kNever}, closing_since_{kNever};
  OutgoingFrame out_;  // of the owner of the writing side
  bool told_ = false;  // of the owner of the writing side: a goodbye is out
  Liveness liveness_;  // of the loop's thread

  Mutex mu_;
  bool writing_ ABSL_GUARDED_BY(mu_) = false;  // somebody owns the writing side
  FrameQueue queue_ ABSL_GUARDED_BY(mu_);
  bool wants_ping_ ABSL_GUARDED_BY(mu_) = false;  // flags, not frames: a peer cannot make the queue grow
  bool wants_pong_ ABSL_GUARDED_BY(mu_) = false;
  bool wants_region_ ABSL_GUARDED_BY(mu_) = false;
  bool wants_mapped_ ABSL_GUARDED_BY(mu_) = false;
  bool wants_bye_ ABSL_GUARDED_BY(mu_) = false;
  int64_t frames_accepted_ ABSL_GUARDED_BY(mu_) = 0;
  Status why_ ABSL_GUARDED_BY(mu_);
};

}  // namespace millstream

#endif  // MILLSTREAM_DISTRIBUTED_LINK_WIRE_LINK_H_
