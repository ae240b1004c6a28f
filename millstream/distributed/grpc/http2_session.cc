// SPDX-License-Identifier: Apache-2.0
#include "millstream/distributed/grpc/http2_session.h"

#include <nghttp2/nghttp2.h>

#include <algorithm>

#include "absl/container/inlined_vector.h"
#include "millstream/base/logging.h"
#include "millstream/base/thread_policy.h"

namespace millstream {
namespace {

// Of one DATA frame that is sent, if the peer allows as much; nghttp2 keeps a buffer of that size.
constexpr size_t kSentFrameBytes = size_t{64} << 10;
constexpr uint32_t kReceivedFrameBytes = 1 << 20;
// A header list of more than so many times its limit ends the connection, since its decoding takes time too.
constexpr uint64_t kHeaderFlood = 4;

using Headers = absl::InlinedVector<nghttp2_nv, 16>;

Headers ToNghttp2(std::span<const HttpHeader> headers) {
  Headers list;
  for (const HttpHeader& header : headers) {
    const uint8_t flags = header.changes ? NGHTTP2_NV_FLAG_NO_INDEX : NGHTTP2_NV_FLAG_NONE;
    list.push_back({reinterpret_cast<uint8_t*>(const_cast<char*>(header.name.data())),
                    reinterpret_cast<uint8_t*>(const_cast<char*>(header.value.data())), header.name.size(),
                    header.value.size(), flags});
  }
  return list;
}

absl::string_view View(const uint8_t* data, size_t size) {
  return absl::string_view(reinterpret_cast<const char*>(data), size);
}

}  // namespace

// What nghttp2 calls.
struct Http2Session::Callbacks {
  static Http2Session& Self(void* user) { return *static_cast<Http2Session*>(user); }

  static ssize_t OnSend(nghttp2_session*, const uint8_t* data, size_t size, int, void* user) {
    Http2Session& self = Self(user);
    if (self.out_->size() > self.enough_) return NGHTTP2_ERR_WOULDBLOCK;
    self.out_->Append(data, size);
    return static_cast<ssize_t>(size);
  }

  static int OnSendData(nghttp2_session*, nghttp2_frame*, const uint8_t* frame_header, size_t size,
                        nghttp2_data_source* source, void* user) {
    Http2Session& self = Self(user);
    if (self.out_->size() > self.enough_) return NGHTTP2_ERR_WOULDBLOCK;
    self.out_->Append(frame_header, 9);
    static_cast<Http2Stream*>(source->ptr)->TakePending(size, self.out_);
    return 0;
  }

  static ssize_t ReadData(nghttp2_session* session, int32_t id, uint8_t*, size_t max, uint32_t* flags,
                          nghttp2_data_source* source, void*) {
    auto* stream = static_cast<Http2Stream*>(source->ptr);
    bool last = false;
    const size_t size = stream->Pending(max, &last);
    if (size == 0 && !last) return NGHTTP2_ERR_DEFERRED;
    *flags |= NGHTTP2_DATA_FLAG_NO_COPY;
    if (!last) return static_cast<ssize_t>(size);
    *flags |= NGHTTP2_DATA_FLAG_EOF;
    const std::span<const HttpHeader> trailers = stream->trailers();
    if (!trailers.empty()) {
      *flags |= NGHTTP2_DATA_FLAG_NO_END_STREAM;
      const Headers list = ToNghttp2(trailers);
      if (nghttp2_submit_trailer(session, id, list.data(), list.size()) != 0) return NGHTTP2_ERR_CALLBACK_FAILURE;
    }
    return static_cast<ssize_t>(size);
  }

  static ssize_t FrameBytes(nghttp2_session*, uint8_t, int32_t, int32_t, int32_t, uint32_t remote_max, void*) {
    return static_cast<ssize_t>(std::min<size_t>(remote_max, kSentFrameBytes));
  }

