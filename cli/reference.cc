// SPDX-License-Identifier: Apache-2.0
// The reference of all commands, written from the same descriptions that --help prints.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "cli/commands.h"
#include "millstream/base/version.h"

namespace millstream::cli {
namespace {

bool IsHidden(const CLI::App& app) { return app.get_group().empty(); }
bool IsHidden(const CLI::Option& option) { return option.get_group().empty() || option.check_lname("help"); }

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
      "# Command line\n\nWritten by `millstream reference markdown`; `millstream COMMAND --help` says the same.\n";
  for (const CLI::App* command : app.get_subcommands({})) {
    if (IsHidden(*command)) continue;
    const Description description = Split(command->get_description());
    absl::StrAppend(&out, "\n## millstream ", command->get_name(), "\n\n", description.prose);
    if (!description.examples.empty()) absl::StrAppend(&out, "\n```sh\n", description.examples, "```\n");
    absl::StrAppend(&out, "\n| | |\n|---|---|\n");
    for (const CLI::Option* option : command->get_options()) {
      if (IsHidden(*option)) continue;
      absl::StrAppend(&out, "| `", absl::StrReplaceAll(Usage(*option), {{"|", "\\|"}}), "` | ",
                      absl::StrReplaceAll(option->get_description(), {{"\n", " "}, {"|", "\\|"}}), " |\n");
    }
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
  for (const CLI::App* command : app.get_subcommands({})) {
    if (IsHidden(*command)) continue;
    const Description description = Split(command->get_description());
    absl::StrAppend(&out, ".SS millstream ", Troff(command->get_name()), "\n", Troff(description.prose));
    if (!description.examples.empty()) absl::StrAppend(&out, ".PP\n.nf\n", Troff(description.examples), ".fi\n");
    for (const CLI::Option* option : command->get_options()) {
      if (IsHidden(*option)) continue;
      absl::StrAppend(&out, ".TP\n.B ", Troff(Usage(*option)), "\n", Troff(option->get_description()), "\n");
    }
  }
  return out;
}

// The words that may follow each command, one command per line: "server --cluster --job_name ...".
std::string Words(const CLI::App& app) {
  std::string out;
  for (const CLI::App* command : app.get_subcommands({})) {
    if (IsHidden(*command)) continue;
    absl::StrAppend(&out, "    ", command->get_name(), ")");
    std::string flags;
    for (const CLI::Option* option : command->get_options()) {
      if (IsHidden(*option) || option->get_positional()) continue;
      for (const std::string& name : option->get_lnames()) absl::StrAppend(&flags, " --", name);
    }
    absl::StrAppend(&out, " words=\"", absl::StripLeadingAsciiWhitespace(flags), "\" ;;\n");
  }
  return out;
}

std::string Names(const CLI::App& app) {
  std::string out;
  for (const CLI::App* command : app.get_subcommands({})) {
    if (!IsHidden(*command)) absl::StrAppend(&out, out.empty() ? "" : " ", command->get_name());
  }
  return out;
}

std::string BashCompletion(const CLI::App& app) {
  return absl::StrCat(R"(# Completion of millstream for bash. Use: source <(millstream completion bash)
_millstream() {
  local word=${COMP_WORDS[COMP_CWORD]} words=""
  if [ "$COMP_CWORD" -eq 1 ]; then
    COMPREPLY=($(compgen -W ")",
                      Names(app), R"( --help --version" -- "$word"))
    return
  fi
  case ${COMP_WORDS[1]} in
)",
                      Words(app), R"(  esac
  case $word in
    -*) COMPREPLY=($(compgen -W "$words" -- "$word")) ;;
    *) COMPREPLY=($(compgen -f -- "$word")) ;;
  esac
}
complete -o filenames -F _millstream millstream
)");
}

// zsh runs bash's; fish takes words.
std::string Completion(const CLI::App& app, const std::string& shell) {
  if (shell == "bash") return BashCompletion(app);
  if (shell == "zsh") return absl::StrCat("autoload -U +X bashcompinit && bashcompinit\n", BashCompletion(app));
  std::string out;
  for (const CLI::App* command : app.get_subcommands({})) {
    if (IsHidden(*command)) continue;
    const std::string& name = command->get_name();
    const std::vector<std::string> lines = absl::StrSplit(command->get_description(), '\n');
    absl::StrAppend(&out, "complete -c millstream -n __fish_use_subcommand -a ", name, " -d '",
                    absl::StrReplaceAll(lines[0], {{"'", "\\'"}}), "'\n");
    for (const CLI::Option* option : command->get_options()) {
      if (IsHidden(*option) || option->get_positional()) continue;
      for (const std::string& flag : option->get_lnames()) {
        absl::StrAppend(&out, "complete -c millstream -n '__fish_seen_subcommand_from ", name, "' -l ", flag, "\n");
      }
    }
  }
  return out;
}

}  // namespace

void AddReferenceCommands(CLI::App& app, int*) {
  auto* completion = app.add_subcommand("completion",
                                        "Print a script that completes commands and flags.\n"
                                        "Example: source <(millstream completion bash)");
  auto shell = std::make_shared<std::string>();
  completion->add_option("shell", *shell, "bash, zsh or fish")
      ->required()
      ->check(CLI::IsMember({"bash", "zsh", "fish"}));
  completion->callback([&app, shell] { std::fputs(Completion(app, *shell).c_str(), stdout); });

  auto* reference =
      app.add_subcommand("reference", "Print the reference of all commands: docs/cli.md, or the man page.");
  reference->group("");  // for those who build the package
  auto format = std::make_shared<std::string>();
  reference->add_option("format", *format, "markdown or man")->required()->check(CLI::IsMember({"markdown", "man"}));
  reference->callback(
      [&app, format] { std::fputs((*format == "man" ? ManPage(app) : Markdown(app)).c_str(), stdout); });
}

}  // namespace millstream::cli
