// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "cli/command.h"
#include "cli/described_commands.h"

namespace millstream::cli {
namespace {

std::vector<std::string> LongNames(const CLI::Option& flag) {
  std::vector<std::string> names;
  for (const std::string& name : flag.get_lnames()) names.push_back("--" + name);
  return names;
}

// One branch of a bash `case` for each command: its flags in $words, and what the flag $before may be set to in
// $values.
std::string BashCases(const CLI::App& app) {
  std::string out;
  for (const CLI::App* command : VisibleCommandsOf(app)) {
    std::vector<std::string> words;
    std::string values, arguments;
    for (const CLI::Option* flag : VisibleFlagsOf(*command)) {
      const std::vector<std::string> names = LongNames(*flag);
      const std::string choices = absl::StrJoin(ChoicesOf(*flag), " ");
      words.insert(words.end(), names.begin(), names.end());
      if (names.empty())
        absl::StrAppend(&arguments, choices);
      else if (!choices.empty())
        absl::StrAppend(&values, "        ", absl::StrJoin(names, "|"), ") values=\"", choices, "\" ;;\n");
    }
    absl::StrAppend(&out, "    ", command->get_name(), ")\n      words=\"", absl::StrJoin(words, " "), "\"\n");
    if (!arguments.empty()) absl::StrAppend(&out, "      arguments=\"", arguments, "\"\n");
    if (!values.empty()) absl::StrAppend(&out, "      case $before in\n", values, "      esac\n");
    absl::StrAppend(&out, "      ;;\n");
  }
  return out;
}

std::string CommandNames(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* command : VisibleCommandsOf(app)) names.push_back(command->get_name());
  return absl::StrJoin(names, " ");
}

std::string BashCompletion(const CLI::App& app) {
  return absl::StrCat(R"(# Completion of millstream for bash. Use: source <(millstream completion bash)
_millstream() {
  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} words="" values="" arguments=""
  if [ "$COMP_CWORD" -eq 1 ]; then
    COMPREPLY=($(compgen -W ")",
                      CommandNames(app), R"( --help --version" -- "$word"))
    return
  fi
  if [ "$word" = = ]; then word=""; elif [ "$before" = = ]; then before=${COMP_WORDS[COMP_CWORD-2]}; fi
  case ${COMP_WORDS[1]} in
)",
                      BashCases(app), R"(  esac
  if [ -n "$values" ]; then
    COMPREPLY=($(compgen -W "$values" -- "$word"))
    return
  fi
  case $word in
    -*) COMPREPLY=($(compgen -W "$words" -- "$word")) ;;
    *) COMPREPLY=($(compgen -W "$arguments" -- "$word") $(compgen -f -- "$word")) ;;
  esac
}
complete -o filenames -F _millstream millstream
)");
}

std::string FishQuoted(absl::string_view text) {
  const absl::string_view first_line = text.substr(0, text.find('\n'));
  return absl::StrCat("'", absl::StrReplaceAll(first_line, {{"\\", "\\\\"}, {"'", "\\'"}}), "'");
}

std::string FishCompletion(const CLI::App& app) {
  std::string out;
  for (const CLI::App* command : VisibleCommandsOf(app)) {
    const std::string& name = command->get_name();
    absl::StrAppend(&out, "complete -c millstream -n __fish_use_subcommand -a ", name, " -d ",
                    FishQuoted(command->get_description()), "\n");
    for (const CLI::Option* flag : VisibleFlagsOf(*command)) {
      for (const std::string& flag_name : flag->get_lnames()) {
        absl::StrAppend(&out, "complete -c millstream -n '__fish_seen_subcommand_from ", name, "' -l ", flag_name);
        const std::vector<std::string> choices = ChoicesOf(*flag);
        if (!choices.empty()) absl::StrAppend(&out, " -x -a '", absl::StrJoin(choices, " "), "'");
        absl::StrAppend(&out, " -d ", FishQuoted(flag->get_description()), "\n");
      }
    }
  }
  return out;
}

// zsh runs bash's.
std::string Completion(const CLI::App& app, const std::string& shell) {
  if (shell == "fish") return FishCompletion(app);
  const char* before = shell == "zsh" ? "autoload -U +X bashcompinit && bashcompinit\n" : "";
  return absl::StrCat(before, BashCompletion(app));
}

Command::Run AddCompletionFlags(CLI::App& app) {
  auto shell = std::make_shared<std::string>();
  app.add_option("shell", *shell, "bash, zsh or fish")->required()->check(CLI::IsMember({"bash", "zsh", "fish"}));
  return [&app, shell] {
    std::fputs(Completion(*app.get_parent(), *shell).c_str(), stdout);
    return 0;
  };
}

const Registration<Command> kCompletionCommand({
    .name = "completion",
    .group = Command::Group::kTools,
    .help = "Print a script that completes commands, flags and their values.\n"
            "Example: source <(millstream completion bash)",
    .add_flags = AddCompletionFlags,
});

}  // namespace
}  // namespace millstream::cli
