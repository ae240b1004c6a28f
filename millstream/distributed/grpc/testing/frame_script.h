// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_DISTRIBUTED_GRPC_TESTING_FRAME_SCRIPT_H_
#define MILLSTREAM_DISTRIBUTED_GRPC_TESTING_FRAME_SCRIPT_H_

#include <span>
#include <string>
#include <utility>

#include "absl/strings/string_view.h"

namespace millstream::testing {

// Frames of HTTP/2 for fuzzers. Random bytes are refused at the first length or at the first compressed header, and
// never come to what is behind; these get there.

// The nine bytes before a frame's payload, and the payload.
std::string Http2Frame(uint8_t type, uint8_t flags, uint32_t stream, absl::string_view payload);
// A list of headers outside of all tables. REQUIRES: names and values of less than 127 bytes.
std::string LiteralHeaders(std::span<const std::pair<std::string, std::string>> headers);

// What an input says, read as a script: frames with lengths that are right, requests, answers and messages of which one
// thing or nothing is wrong, and bytes as they are. A prefix of an input makes a prefix of the frames, more or less.
std::string FramesOf(absl::string_view script);

}  // namespace millstream::testing

#endif  // MILLSTREAM_DISTRIBUTED_GRPC_TESTING_FRAME_SCRIPT_H_
