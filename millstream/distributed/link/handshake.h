// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_DISTRIBUTED_LINK_HANDSHAKE_H_
#define MILLSTREAM_DISTRIBUTED_LINK_HANDSHAKE_H_

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "millstream/base/status.h"

namespace millstream {

// How a link begins (docs/formats/link.md). The two ends prove to each other that they know the secret of the link
// (trust/token_proof.h) before either gives the other anything: the dialer says LinkHello, the acceptor answers with
// its challenge, the dialer sends its proof and, over a Unix socket, the shared memory; the acceptor answers again.

inline constexpr size_t kTicketBytes = 16;
inline constexpr size_t kMaxTaskName = 256;

// What a dialer says first. Little-endian: magic, version u32, length of the proof's hello u32, incarnation u64, ring
// bytes u64, the proof's hello.
struct LinkHello {
  uint64_t incarnation = 0;
  uint64_t ring_bytes = 0;  // of each ring in the memory that will come; 0 for TCP
  std::string proof_hello;  // ClientProof::Hello(), in which the dialer names itself
};

std::string EncodeHello(const LinkHello& hello);
// How many bytes a hello that begins with `bytes` has, as far as they tell: read up to there and ask again, never
// further. InvalidArgument: not a hello at all, so nobody is owed an answer.
StatusOr<size_t> HelloSize(absl::string_view bytes);
// REQUIRES: bytes.size() == HelloSize(bytes). FailedPrecondition: another version of the protocol.
StatusOr<LinkHello> DecodeHello(absl::string_view bytes);

// The answer: magic, code u32, length of the text u32, incarnation of who answers u64, text. The text is the message of
// an error, or the challenge.
inline constexpr size_t kAnswerBytes = 24;
std::string EncodeAnswer(const Status& status, uint64_t incarnation, absl::string_view challenge = "");
struct Answer {
  absl::StatusCode code = absl::StatusCode::kOk;
  size_t text_bytes = 0;
  uint64_t incarnation = 0;
};
// Of the first kAnswerBytes.
StatusOr<Answer> DecodeAnswer(absl::string_view bytes);

// What the two ends prove that they know: the ticket of the hub that is dialed, which its task tells trusted callers,
// and the job token, if there is one, since others may see a ticket on its way.
std::string LinkSecret(absl::string_view job_token, absl::string_view ticket);
// What is signed beside the names.
std::string LinkPurpose(uint64_t dialer_incarnation, uint64_t ring_bytes);

}  // namespace millstream

#endif  // MILLSTREAM_DISTRIBUTED_LINK_HANDSHAKE_H_
