// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_DISTRIBUTED_GRPC_STREAM_LINK_H_
#define MILLSTREAM_DISTRIBUTED_GRPC_STREAM_LINK_H_

#include <grpc/grpc.h>

#include <atomic>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "millstream/base/mutex.h"
#include "millstream/distributed/grpc/event_loop.h"
#include "millstream/distributed/link/frame_codec.h"
#include "millstream/distributed/link/frame_queue.h"
#include "millstream/distributed/link/link_hub.h"
#include "millstream/distributed/link/liveness.h"

namespace millstream {

// One end of an open gRPC stream that carries frames. One message, of some ten kilobytes, is on its way in gRPC at a
// time in each direction, and gRPC takes it only as fast as the other side reads: the rest waits here, as shared
// tensors. Payloads go out from the tensor's own memory.
class StreamLink final : public PeerLink, public EventLoop::Ticked, private FrameDecoder::Sink {
 public:
  struct Parts {
    std::string peer;
    uint64_t incarnation = 0;
    std::string address;        // of the peer, for messages
    grpc_call* call = nullptr;  // the link takes it
    EventLoop* loop = nullptr;
    FrameHandler* handler = nullptr;
    LinkOptions options;
    std::function<void()> released;  // when neither the call nor the loop is used any more
  };
  explicit StreamLink(Parts parts);
  ~StreamLink() override;

  // The server's end: tells the handler, sends `answer` and begins to read. On the loop.
  void Accept(std::vector<grpc_metadata> answer);
  // The client's end: sends `hello`; `done` is told whether the other side has accepted, and the handler, before it, if
  // so.
  void Dial(std::vector<grpc_metadata> hello, std::function<void(Status)> done);

  void Send(Frame frame) override;
  void Close(Status why) override;
  const char* transport() const override { return "grpc"; }
  int64_t last_heard_ns() const override { return last_heard_.load(std::memory_order_relaxed); }
  size_t queued_frames() override;
  void Tick() override;

 private:
  enum class State { kOpen, kClosing, kEnded };

  static void OnGreeted(void* self, bool ok);
  static void OnRead(void* self, bool ok);
  static void OnSent(void* self, bool ok);
  static void OnOver(void* self, bool ok);

  StatusOr<Tensor> AllocatePayload(const Frame& frame, uint64_t bytes) override;
  void Deliver(Frame frame) override;
  void Control(WireType type, const std::string& body) override;

  void Batch(std::span<const grpc_op> ops, GrpcTag* tag);
  void AwaitEnd();
  void StartRead();
  // Sends the next message, or gives the sending side back. Of who has set sending_.
  void SendNext();
  grpc_byte_buffer* BuildMessage();
  // Makes the next frame the one that is being sent. False if there is none; then gives the sending side back, if told
  // to.
  bool TakeNext(bool give_back);
  // Sets *what and makes somebody see to it.
  void Request(bool* what);
  // The link is broken.
  void Fail(const Status& why);
  void Cancel();
  // One of the batches has come back, or the sending side was given back: ends what can end.
  void Settle(int batches);

  const std::string address_;
  EventLoop* const loop_;
  FrameHandler* const handler_;
  const LinkOptions options_;
  GrpcTag greeted_ = {OnGreeted, this}, read_ = {OnRead, this}, sent_ = {OnSent, this}, over_ = {OnOver, this};
  FrameDecoder decoder_{this};
  Liveness liveness_;  // of Tick()
  std::atomic<int64_t> last_heard_;
  std::atomic<uint64_t> messages_sent_{0};

  // Of the owner of the sending side.
  OutgoingFrame out_;
  Tensor out_payload_;

  // Where gRPC writes.
  grpc_byte_buffer* incoming_ = nullptr;
  grpc_metadata_array initial_;
  grpc_metadata_array trailing_;
  grpc_status_code code_ = GRPC_STATUS_UNKNOWN;
  grpc_slice details_;
  int cancelled_ = 0;

  bool dialed_ = false;
  grpc_call* call_;  // until neither reads, sends nor other batches are left

  Mutex mu_;
  std::function<void(Status)> dial_done_ ABSL_GUARDED_BY(mu_);  // null once it was called
  std::function<void()> released_ ABSL_GUARDED_BY(mu_);
  std::shared_ptr<PeerLink> self_ ABSL_GUARDED_BY(mu_);  // while gRPC may still call
  State state_ ABSL_GUARDED_BY(mu_) = State::kOpen;
  Status why_ ABSL_GUARDED_BY(mu_);
  int64_t closing_since_ ABSL_GUARDED_BY(mu_) = 0;  // or since the peer last took something; 0: not closing
  uint64_t progress_seen_ ABSL_GUARDED_BY(mu_) = 0;
  FrameQueue queue_ ABSL_GUARDED_BY(mu_);
  bool wants_ping_ ABSL_GUARDED_BY(mu_) = false;  // flags, not frames: a peer cannot make the queue grow
  bool wants_pong_ ABSL_GUARDED_BY(mu_) = false;
  bool wants_bye_ ABSL_GUARDED_BY(mu_) = false;
  bool opened_ ABSL_GUARDED_BY(mu_) = false;  // the handler knows the link
  bool sending_ ABSL_GUARDED_BY(mu_) = false;
  bool reading_ ABSL_GUARDED_BY(mu_) = false;
  bool call_over_ ABSL_GUARDED_BY(mu_) = false;
  bool finished_ ABSL_GUARDED_BY(mu_) = false;
  int batches_ ABSL_GUARDED_BY(mu_) = 0;  // that have not come back
};

}  // namespace millstream

#endif  // MILLSTREAM_DISTRIBUTED_GRPC_STREAM_LINK_H_