  static int OnBeginHeaders(nghttp2_session*, const nghttp2_frame* frame, void* user) {
    Http2Session& self = Self(user);
    self.header_bytes_ = 0;
    self.owner_->OnHeadersBegin();
    if (self.side_ != Side::kServer || frame->headers.cat != NGHTTP2_HCAT_REQUEST) return 0;
    std::shared_ptr<Http2Stream> stream = self.owner_->OnNewStream();
    if (stream == nullptr) return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
    stream->id_ = frame->hd.stream_id;
    self.streams_[frame->hd.stream_id] = std::move(stream);
    return 0;
  }

  static int OnHeader(nghttp2_session*, const nghttp2_frame* frame, const uint8_t* name, size_t name_size,
                      const uint8_t* value, size_t value_size, uint8_t, void* user) {
    Http2Session& self = Self(user);
    self.header_bytes_ += name_size + value_size + 32;
    if (self.header_bytes_ > kHeaderFlood * self.limits_.max_header_bytes) {
      self.flooded_ = true;
      return NGHTTP2_ERR_CALLBACK_FAILURE;
    }
    Http2Stream* const stream = self.Find(frame->hd.stream_id);
    if (stream != nullptr && self.header_bytes_ <= self.limits_.max_header_bytes)
      stream->OnHeader(View(name, name_size), View(value, value_size));
    return 0;
  }

  static int OnFrame(nghttp2_session*, const nghttp2_frame* frame, void* user) {
    Http2Session& self = Self(user);
    switch (frame->hd.type) {
      case NGHTTP2_HEADERS:
        if (Http2Stream* stream = self.Find(frame->hd.stream_id))
          stream->OnHeadersComplete(self.header_bytes_ > self.limits_.max_header_bytes);
        break;
      case NGHTTP2_DATA:
        if (frame->hd.length == 0 && (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) == 0 && !self.CountControlFrame())
          return NGHTTP2_ERR_CALLBACK_FAILURE;
        break;
      case NGHTTP2_WINDOW_UPDATE:  // follow data of ours
        return 0;
      case NGHTTP2_SETTINGS:
        if ((frame->hd.flags & NGHTTP2_FLAG_ACK) == 0) self.owner_->OnSettings();
        break;
      case NGHTTP2_PING:
        if ((frame->hd.flags & NGHTTP2_FLAG_ACK) != 0) self.owner_->OnPingAnswered();
        break;
      case NGHTTP2_GOAWAY:
        self.owner_->OnGoaway(frame->goaway.last_stream_id);
        break;
      default:
        break;
    }
    const bool carries = frame->hd.type == NGHTTP2_HEADERS || frame->hd.type == NGHTTP2_DATA;
    if (!carries && !self.CountControlFrame()) return NGHTTP2_ERR_CALLBACK_FAILURE;
    if (carries && (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) != 0) {
      if (Http2Stream* stream = self.Find(frame->hd.stream_id)) stream->OnEnd();
    }
    return 0;
  }

  // An answer that ends before its request: the client need not send the rest.
  static int OnFrameSent(nghttp2_session* session, const nghttp2_frame* frame, void* user) {
    const bool ends = (frame->hd.type == NGHTTP2_HEADERS || frame->hd.type == NGHTTP2_DATA) &&
                      (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) != 0;
    if (ends && Self(user).side_ == Side::kServer &&
        nghttp2_session_get_stream_remote_close(session, frame->hd.stream_id) == 0) {
      nghttp2_submit_rst_stream(session, NGHTTP2_FLAG_NONE, frame->hd.stream_id, NGHTTP2_NO_ERROR);
    }
    return 0;
  }

  static int OnInvalidFrame(nghttp2_session*, const nghttp2_frame*, int, void* user) {
    return Self(user).CountControlFrame() ? 0 : NGHTTP2_ERR_CALLBACK_FAILURE;
  }

  static int OnDataChunk(nghttp2_session* session, uint8_t, int32_t id, const uint8_t* data, size_t size, void* user) {
    if (Http2Stream* stream = Self(user).Find(id))
      stream->OnData(reinterpret_cast<const char*>(data), size);
    else
      nghttp2_session_consume(session, id, size);
    return 0;
  }

