// SPDX-License-Identifier: Apache-2.0
#include "millstream/distributed/grpc/stream_link.h"

#include <utility>

namespace millstream {
namespace {

// Of one message: with its prefix it fills a frame of HTTP/2.
constexpr size_t kMessageBytes = (size_t{64} << 10) - kMessagePrefixBytes;

int64_t Nanos(std::chrono::milliseconds t) { return std::chrono::nanoseconds(t).count(); }
// Zero is never; a quarter keeps sums with it in range.
int64_t NanosOrNever(std::chrono::milliseconds t) { return t.count() > 0 ? Nanos(t) : INT64_MAX / 4; }

}  // namespace

StreamLink::StreamLink(Parts parts)
    : PeerLink(std::move(parts.peer), parts.incarnation),
      address_(std::move(parts.address)),
      connection_(std::move(parts.connection)),
      handler_(parts.handler),
      options_(std::move(parts.options)),
      liveness_(NanosOrNever(options_.keepalive_interval), NanosOrNever(options_.keepalive_timeout), NowNanos()),
      last_heard_(NowNanos()),
      released_(std::move(parts.released)) {}

void StreamLink::Accept(const std::function<bool(std::shared_ptr<Http2Stream>, Http2Session&)>& attach) {
  {
    MutexLock lock(mu_);
    opened_ = true;
    active_ = true;  // the session asks once it has answered
  }
  handler_->Opened(*this);
  bool attached = false;
  connection_->With([&](Http2Session& session) { attached = attach(stream(), session); });
  if (!attached) connection_->Locked([&] { Over(errors::Unavailable("the connection is lost")); });
}

void StreamLink::Dial(std::span<const HttpHeader> headers, std::function<void(Status)> done) {
  dialed_ = true;
  {
    MutexLock lock(mu_);
    dial_done_ = std::move(done);
    active_ = true;
  }
  Status status = errors::Unavailable("the connection is lost");
  connection_->With([&](Http2Session& session) { status = session.StartStream(stream(), headers); });
  if (!status.ok()) connection_->Locked([&] { Over(status); });
}

void StreamLink::OnHeader(absl::string_view name, absl::string_view value) {
  if (dialed_) answer_.Add(name, value);
}

void StreamLink::OnHeadersComplete(bool /*too_large*/) {
  if (!dialed_ || !answer_.incarnation().has_value()) return;  // refused: the end of the stream says why
  connection_->Defer([self = self(), incarnation = *answer_.incarnation()] { self->Greeted(incarnation); });
}

void StreamLink::Greeted(uint64_t incarnation) {
  if (peer_incarnation() != 0 && incarnation != peer_incarnation()) {
    return Fail(errors::Aborted("it has been restarted since it was asked (incarnation ", incarnation, ", not ",
                                peer_incarnation(), ")"));
  }
  std::function<void(Status)> done;
  {
    MutexLock lock(mu_);
    if (state_ != State::kOpen || dial_done_ == nullptr) return;
    opened_ = true;
    done = std::exchange(dial_done_, nullptr);
  }
  handler_->Opened(*this);
  done(OkStatus());
}

void StreamLink::OnData(const char* data, size_t size) {
  unconsumed_ += size;
  if (over_) return;
  if (inbox_ == Inbox::kIdle) {
    inbox_ = Inbox::kCollecting;
    collector_ = std::this_thread::get_id();
    connection_->Defer([self = self()] { self->DeliverData(); });
  }
  // The memory of another thread is used again before it can be looked at.
  const bool stays = inbox_ == Inbox::kCollecting && collector_ == std::this_thread::get_id();
  const Status status = pieces_.Feed(data, size, [&](std::span<const char> piece) {
    if (stays)
      spans_.push_back(piece);
    else
      backlog_.append(piece.data(), piece.size());
  });
  if (!status.ok()) connection_->Defer([self = self(), status] { self->Fail(status); });
}

void StreamLink::DeliverData() {
  std::vector<std::span<const char>> spans;
  std::string copied;
  connection_->Locked([&] {
    inbox_ = Inbox::kDelivering;
    spans.swap(spans_);
  });
  for (;;) {
    last_heard_.store(NowNanos(), std::memory_order_relaxed);
    Status status;
    for (const std::span<const char>& span : spans) {
      if (status.ok()) status = decoder_.Consume(span.data(), span.size());
    }
    if (status.ok() && !copied.empty()) status = decoder_.Consume(copied.data(), copied.size());
    if (!status.ok()) Fail(status);
    bool more = false, finish = false;
    const auto next = [&] {
      spans.clear();
      copied.clear();
      copied.swap(backlog_);
      more = !copied.empty() && status.ok();
      if (more) return;
      spans_.swap(spans);  // keeps its room
      inbox_ = Inbox::kIdle;
      finish = over_;
    };
    const bool open = connection_->With([&](Http2Session& session) {
      session.Consume(id(), std::exchange(unconsumed_, 0));
      next();
    });
    if (!open) connection_->Locked(next);
    if (finish) return Finish();
    if (!more) return;
  }
}

void StreamLink::Send(Frame frame) {
  if (frame.body.size() > Frame::kMaxBody || (frame.payload.IsInitialized() && !IsPlainBytes(frame.payload.dtype()))) {
    return Close(errors::Internal("a frame of kind ", frame.kind, " with a body of ", frame.body.size(),
                                  " bytes or a payload that is not plain bytes cannot be sent"));
  }
  {
    MutexLock lock(mu_);
    if (state_ != State::kOpen) return;
    counters_.frames_sent.fetch_add(1, std::memory_order_relaxed);
    queue_.Push(std::move(frame), 0);
    if (active_) return;
    active_ = true;
  }
  Wake();
}

size_t StreamLink::queued_frames() {
  MutexLock lock(mu_);
  return queue_.size();
}

void StreamLink::Request(bool* what) {
  {
    MutexLock lock(mu_);
    *what = true;
    if (active_) return;
    active_ = true;
  }
  Wake();
}

void StreamLink::Wake() {
  connection_->With([&](Http2Session& session) {
    if (!over_) session.Resume(*this);
  });
}

size_t StreamLink::Pending(size_t max, bool* last) {
  *last = false;
  if (staged_.empty() && !BuildMessage()) return 0;
  return std::min(staged_.size(), max);
}

void StreamLink::TakePending(size_t bytes, OutQueue* out) {
  staged_.MoveTo(out, bytes);
  counters_.bytes_sent.fetch_add(bytes, std::memory_order_relaxed);
  if (staged_.empty()) messages_sent_.fetch_add(1, std::memory_order_relaxed);
}

bool StreamLink::BuildMessage() {
  char* prefix = nullptr;
  size_t bytes = 0;
  while (bytes < kMessageBytes) {
    if (!out_.active() && !TakeNext()) break;
    if (prefix == nullptr) prefix = staged_.AppendRoom(kMessagePrefixBytes);
    iovec parts[3];
    const int count = out_.Gather(parts, kMessageBytes - bytes);
    for (int i = 0; i < count; ++i) {
      const char* data = static_cast<const char*>(parts[i].iov_base);
      const size_t size = parts[i].iov_len;
      const char* payload = out_payload_ == nullptr ? nullptr : static_cast<const char*>(out_payload_->raw());
      if (payload != nullptr && data >= payload && data < payload + out_payload_->ByteSize())
        staged_.AppendHeld(out_payload_, data, size);
      else
        staged_.Append(data, size);
      out_.Advance(size);
      bytes += size;
    }
    if (out_.remaining() == 0) {
      out_.Reset();
      out_payload_ = nullptr;
    }
  }
  {
    MutexLock lock(mu_);
    mid_frame_ = out_.active();
  }
  if (prefix == nullptr) return false;
  prefix[0] = 0;
  for (int i = 0; i < 4; ++i) prefix[1 + i] = static_cast<char>(bytes >> (24 - 8 * i));
  return true;
}

// Makes the next frame the one that is being sent. False if there is none.
bool StreamLink::TakeNext() {
  MutexLock lock(mu_);
  const bool going = state_ != State::kEnded;
  if (going && wants_pong_) {
    wants_pong_ = false;
    out_.StartControl(WireType::kPong, "");
  } else if (going && wants_ping_) {
    wants_ping_ = false;
    out_.StartControl(WireType::kPing, "");
  } else if (going && !queue_.empty()) {
    Frame frame = queue_.Pop();
    out_payload_ = frame.payload.IsInitialized() ? std::make_shared<const Tensor>(frame.payload) : nullptr;
    out_.Start(std::move(frame));
    mid_frame_ = true;
  } else if (wants_bye_) {
    wants_bye_ = false;
    out_.StartControl(WireType::kBye, EncodeByeStatus(why_));
  } else {
    active_ = false;
    return false;
  }
  return true;
}

StatusOr<Tensor> StreamLink::AllocatePayload(const Frame& frame, uint64_t bytes) {
  return handler_->Allocate(*this, frame, bytes);
}

void StreamLink::Deliver(Frame frame) {
  {
    MutexLock lock(mu_);
    if (state_ == State::kEnded) return;
  }
  const uint64_t bytes =
      kWireHeaderBytes + frame.body.size() + (frame.payload.IsInitialized() ? frame.payload.ByteSize() : 0);
  counters_.frames_received.fetch_add(1, std::memory_order_relaxed);
  counters_.bytes_received.fetch_add(bytes, std::memory_order_relaxed);
  handler_->Receive(*this, std::move(frame));
}

void StreamLink::Control(WireType type, const std::string& body) {
  if (type == WireType::kPing) return Request(&wants_pong_);
  if (type != WireType::kBye) return;
  // Who says goodbye waits for the other to end the stream, so that what was sent before is read.
  const Status why = DecodeByeStatus(body);
  Fail(why.ok() ? errors::Unavailable("it closed the link") : WithContext(why, "it closed the link"));
}

}  // namespace millstream
