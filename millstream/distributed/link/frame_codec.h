// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_DISTRIBUTED_LINK_FRAME_CODEC_H_
#define MILLSTREAM_DISTRIBUTED_LINK_FRAME_CODEC_H_

#include <sys/uio.h>

#include <array>
#include <cstdint>
#include <span>
#include <string>

#include "millstream/framework/peer_link.h"

namespace millstream {

// Frames as bytes (docs/formats/link.md), little-endian: kind u32, edge u32, step u64, tag u64, type u32, body bytes
// u32, payload bytes u64, then the body, then the payload. A kLentFrame has, in place of the payload, where that lies
// (loans.h). The other types are the links' own talk and are never delivered.
enum class WireType : uint32_t { kFrame = 0, kPing = 1, kPong = 2, kBye = 3, kRegion = 4, kMapped = 5, kLentFrame = 6 };

inline constexpr size_t kWireHeaderBytes = 40;
// A payload that the sender lends: its place in the sender's shared region, and the number of the flag that the
// receiver clears when it is done.
struct Loan {
  uint64_t offset = 0;
  uint64_t flag = 0;
};
inline constexpr size_t kLoanBytes = sizeof(Loan);
static_assert(kLoanBytes == 16);
inline constexpr size_t kMaxControlBody = 4096;

// A frame on its way out, and how far it has come. Holds the tensor, never a copy of it.
class OutgoingFrame {
 public:
  void Start(Frame frame);
  // The same for a payload that is lent: the lender holds it from now on.
  void Start(Frame frame, const Loan& loan);
  void StartControl(WireType type, std::string body);
  // Lets go of the frame's memory.
  void Reset();

  bool active() const { return active_; }
  WireType type() const { return type_; }
  uint64_t total() const { return kWireHeaderBytes + frame_.body.size() + tail_.size(); }
  uint64_t remaining() const { return total() - done_; }

  // Copies the next bytes, as many as there are or fit, and counts them as sent.
  size_t CopyTo(char* out, size_t room);
  // Points at the next bytes, at most `max_bytes` of them; returns how many of the three entries are used.
  int Gather(iovec entries[3], size_t max_bytes) const;
  void Advance(uint64_t bytes) { done_ += bytes; }

 private:
  void SetType(WireType type);
  // What is left of the part of the stream that byte done_ + ahead lies in.
  std::span<const char> PartAt(uint64_t position) const;

  bool active_ = false;
  WireType type_ = WireType::kFrame;
  uint64_t done_ = 0;
  std::array<char, kWireHeaderBytes> header_;
  Frame frame_;
  std::array<char, kLoanBytes> loan_;
  std::span<const char> tail_;  // what follows the body: the payload, or loan_
};

// Bytes, in pieces of any size, back to frames. Trusts nothing in them: what cannot be is an error, after which the
// stream is of no use; memory is taken only for what has come (bodies) or what the sink gave (payloads).
class FrameDecoder {
 public:
  class Sink {
   public:
    virtual ~Sink() = default;
    // As FrameHandler::Allocate().
    virtual StatusOr<Tensor> AllocatePayload(const Frame& frame, uint64_t bytes) = 0;
    // What is to be the payload of a frame whose payload is lent. After an error the frame is dropped.
    // DataLoss: there can be no such loan, and the stream is of no use.
    virtual StatusOr<Tensor> BorrowPayload(const Frame& /*frame*/, uint64_t /*bytes*/, const Loan& /*loan*/) {
      return errors::DataLoss("a lent payload on a link that lends nothing");
    }
    virtual void Deliver(Frame frame) = 0;
    virtual void Control(WireType type, const std::string& body) = 0;
  };

  explicit FrameDecoder(Sink* sink) : sink_(sink) {}

  Status Consume(const char* data, size_t size);
  // Where the next bytes could go without a detour: the rest of a payload; empty in other places of the stream.
  std::span<char> PayloadTarget();
  // That many bytes have been put there.
  void PayloadFilled(size_t bytes);
  // Lets go of a frame that has not arrived whole, and of the memory that was given for its payload: whoever gave it
  // may wait for that, and hold the link meanwhile. After this the rest of that frame must not be consumed.
  void Drop();
  // True between frames.
  bool at_boundary() const { return state_ == State::kHeader && have_ == 0; }

 private:
  enum class State { kHeader, kBody, kPayload, kSkip, kLoan };

  size_t TakeHeader(const char* data, size_t size, Status* status);
  Status ParseHeader();
  size_t TakeBody(const char* data, size_t size, Status* status);
  Status BeginPayload();
  size_t TakeLoan(const char* data, size_t size, Status* status);
  Status Borrow();
  void Finish();

  Sink* const sink_;
  State state_ = State::kHeader;
  WireType type_ = WireType::kFrame;
  uint64_t have_ = 0;  // bytes of the current part
  uint64_t body_bytes_ = 0, payload_bytes_ = 0;
  std::array<char, kWireHeaderBytes> header_;
  std::array<char, kLoanBytes> loan_;
  Frame frame_;
};

// What a kBye carries: the status with which the other side closed.
std::string EncodeByeStatus(const Status& why);
Status DecodeByeStatus(const std::string& body);

}  // namespace millstream

#endif  // MILLSTREAM_DISTRIBUTED_LINK_FRAME_CODEC_H_
