// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_DISTRIBUTED_LINK_HANDSHAKE_H_
#define MILLSTREAM_DISTRIBUTED_LINK_HANDSHAKE_H_

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "millstream/base/status.h"

namespace millstream {

inline constexpr size_t kTicketBytes = 16;
inline constexpr size_t kMaxTaskName = 256;

// What a dialer says first. Little-endian: magic, version u32, length of the task's name u32, incarnation u64, ring
// bytes u64, ticket, name. Over a Unix socket the shared memory comes with its first byte.
struct Hello {
  uint64_t incarnation = 0;
  uint64_t ring_bytes = 0;  // of each ring in the memory that comes along; 0 for TCP
  std::string ticket;
  std::string task;
};

std::string EncodeHello(const Hello& hello);
// How many bytes a hello that begins with `bytes` has, as far as they tell: read up to there and ask again, never
// further. InvalidArgument: not a hello at all, so nobody is owed an answer.
StatusOr<size_t> HelloSize(absl::string_view bytes);
// REQUIRES: bytes.size() == HelloSize(bytes). FailedPrecondition: another version of the protocol.
StatusOr<Hello> DecodeHello(absl::string_view bytes);

// The answer: magic, code u32, length of the message u32, incarnation of who answers u64, message.
inline constexpr size_t kAnswerBytes = 24;
std::string EncodeAnswer(const Status& status, uint64_t incarnation);
struct Answer {
  absl::StatusCode code = absl::StatusCode::kOk;
  size_t message_bytes = 0;
  uint64_t incarnation = 0;
};
// Of the first kAnswerBytes.
StatusOr<Answer> DecodeAnswer(absl::string_view bytes);

// In a time that does not tell where they differ.
bool TicketsMatch(absl::string_view a, absl::string_view b);

}  // namespace millstream

#endif  // MILLSTREAM_DISTRIBUTED_LINK_HANDSHAKE_H_
