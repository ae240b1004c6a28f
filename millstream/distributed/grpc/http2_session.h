// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_DISTRIBUTED_GRPC_HTTP2_SESSION_H_
#define MILLSTREAM_DISTRIBUTED_GRPC_HTTP2_SESSION_H_

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "millstream/base/status.h"
#include "millstream/distributed/grpc/limits.h"
#include "millstream/distributed/grpc/out_queue.h"

struct nghttp2_session;

namespace millstream {

struct HttpHeader {
  absl::string_view name, value;
  bool changes = false;  // from call to call: not worth a place in the peer's table
};

// One stream of a session. All methods are called while bytes are received or collected, and must not call Receive() or
// Collect().
class Http2Stream {
 public:
  virtual ~Http2Stream() = default;

  int32_t id() const { return id_; }

  // Headers and trailers arrive one by one; then their list is complete, or larger than is allowed.
  virtual void OnHeader(absl::string_view name, absl::string_view value) = 0;
  virtual void OnHeadersComplete(bool too_large) = 0;
  // The receiver must Consume() the bytes, now or later: until then the peer may not send as many more.
  virtual void OnData(const char* data, size_t size) = 0;
  virtual void OnEnd() = 0;  // the peer sends no more
  // The stream is over; `error` is HTTP/2's code. Last call.
  virtual void OnClosed(uint32_t error) = 0;
  // The connection is lost, and the stream with it. Last call.
  virtual void OnLost(const Status& why) = 0;
  // This end is about to close the connection: the stream is to end after what it has to send, or at once.
  virtual void OnStop(const Status& /*why*/, bool /*at_once*/) {}

  // What is to be sent: how many bytes, of at most `max`; `*last` if nothing follows them. None and not last: later,
  // after Resume().
  virtual size_t Pending(size_t max, bool* last) = 0;
  virtual void TakePending(size_t bytes, OutQueue* out) = 0;
  // Sent behind the last byte; empty: none.
  virtual std::span<const HttpHeader> trailers() { return {}; }

 private:
  friend class Http2Session;
  int32_t id_ = 0;
};

// One end of an HTTP/2 connection, without its socket: bytes in, bytes out, streams. Frames, header compression and
// flow control are nghttp2's. Not thread-safe.
class Http2Session {
 public:
  enum class Side { kServer, kClient };

  class Owner {
   public:
    virtual ~Owner() = default;
    // Server: a client begins a stream. Null: refused.
    virtual std::shared_ptr<Http2Stream> OnNewStream() = 0;
    virtual void OnPingAnswered() {}
    // The peer takes no more streams; those above `last_stream` were not looked at.
    virtual void OnGoaway(int32_t /*last_stream*/) {}
    virtual void OnSettings() {}  // of the peer
    virtual void OnHeadersBegin() {}
  };

  Http2Session(Side side, const ConnectionLimits& limits, Owner* owner);
  ~Http2Session();
  Http2Session(const Http2Session&) = delete;
  Http2Session& operator=(const Http2Session&) = delete;

  // An error: the peer broke the protocol or floods us; what Collect() still gives may be sent, then the connection is
  // to be closed.
  Status Receive(const char* data, size_t size);
  // Appends what is to be sent, until `out` holds more than `enough` bytes.
  Status Collect(OutQueue* out, size_t enough);
  // Neither side has anything to say any more.
  bool finished() const;

  // Client: a new stream, with bytes to follow. Unavailable if the connection takes no more of them.
  Status StartStream(const std::shared_ptr<Http2Stream>& stream, std::span<const HttpHeader> headers);
  // Server: answers; with_data: the stream's pending bytes follow. What the client still sends is not wanted any more.
  void Respond(Http2Stream& stream, std::span<const HttpHeader> headers, bool with_data);
  // There is something pending again.
  void Resume(const Http2Stream& stream);
  void Reset(const Http2Stream& stream, uint32_t error);
  // Gives the stream's events to `other` from now on.
  void Replace(const Http2Stream& stream, std::shared_ptr<Http2Stream> other);
  void Consume(int32_t stream, size_t bytes);
  void Ping();
  void Goaway();
  // Windows of the full size from now on, for a session that began with small ones.
  void WidenWindows();
  // All streams are told that the connection is lost, or will be.
  void Lose(const Status& why);
  void Stop(const Status& why, bool at_once);

  size_t num_streams() const { return streams_.size(); }

 private:
  struct Callbacks;
  struct Header;
  bool CountControlFrame();
  void SendSettings(int32_t stream_window, int32_t connection_window);
  Http2Stream* Find(int32_t id) const;

  const Side side_;
  const ConnectionLimits limits_;
  Owner* const owner_;
  nghttp2_session* session_ = nullptr;
  absl::flat_hash_map<int32_t, std::shared_ptr<Http2Stream>> streams_;
  OutQueue* out_ = nullptr;  // during Collect()
  size_t enough_ = 0;
  uint64_t header_bytes_ = 0;  // of the list that is being received
  // Of the allowance for frames that carry nothing.
  double control_credit_;
  int64_t control_seen_ns_ = 0;
  bool flooded_ = false;
};

}  // namespace millstream

#endif  // MILLSTREAM_DISTRIBUTED_GRPC_HTTP2_SESSION_H_
