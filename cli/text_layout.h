// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_CLI_TEXT_LAYOUT_H_
#define MILLSTREAM_CLI_TEXT_LAYOUT_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace millstream::cli {

// Size of the terminal behind a file descriptor; 80 x 24 if it is none or does not say.
int TerminalColumns(int fd);
int TerminalRows(int fd);

// Columns that UTF-8 text takes on a terminal, one per character.
int ColumnsOf(absl::string_view text);

// Lines of at most `columns` columns; all but the first begin with `indent` blanks. Lines break between fields, which
// are joined by two blanks; fields that are too long break between words, and words that are too long anywhere. Nothing
// is left out.
std::vector<std::string> WrapFields(const std::vector<std::string>& fields, int columns, int indent);
// The words of a text behind `prefix`, with one blank between them; further lines begin with as many blanks as the
// prefix has columns. A word that fits into no line is broken, or left whole for the terminal to break, so that it can
// be copied.
enum class LongWords { kBreak, kKeep };
std::vector<std::string> WrapWords(absl::string_view prefix, absl::string_view text, int columns,
                                   LongWords long_words = LongWords::kBreak);

}  // namespace millstream::cli

#endif  // MILLSTREAM_CLI_TEXT_LAYOUT_H_