  static int OnStreamClose(nghttp2_session*, int32_t id, uint32_t error, void* user) {
    Http2Session& self = Self(user);
    const auto it = self.streams_.find(id);
    if (it == self.streams_.end()) return 0;
    const std::shared_ptr<Http2Stream> stream = std::move(it->second);
    self.streams_.erase(it);
    stream->OnClosed(error);
    return 0;
  }

  static nghttp2_session_callbacks* Make() {
    nghttp2_session_callbacks* callbacks = nullptr;
    MS_CHECK(nghttp2_session_callbacks_new(&callbacks) == 0);
    nghttp2_session_callbacks_set_send_callback(callbacks, OnSend);
    nghttp2_session_callbacks_set_send_data_callback(callbacks, OnSendData);
    nghttp2_session_callbacks_set_data_source_read_length_callback(callbacks, FrameBytes);
    nghttp2_session_callbacks_set_on_begin_headers_callback(callbacks, OnBeginHeaders);
    nghttp2_session_callbacks_set_on_header_callback(callbacks, OnHeader);
    nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, OnFrame);
    nghttp2_session_callbacks_set_on_frame_send_callback(callbacks, OnFrameSent);
    nghttp2_session_callbacks_set_on_invalid_frame_recv_callback(callbacks, OnInvalidFrame);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, OnDataChunk);
    nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, OnStreamClose);
    return callbacks;
  }
};

Http2Session::Http2Session(Side side, const ConnectionLimits& limits, Owner* owner)
    : side_(side), limits_(limits), owner_(owner), control_credit_(limits.control_burst) {
  nghttp2_session_callbacks* const callbacks = Callbacks::Make();
  nghttp2_option* option = nullptr;
  MS_CHECK(nghttp2_option_new(&option) == 0);
  nghttp2_option_set_no_auto_window_update(option, 1);
  nghttp2_option_set_no_closed_streams(option, 1);
  nghttp2_option_set_max_reserved_remote_streams(option, 0);
  nghttp2_option_set_max_outbound_ack(option, static_cast<size_t>(limits.control_burst));
  nghttp2_option_set_stream_reset_rate_limit(option, static_cast<uint64_t>(limits.control_burst),
                                             static_cast<uint64_t>(limits.control_per_second));
  const int error = side == Side::kServer ? nghttp2_session_server_new2(&session_, callbacks, this, option)
                                          : nghttp2_session_client_new2(&session_, callbacks, this, option);
  nghttp2_option_del(option);
  nghttp2_session_callbacks_del(callbacks);
  MS_CHECK(error == 0);
  SendSettings(limits.stream_window, limits.connection_window);
}

Http2Session::~Http2Session() { nghttp2_session_del(session_); }

void Http2Session::SendSettings(int32_t stream_window, int32_t connection_window) {
  const nghttp2_settings_entry entries[] = {
      {NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, side_ == Side::kServer ? limits_.max_streams : 0},
      {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, static_cast<uint32_t>(stream_window)},
      {NGHTTP2_SETTINGS_MAX_FRAME_SIZE, kReceivedFrameBytes},
      {NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, limits_.max_header_bytes},
      {NGHTTP2_SETTINGS_ENABLE_PUSH, 0},
  };
  nghttp2_submit_settings(session_, NGHTTP2_FLAG_NONE, entries, side_ == Side::kClient ? 5 : 4);
  nghttp2_session_set_local_window_size(session_, NGHTTP2_FLAG_NONE, 0, connection_window);
}

void Http2Session::WidenWindows() {
  const ConnectionLimits full;
  SendSettings(full.stream_window, full.connection_window);
}

Http2Stream* Http2Session::Find(int32_t id) const {
  const auto it = streams_.find(id);
  return it == streams_.end() ? nullptr : it->second.get();
}

bool Http2Session::CountControlFrame() {
  control_credit_ -= 1;
  if (control_credit_ > 0) return true;
  const int64_t now = NowNanos();
  const double seconds = static_cast<double>(now - control_seen_ns_) / 1e9;
  // The first time this is asked, all the time before counts as one burst.
  control_credit_ = control_seen_ns_ == 0
                        ? limits_.control_per_second
                        : std::min<double>(limits_.control_burst, seconds * limits_.control_per_second);
  control_seen_ns_ = now;
  flooded_ = control_credit_ < 1;
  return !flooded_;
}

