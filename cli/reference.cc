// SPDX-License-Identifier: Apache-2.0
// The reference of all commands, written from the same descriptions that --help prints.
#include "cli/reference.h"

#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "cli/command.h"
#include "cli/described_commands.h"
#include "millstream/base/version.h"

namespace millstream::cli {
namespace {

// "--cluster TEXT", "path".
std::string Usage(const CLI::Option& option) {
  if (option.get_positional()) return option.get_name();
  const std::string type = option.get_type_name();  // "INT:POSITIVE": what is allowed stands in the description
  const bool takes_value = option.get_expected_max() > 0 && !type.empty();
  return absl::StrCat(option.get_name(false, true), takes_value ? " " : "",
                      takes_value ? type.substr(0, type.find(':')) : "");
}

// Lines of a description: prose first, then what follows "Example".
struct Description {
  std::string prose, examples;
};
Description Split(const std::string& text) {
  Description parts;
  bool in_examples = false;
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    for (const char* mark : {"Examples: ", "Example: "}) {
      if (absl::ConsumePrefix(&line, mark)) in_examples = true;
    }
    line = absl::StripLeadingAsciiWhitespace(line);
    absl::StrAppend(in_examples ? &parts.examples : &parts.prose, line, "\n");
  }
  return parts;
}

std::string Markdown(const CLI::App& app) {
  std::string out =
      "# Command line\n\nWritten by `millstream reference markdown`; `millstream COMMAND --help` says the same.\n\n";
  absl::StrAppend(&out, kExitCodesHelp, " Flags may be written with hyphens or underscores.\n");
  for (const CLI::App* command : VisibleCommandsOf(app)) {
    const Description description = Split(command->get_description());
    absl::StrAppend(&out, "\n## millstream ", command->get_name(), "\n\n", description.prose);
    if (!description.examples.empty()) absl::StrAppend(&out, "\n```sh\n", description.examples, "```\n");
    absl::StrAppend(&out, "\n| | |\n|---|---|\n");
    for (const CLI::Option* option : VisibleFlagsOf(*command)) {
      absl::StrAppend(&out, "| `", absl::StrReplaceAll(Usage(*option), {{"|", "\\|"}}), "` | ",
                      absl::StrReplaceAll(option->get_description(), {{"\n", "<br>"}, {"|", "\\|"}}), " |\n");
    }
    const std::string footer = command->get_footer();
    if (!footer.empty()) absl::StrAppend(&out, "\n", footer, "\n");
  }
  return out;
}

// troff takes a leading dot or quote for a request, and a bare hyphen for a line break.
std::string Troff(absl::string_view text) {
  std::string out = absl::StrReplaceAll(text, {{"\\", "\\e"}, {"-", "\\-"}, {"\n.", "\n\\&."}, {"\n'", "\n\\&'"}});
  return !out.empty() && (out[0] == '.' || out[0] == '\'') ? absl::StrCat("\\&", out) : out;
}

std::string ManPage(const CLI::App& app) {
  std::string out =
      absl::StrCat(".TH MILLSTREAM 1 \"\" \"millstream ", kVersion, "\" \"User Commands\"\n.SH NAME\nmillstream \\- ",
                   "distributed TensorFlow 1.x\n.SH SYNOPSIS\n.B millstream\n.I COMMAND\n[options]\n.SH COMMANDS\n");
  for (const CLI::App* command : VisibleCommandsOf(app)) {
    const Description description = Split(command->get_description());
    absl::StrAppend(&out, ".SS millstream ", Troff(command->get_name()), "\n", Troff(description.prose));
    if (!description.examples.empty()) absl::StrAppend(&out, ".PP\n.nf\n", Troff(description.examples), ".fi\n");
    for (const CLI::Option* option : VisibleFlagsOf(*command)) {
      absl::StrAppend(&out, ".TP\n.B ", Troff(Usage(*option)), "\n", Troff(option->get_description()), "\n");
    }
    const std::string footer = command->get_footer();
    if (!footer.empty()) absl::StrAppend(&out, ".PP\n", Troff(footer), "\n");
  }
  absl::StrAppend(&out, ".SH EXIT STATUS\n", Troff(kExitCodesHelp), "\n");
  return out;
}

const Registration<ReferencePage> kMarkdownPage({.name = "markdown",
                                                 .help = "all commands, for docs/cli.md",
                                                 .write = Markdown});
const Registration<ReferencePage> kManPage({.name = "man", .help = "the manual page", .write = ManPage});

Command::Run AddReferenceFlags(CLI::App& app) {
  auto name = std::make_shared<std::string>();
  std::string help = "what to print";
  for (const ReferencePage* page : Registry<ReferencePage>::All())
    absl::StrAppend(&help, "\n", page->name, ": ", page->help);
  app.add_option("page", *name, help)->required()->check(CLI::IsMember(Registry<ReferencePage>::Names()));
  return [&app, name] {
    const StatusOr<const ReferencePage*> page = Registry<ReferencePage>::Find(*name);
    if (!page.ok()) return FailFlags(page.status());
    std::fputs((*page)->write(*app.get_parent()).c_str(), stdout);
    return 0;
  };
}

const Registration<Command> kReferenceCommand({
    .name = "reference",
    .help = "Print documentation that is made from the program itself; for those who build the package.",
    .add_flags = AddReferenceFlags,
});

}  // namespace
}  // namespace millstream::cli
