// SPDX-License-Identifier: Apache-2.0
#include "millstream/distributed/link/frame_codec.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "millstream/base/stream_copy.h"

namespace millstream {
namespace {

static_assert(std::endian::native == std::endian::little,
              "the wire format is the memory format of small-endian machines");

template <typename T>
char* Put(char* at, T value) {
  std::memcpy(at, &value, sizeof(T));
  return at + sizeof(T);
}

template <typename T>
const char* Get(const char* at, T* value) {
  std::memcpy(value, at, sizeof(T));
  return at + sizeof(T);
}

// Bodies up to this are reserved in one go; longer ones grow as their bytes come, since a length alone proves nothing.
constexpr size_t kReservedBody = size_t{64} << 10;

// Pieces from here on are written past the caches on their way out, since another core reads them; on their way in only
// what no cache could keep until somebody reads it.
constexpr size_t kStreamedOut = 1024;
constexpr uint64_t kStreamedIn = uint64_t{16} << 20;

}  // namespace

void OutgoingFrame::Start(Frame frame) {
  frame_ = std::move(frame);
  type_ = WireType::kFrame;
  const uint64_t payload_bytes = frame_.payload.IsInitialized() ? frame_.payload.ByteSize() : 0;
  tail_ = {static_cast<const char*>(frame_.payload.raw()), static_cast<size_t>(payload_bytes)};
  done_ = 0;
  active_ = true;
  char* at = Put(header_.data(), frame_.kind);
  at = Put(at, frame_.edge);
  at = Put(at, frame_.step);
  at = Put(at, frame_.tag);
  at = Put(at, static_cast<uint32_t>(type_));
  at = Put(at, static_cast<uint32_t>(frame_.body.size()));
  Put(at, payload_bytes);
}

void OutgoingFrame::Start(Frame frame, const Loan& loan) {
  Start(std::move(frame));
  SetType(WireType::kLentFrame);
  Put(Put(loan_.data(), loan.offset), loan.flag);
  tail_ = loan_;
  frame_.payload.Reset();
}

void OutgoingFrame::SetType(WireType type) {
  type_ = type;
  Put(header_.data() + 24, static_cast<uint32_t>(type));
}

void OutgoingFrame::StartControl(WireType type, std::string body) {
  Frame frame;
  frame.body = std::move(body);
  Start(std::move(frame));
  SetType(type);
}

void OutgoingFrame::Reset() {
  active_ = false;
  frame_.body = std::string();
  frame_.payload.Reset();
}

std::span<const char> OutgoingFrame::PartAt(uint64_t position) const {
  if (position < kWireHeaderBytes) return {header_.data() + position, kWireHeaderBytes - position};
  position -= kWireHeaderBytes;
  if (position < frame_.body.size()) return {frame_.body.data() + position, frame_.body.size() - position};
  position -= frame_.body.size();
  return tail_.subspan(position);
}

size_t OutgoingFrame::CopyTo(char* out, size_t room) {
  size_t copied = 0;
  while (copied < room && done_ < total()) {
    const std::span<const char> part = PartAt(done_);
    const size_t n = std::min(part.size(), room - copied);
    if (n >= kStreamedOut) {
      StreamCopy(out + copied, part.data(), n);
    } else {
      std::memcpy(out + copied, part.data(), n);
    }
    copied += n;
    done_ += n;
  }
  return copied;
}

int OutgoingFrame::Gather(iovec entries[3], size_t max_bytes) const {
  int used = 0;
  for (uint64_t position = done_; used < 3 && max_bytes > 0 && position < total(); ++used) {
    const std::span<const char> part = PartAt(position);
    const size_t n = std::min(part.size(), max_bytes);
    entries[used] = {const_cast<char*>(part.data()), n};
    position += n;
    max_bytes -= n;
  }
  return used;
}

Status FrameDecoder::Consume(const char* data, size_t size) {
  Status status;
  while (size > 0 && status.ok()) {
    size_t used = 0;
    switch (state_) {
      case State::kHeader:
        used = TakeHeader(data, size, &status);
        break;
      case State::kBody:
        used = TakeBody(data, size, &status);
        break;
      case State::kPayload: {
        const std::span<char> target = PayloadTarget();
        used = std::min(size, target.size());
        if (payload_bytes_ >= kStreamedIn) {
          StreamCopy(target.data(), data, used);
        } else {
          std::memcpy(target.data(), data, used);
        }
        PayloadFilled(used);
        break;
      }
      case State::kSkip:
        used = static_cast<size_t>(std::min<uint64_t>(size, payload_bytes_ - have_));
        have_ += used;
        if (have_ == payload_bytes_) Drop();
        break;
      case State::kLoan:
        used = TakeLoan(data, size, &status);
        break;
    }
    data += used;
    size -= used;
  }
  return status;
}

size_t FrameDecoder::TakeHeader(const char* data, size_t size, Status* status) {
  const size_t n = std::min<size_t>(size, kWireHeaderBytes - have_);
  std::memcpy(header_.data() + have_, data, n);
  have_ += n;
  if (have_ == kWireHeaderBytes) *status = ParseHeader();
  return n;
}

Status FrameDecoder::ParseHeader() {
  uint32_t type, body;
  const char* at = Get(header_.data(), &frame_.kind);
  at = Get(at, &frame_.edge);
  at = Get(at, &frame_.step);
  at = Get(at, &frame_.tag);
  at = Get(at, &type);
  at = Get(at, &body);
  Get(at, &payload_bytes_);
  if (type > static_cast<uint32_t>(WireType::kLentFrame)) return errors::DataLoss("a frame of unknown type ", type);
  type_ = static_cast<WireType>(type);
  body_bytes_ = body;
  const bool delivered = type_ == WireType::kFrame || type_ == WireType::kLentFrame;
  if (body_bytes_ > (delivered ? Frame::kMaxBody : kMaxControlBody)) {
    return errors::DataLoss("a frame body of ", body_bytes_, " bytes");
  }
  if (!delivered && payload_bytes_ != 0) return errors::DataLoss("a control frame with a payload");
  if (type_ == WireType::kLentFrame && payload_bytes_ == 0) return errors::DataLoss("a loan of nothing");
  have_ = 0;
  if (body_bytes_ == 0) return BeginPayload();
  frame_.body.reserve(std::min<uint64_t>(body_bytes_, kReservedBody));
  state_ = State::kBody;
  return OkStatus();
}

size_t FrameDecoder::TakeBody(const char* data, size_t size, Status* status) {
  const size_t n = static_cast<size_t>(std::min<uint64_t>(size, body_bytes_ - frame_.body.size()));
  frame_.body.append(data, n);
  if (frame_.body.size() == body_bytes_) *status = BeginPayload();
  return n;
}

Status FrameDecoder::BeginPayload() {
  if (payload_bytes_ == 0) {
    Finish();
    return OkStatus();
  }
  if (type_ == WireType::kLentFrame) {
    state_ = State::kLoan;
    return OkStatus();
  }
  StatusOr<Tensor> memory = sink_->AllocatePayload(frame_, payload_bytes_);
  state_ = memory.ok() ? State::kPayload : State::kSkip;
  if (!memory.ok()) return OkStatus();
  if (!memory->IsInitialized() || !IsPlainBytes(memory->dtype()) || memory->ByteSize() != payload_bytes_) {
    return errors::Internal("the memory given for a payload of ", payload_bytes_, " bytes has another size");
  }
  frame_.payload = *std::move(memory);
  return OkStatus();
}

size_t FrameDecoder::TakeLoan(const char* data, size_t size, Status* status) {
  const size_t n = std::min<size_t>(size, kLoanBytes - have_);
  std::memcpy(loan_.data() + have_, data, n);
  have_ += n;
  if (have_ == kLoanBytes) *status = Borrow();
  return n;
}

Status FrameDecoder::Borrow() {
  Loan loan;
  Get(Get(loan_.data(), &loan.offset), &loan.flag);
  StatusOr<Tensor> memory = sink_->BorrowPayload(frame_, payload_bytes_, loan);
  if (absl::IsDataLoss(memory.status())) return memory.status();  // there can be no such loan
  if (!memory.ok()) {
    Drop();
    return OkStatus();
  }
  frame_.payload = *std::move(memory);
  Finish();
  return OkStatus();
}

void FrameDecoder::Drop() {
  frame_ = Frame();
  state_ = State::kHeader;
  have_ = 0;
}

std::span<char> FrameDecoder::PayloadTarget() {
  if (state_ != State::kPayload) return {};
  return {static_cast<char*>(frame_.payload.raw()) + have_, static_cast<size_t>(payload_bytes_ - have_)};
}

void FrameDecoder::PayloadFilled(size_t bytes) {
  have_ += bytes;
  if (have_ == payload_bytes_) Finish();
}

void FrameDecoder::Finish() {
  state_ = State::kHeader;
  have_ = 0;
  Frame frame = std::move(frame_);
  frame_.body.clear();
  frame_.payload.Reset();
  if (type_ == WireType::kFrame || type_ == WireType::kLentFrame) {
    sink_->Deliver(std::move(frame));
  } else {
    sink_->Control(type_, frame.body);
  }
}

std::string EncodeByeStatus(const Status& why) {
  std::string body(sizeof(uint32_t), '\0');
  Put(body.data(), static_cast<uint32_t>(why.code()));
  body.append(why.message().data(), std::min(why.message().size(), kMaxControlBody - body.size()));
  return body;
}

Status DecodeByeStatus(const std::string& body) {
  uint32_t code = 0;
  if (body.size() < sizeof(code)) return OkStatus();
  Get(body.data(), &code);
  if (code > static_cast<uint32_t>(absl::StatusCode::kUnauthenticated))
    code = static_cast<uint32_t>(absl::StatusCode::kUnknown);
  return Status(static_cast<absl::StatusCode>(code), absl::string_view(body).substr(sizeof(code)));
}

}  // namespace millstream