Status Http2Session::Receive(const char* data, size_t size) {
  const ssize_t taken = nghttp2_session_mem_recv(session_, reinterpret_cast<const uint8_t*>(data), size);
  if (taken >= 0) return OkStatus();
  if (flooded_ || taken == NGHTTP2_ERR_FLOODED) {
    nghttp2_session_terminate_session(session_, NGHTTP2_ENHANCE_YOUR_CALM);
    return errors::ResourceExhausted("the peer floods the connection");
  }
  return errors::Unavailable("the peer does not speak HTTP/2: ", nghttp2_strerror(static_cast<int>(taken)));
}

Status Http2Session::Collect(OutQueue* out, size_t enough) {
  out_ = out;
  enough_ = enough;
  const int error = nghttp2_session_send(session_);
  out_ = nullptr;
  if (error == 0) return OkStatus();
  return errors::Unavailable("HTTP/2: ", nghttp2_strerror(error));
}

bool Http2Session::finished() const {
  return nghttp2_session_want_read(session_) == 0 && nghttp2_session_want_write(session_) == 0;
}

Status Http2Session::StartStream(const std::shared_ptr<Http2Stream>& stream, std::span<const HttpHeader> headers) {
  if (nghttp2_session_check_request_allowed(session_) == 0)
    return errors::Unavailable("the connection is being closed");
  const Headers list = ToNghttp2(headers);
  nghttp2_data_provider provider = {};
  provider.source.ptr = stream.get();
  provider.read_callback = Callbacks::ReadData;
  const int32_t id = nghttp2_submit_request(session_, nullptr, list.data(), list.size(), &provider, nullptr);
  if (id < 0) return errors::Unavailable("the connection takes no more calls: ", nghttp2_strerror(id));
  stream->id_ = id;
  streams_[id] = stream;
  return OkStatus();
}

void Http2Session::Respond(Http2Stream& stream, std::span<const HttpHeader> headers, bool with_data) {
  const Headers list = ToNghttp2(headers);
  nghttp2_data_provider provider = {};
  provider.source.ptr = &stream;
  provider.read_callback = Callbacks::ReadData;
  nghttp2_submit_response(session_, stream.id(), list.data(), list.size(), with_data ? &provider : nullptr);
}

void Http2Session::Resume(const Http2Stream& stream) { nghttp2_session_resume_data(session_, stream.id()); }

void Http2Session::Reset(const Http2Stream& stream, uint32_t error) {
  nghttp2_submit_rst_stream(session_, NGHTTP2_FLAG_NONE, stream.id(), error);
}

void Http2Session::Replace(const Http2Stream& stream, std::shared_ptr<Http2Stream> other) {
  other->id_ = stream.id();
  streams_[stream.id()] = std::move(other);
}

void Http2Session::Consume(int32_t stream, size_t bytes) { nghttp2_session_consume(session_, stream, bytes); }

void Http2Session::Ping() { nghttp2_submit_ping(session_, NGHTTP2_FLAG_NONE, nullptr); }

void Http2Session::Goaway() {
  nghttp2_submit_goaway(session_, NGHTTP2_FLAG_NONE, nghttp2_session_get_last_proc_stream_id(session_),
                        NGHTTP2_NO_ERROR, nullptr, 0);
}

void Http2Session::Lose(const Status& why) {
  absl::flat_hash_map<int32_t, std::shared_ptr<Http2Stream>> streams;
  streams.swap(streams_);
  for (const auto& [id, stream] : streams) stream->OnLost(why);
}

void Http2Session::Stop(const Status& why, bool at_once) {
  std::vector<std::shared_ptr<Http2Stream>> streams;
  for (const auto& [id, stream] : streams_) streams.push_back(stream);
  for (const auto& stream : streams) stream->OnStop(why, at_once);
}

}  // namespace millstream
