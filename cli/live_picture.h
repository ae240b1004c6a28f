// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_CLI_LIVE_PICTURE_H_
#define MILLSTREAM_CLI_LIVE_PICTURE_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace millstream::cli {

// Lines at the end of a terminal that are drawn over and over, and messages that go above them and stay. Each call is
// one write of whole lines, from the first column on: a "^C" that the terminal echoes, or a window that is made
// narrower, does not leave parts of old lines behind. Not thread-safe.
class LivePicture {
 public:
  explicit LivePicture(int fd) : fd_(fd) {}

  // REQUIRES: no line is wider than the terminal.
  void Draw(std::vector<std::string> lines);
  void PrintAbove(absl::string_view message);

 private:
  // Moves to where the picture begins.
  std::string ToBegin() const;
  void Write(absl::string_view text) const;

  const int fd_;
  std::vector<std::string> lines_;  // as drawn last
};

}  // namespace millstream::cli

#endif  // MILLSTREAM_CLI_LIVE_PICTURE_H_
