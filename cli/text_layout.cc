// SPDX-License-Identifier: Apache-2.0
#include "cli/text_layout.h"

#include <sys/ioctl.h>

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace millstream::cli {
namespace {

bool BeginsCharacter(char c) { return (static_cast<uint8_t>(c) & 0xC0) != 0x80; }

// Lines that grow by pieces of text.
class Lines {
 public:
  Lines(absl::string_view prefix, int columns, int indent, LongWords long_words = LongWords::kBreak)
      : columns_(columns), indent_(std::clamp(indent, 0, columns - 1)), long_words_(long_words), line_(prefix) {}

  int Room() const { return columns_ - ColumnsOf(line_); }
  void Append(absl::string_view separator, absl::string_view text) {
    absl::StrAppend(&line_, empty_ ? "" : separator, text);
    empty_ = false;
  }
  void Break() {
    lines_.push_back(std::move(line_));
    line_ = std::string(static_cast<size_t>(indent_), ' ');
    empty_ = true;
  }
  // A text that fits into no line is broken wherever a line ends.
  void AppendInPieces(absl::string_view text) {
    while (ColumnsOf(text) > Room()) {
      const int room = Room();
      size_t end = 0;
      for (int seen = 0; end < text.size(); ++end) {
        if (BeginsCharacter(text[end]) && ++seen > room) break;
      }
      Append("", text.substr(0, end));
      text.remove_prefix(end);
      Break();
    }
    if (!text.empty()) Append("", text);
  }
  void Add(absl::string_view separator, absl::string_view text) {
    if (!empty_ && ColumnsOf(separator) + ColumnsOf(text) > Room()) Break();
    if (ColumnsOf(text) > Room() && long_words_ == LongWords::kBreak) return AppendInPieces(text);
    Append(separator, text);
  }
  std::vector<std::string> Take() {
    if (!empty_ || lines_.empty()) lines_.push_back(std::move(line_));
    return std::move(lines_);
  }

 private:
  const int columns_, indent_;
  const LongWords long_words_;
  std::string line_;
  std::vector<std::string> lines_;
  bool empty_ = true;  // but for the indent
};

void AddWords(absl::string_view text, absl::string_view before_first, Lines* lines) {
  absl::string_view separator = before_first;
  for (const absl::string_view word : absl::StrSplit(text, ' ', absl::SkipEmpty())) {
    lines->Add(separator, word);
    separator = " ";
  }
}

winsize SizeOf(int fd) {
  winsize size{};
  if (ioctl(fd, TIOCGWINSZ, &size) != 0) size = {};
  return size;
}

}  // namespace

int TerminalColumns(int fd) {
  const winsize size = SizeOf(fd);
  return size.ws_col > 0 ? size.ws_col : 80;
}

int TerminalRows(int fd) {
  const winsize size = SizeOf(fd);
  return size.ws_row > 0 ? size.ws_row : 24;
}

int ColumnsOf(absl::string_view text) {
  return static_cast<int>(std::count_if(text.begin(), text.end(), BeginsCharacter));
}

std::vector<std::string> WrapFields(const std::vector<std::string>& fields, int columns, int indent) {
  Lines lines("", std::max(columns, 2), indent);
  for (const std::string& field : fields) {
    if (ColumnsOf(field) + indent <= columns)
      lines.Add("  ", field);
    else
      AddWords(field, "  ", &lines);
  }
  return lines.Take();
}

std::vector<std::string> WrapWords(absl::string_view prefix, absl::string_view text, int columns,
                                   LongWords long_words) {
  const int indent = ColumnsOf(prefix);
  Lines lines(prefix, std::max(columns, indent + 2), indent, long_words);
  AddWords(text, "", &lines);
  return lines.Take();
}

}  // namespace millstream::cli
