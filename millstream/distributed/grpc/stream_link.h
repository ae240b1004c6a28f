// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_DISTRIBUTED_GRPC_STREAM_LINK_H_
#define MILLSTREAM_DISTRIBUTED_GRPC_STREAM_LINK_H_

#include <array>
#include <atomic>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "millstream/base/mutex.h"
#include "millstream/distributed/grpc/connection.h"
#include "millstream/distributed/grpc/link_headers.h"
#include "millstream/distributed/grpc/message_pieces.h"
#include "millstream/distributed/link/frame_codec.h"
#include "millstream/distributed/link/frame_queue.h"
#include "millstream/distributed/link/link_hub.h"
#include "millstream/distributed/link/liveness.h"

namespace millstream {

// One end of an open gRPC stream that carries frames, as messages of some ten kilobytes. HTTP/2 takes them only as fast
// as the other side reads: the rest waits here, as shared tensors. Payloads go out from the tensor's own memory, and
// are read into theirs from the memory that the socket was read into.
class StreamLink final : public PeerLink, public Http2Stream, public Ticked, private FrameDecoder::Sink {
 public:
  struct Parts {
    std::string peer;
    uint64_t incarnation = 0;
    std::string address;  // of the peer, for messages
    std::shared_ptr<Connection> connection;
    FrameHandler* handler = nullptr;
    LinkOptions options;
    std::function<void()> released;  // after the handler has been told that the link is over
  };
  explicit StreamLink(Parts parts);
  ~StreamLink() override = default;

  // The server's end: `attach`, with the connection's lock held, makes this the stream and answers. Not on a thread
  // that holds the lock.
  void Accept(const std::function<bool(std::shared_ptr<Http2Stream> stream, Http2Session& session)>& attach);
  // The client's end: `done` is told whether the other side has accepted, and the handler, before it, if so.
  void Dial(std::span<const HttpHeader> headers, std::function<void(Status)> done);

  void Send(Frame frame) override;
  void Close(Status why) override;
  void CloseAfterQueue(Status why) override;
  const char* transport() const override { return "grpc"; }
  int64_t last_heard_ns() const override { return last_heard_.load(std::memory_order_relaxed); }
  size_t queued_frames() override;
  void Tick() override;

  void OnHeader(absl::string_view name, absl::string_view value) override;
  void OnHeadersComplete(bool too_large) override;
  void OnData(const char* data, size_t size) override;
  void OnEnd() override;
  void OnClosed(uint32_t error) override;
  void OnLost(const Status& why) override;
  void OnStop(const Status& why, bool at_once) override;
  size_t Pending(size_t max, bool* last) override;
  void TakePending(size_t bytes, OutQueue* out) override;

 private:
  enum class State { kOpen, kClosing, kEnded };
  enum class Inbox { kIdle, kCollecting, kDelivering };

  StatusOr<Tensor> AllocatePayload(const Frame& frame, uint64_t bytes) override;
  void Deliver(Frame frame) override;
  void Control(WireType type, const std::string& body) override;

  std::shared_ptr<StreamLink> self() { return std::static_pointer_cast<StreamLink>(shared_from_this()); }
  std::shared_ptr<Http2Stream> stream() { return {shared_from_this(), static_cast<Http2Stream*>(this)}; }
  void Greeted(uint64_t incarnation);
  // Gives the decoder what has been collected, and what comes meanwhile.
  void DeliverData();
  // Makes one message of what is queued; false if there is nothing.
  bool BuildMessage();
  bool TakeNext();
  // Sets *what and makes the connection send it.
  void Request(bool* what);
  void Wake();
  // The link is broken.
  void Fail(const Status& why);
  void Cancel();
  // The stream is over. With the connection's lock held.
  void Over(const Status& why);
  void Finish();

  const std::string address_;
  const std::shared_ptr<Connection> connection_;
  FrameHandler* const handler_;
  const LinkOptions options_;
  Liveness liveness_;  // of Tick()
  std::atomic<int64_t> last_heard_;
  std::atomic<uint64_t> messages_sent_{0};
  bool dialed_ = false;

  // Of the thread that delivers.
  FrameDecoder decoder_{this};

  // Guarded by the connection's lock.
  LinkAnswer answer_;
  MessagePieces pieces_;
  Inbox inbox_ = Inbox::kIdle;
  std::thread::id collector_;
  std::vector<std::span<const char>> spans_;  // in the collector's memory
  std::string backlog_;                       // what another thread has read meanwhile
  size_t unconsumed_ = 0;
  bool over_ = false;
  OutgoingFrame out_;
  std::shared_ptr<const Tensor> out_payload_;
  OutQueue staged_;

  Mutex mu_;  // taken with the connection's lock held, never the other way round
  std::function<void(Status)> dial_done_ ABSL_GUARDED_BY(mu_);  // null once it was called
  std::function<void()> released_ ABSL_GUARDED_BY(mu_);
  State state_ ABSL_GUARDED_BY(mu_) = State::kOpen;
  Status why_ ABSL_GUARDED_BY(mu_);
  int64_t closing_since_ ABSL_GUARDED_BY(mu_) = 0;  // or since the peer last took something; 0: not closing
  uint64_t progress_seen_ ABSL_GUARDED_BY(mu_) = 0;
  FrameQueue queue_ ABSL_GUARDED_BY(mu_);
  bool wants_ping_ ABSL_GUARDED_BY(mu_) = false;  // flags, not frames: a peer cannot make the queue grow
  bool wants_pong_ ABSL_GUARDED_BY(mu_) = false;
  bool wants_bye_ ABSL_GUARDED_BY(mu_) = false;
  bool mid_frame_ ABSL_GUARDED_BY(mu_) = false;
  bool opened_ ABSL_GUARDED_BY(mu_) = false;  // the handler knows the link
  bool active_ ABSL_GUARDED_BY(mu_) = false;  // the session asks for more by itself
  bool finished_ ABSL_GUARDED_BY(mu_) = false;
};

}  // namespace millstream

#endif  // MILLSTREAM_DISTRIBUTED_GRPC_STREAM_LINK_H_
