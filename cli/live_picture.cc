// SPDX-License-Identifier: Apache-2.0
#include "cli/live_picture.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "absl/strings/str_cat.h"
#include "cli/text_layout.h"

namespace millstream::cli {

std::string LivePicture::ToBegin() const {
  // A window that was made narrower since shows a line in several rows.
  const int columns = TerminalColumns(fd_);
  int rows = 0;
  for (const std::string& line : lines_) rows += std::max(1, (ColumnsOf(line) + columns - 1) / columns);
  return rows > 0 ? absl::StrCat("\r\x1b[", rows, "A") : "\r";
}

void LivePicture::Write(absl::string_view text) const {
  while (!text.empty()) {
    const ssize_t written = write(fd_, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return;
    text.remove_prefix(static_cast<size_t>(written));
  }
}

void LivePicture::Draw(std::vector<std::string> lines) {
  // Lines are cleared as they are written over: no flicker.
  std::string text = ToBegin();
  for (const std::string& line : lines) absl::StrAppend(&text, line, "\x1b[K\n");
  Write(text + "\x1b[J");
  lines_ = std::move(lines);
}

void LivePicture::PrintAbove(absl::string_view message) {
  std::string text = absl::StrCat(ToBegin(), "\x1b[J", message, "\n");
  for (const std::string& line : lines_) absl::StrAppend(&text, line, "\n");
  Write(text);
}

}  // namespace millstream::cli
