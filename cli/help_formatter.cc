// SPDX-License-Identifier: Apache-2.0
#include "cli/help_formatter.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "cli/text_layout.h"

namespace millstream::cli {
namespace {

constexpr int kNames = 26;  // columns of flags and commands, before what they mean

// An example whose lines end with a backslash where they go on, so that it can be copied into a shell.
std::string WrapExample(absl::string_view line, int columns) {
  if (ColumnsOf(line) <= columns) return std::string(line);
  constexpr absl::string_view kBreak = " \\\n    ";
  constexpr int kBreakColumns = 2 + 4;  // at the end of a line, and at the beginning of the next
  const size_t command = std::min(line.find("millstream "), line.size());
  return absl::StrJoin(
      WrapWords(line.substr(0, command), line.substr(command), columns - kBreakColumns, LongWords::kKeep), kBreak);
}

// Paragraphs are lines of `text`.
std::string Wrap(absl::string_view text, int columns) {
  std::string out;
  bool examples = false;
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    examples |= absl::StartsWith(line, "Example");
    if (examples)
      absl::StrAppend(&out, WrapExample(line, columns), "\n");
    else
      absl::StrAppend(&out, absl::StrJoin(WrapWords("", line, columns), "\n"), "\n");
  }
  return out;
}

// Beside the name where there is room, else below it.
std::string WrapEntry(const std::string& name, absl::string_view text, int columns) {
  const std::string margin(kNames, ' ');
  std::string out = absl::StrJoin(WrapWords("  ", name, columns), "\n    ");
  std::string prefix = out;
  if (ColumnsOf(out) < kNames && out.find('\n') == std::string::npos) {
    prefix.resize(prefix.size() + static_cast<size_t>(kNames - ColumnsOf(out)), ' ');
    out.clear();
  } else {
    out += "\n";
    prefix = margin;
  }
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    absl::StrAppend(&out, absl::StrJoin(WrapWords(prefix, line, columns), "\n"), "\n");
    prefix = margin;
  }
  return out;
}

// Types and ranges as CLI11 names them, "INT:INT in [0 - 64]", without what they say twice: "INT in [0 - 64]".
std::string WithoutRepetitions(const std::string& options) {
  return absl::StrReplaceAll(options,
                             {{":INT in ", " in "}, {":FLOAT in ", " in "}, {":NUMBER >", " >"}, {",... ...", ",..."}});
}

}  // namespace

std::string HelpFormatter::make_option(const CLI::Option* option, bool is_positional) const {
  return WrapEntry(make_option_name(option, is_positional) + WithoutRepetitions(make_option_opts(option)),
                   make_option_desc(option), columns_);
}

// The list of commands has the first line of each; its own --help says more.
std::string HelpFormatter::make_subcommand(const CLI::App* command) const {
  const std::string description = command->get_description();
  return WrapEntry(command->get_name(), description.substr(0, description.find('\n')), columns_);
}

std::string HelpFormatter::make_description(const CLI::App* app) const {
  return Wrap(app->get_description(), columns_);
}

std::string HelpFormatter::make_footer(const CLI::App* app) const {
  const std::string footer = app->get_footer();
  return footer.empty() ? "" : Wrap(footer, columns_);
}

}  // namespace millstream::cli
