// SPDX-License-Identifier: Apache-2.0
#include "cli/command_line.h"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "cli/command.h"
#include "cli/help_formatter.h"
#include "cli/text_layout.h"
#include "millstream/base/version.h"

namespace millstream::cli {
namespace {

constexpr int kWidestHelp = 120;

std::vector<std::string>& Program() {
  static auto* program = new std::vector<std::string>;
  return *program;
}

// In the order of Command::Group.
const char* Heading(Command::Group group) {
  constexpr const char* kHeadings[] = {"Run jobs", "Manage clusters", "Look into files", "Tools", ""};
  return kHeadings[static_cast<size_t>(group)];
}

// By group, then by name.
std::vector<const Command*> CommandsInOrder() {
  std::vector<const Command*> commands = Registry<Command>::All();
  std::stable_sort(commands.begin(), commands.end(),
                   [](const Command* a, const Command* b) { return a->group < b->group; });
  return commands;
}

void AddCommands(CLI::App& app, int* exit_code) {
  app.option_defaults()->ignore_underscore();  // --log_dir is --logdir
  app.set_version_flag("--version", kVersion, "Print the version and exit");
  app.require_subcommand(1);
  app.formatter(std::make_shared<HelpFormatter>(std::min(TerminalColumns(STDOUT_FILENO), kWidestHelp)));
  app.footer(absl::StrCat("'millstream COMMAND --help' shows the flags of a command. Flags may be written with ",
                          "hyphens or underscores.\n", kExitCodesHelp));
  for (const Command* command : CommandsInOrder()) {
    CLI::App* sub = app.add_subcommand(command->name, command->help)->group(Heading(command->group));
    Command::Run run = command->add_flags(*sub);
    sub->callback([run = std::move(run), exit_code] { *exit_code = run(); });
  }
}

int WrongUsage(const std::string& command, const std::string& message) {
  const std::string name = command.empty() ? "millstream" : "millstream " + command;
  std::fprintf(stderr, "%s: %s ('%s --help' shows how it is used)\n", name.c_str(), message.c_str(), name.c_str());
  return kWrongUsage;
}

std::vector<std::string> VisibleCommands() {
  std::vector<std::string> names;
  for (const Command* command : CommandsInOrder()) {
    if (command->group != Command::Group::kHidden) names.push_back(command->name);
  }
  return names;
}

int UnknownCommand(const std::string& word) {
  std::string question = DidYouMean(word, VisibleCommands());
  if (question.empty()) question = absl::StrCat("; there are: ", absl::StrJoin(VisibleCommands(), ", "));
  std::fprintf(stderr, "millstream: unknown command \"%s\"%s\n", word.c_str(), question.c_str());
  return kWrongUsage;
}

// The first word that the command has no use for.
std::string UnexpectedWord(const CLI::App& command) {
  const std::vector<std::string> rest = command.remaining();
  if (rest.empty()) return "";
  const std::string word = rest[0].substr(0, rest[0].find('='));
  if (!absl::StartsWith(word, "-")) return absl::StrCat("unexpected argument '", word, "'");
  std::vector<std::string> flags;
  for (const CLI::Option* option : command.get_options()) {
    for (const std::string& name : option->get_lnames()) flags.push_back("--" + name);
  }
  return absl::StrCat("unknown flag '", word, "'", DidYouMean(word, flags));
}

int ParseError(const CLI::App& app, const CLI::ParseError& error) {
  const std::vector<CLI::App*> parsed = app.get_subcommands();
  const CLI::App& command = parsed.empty() ? app : *parsed.back();
  const std::string message = UnexpectedWord(command);  // may be why something else is missing
  return WrongUsage(parsed.empty() ? "" : command.get_name(), message.empty() ? error.what() : message);
}

// CLI11 would read "-- program --its_flags" as flags of its own.
std::vector<std::string> TakeProgram(std::vector<std::string> words) {
  if (words.empty()) return words;
  const StatusOr<const Command*> command = Registry<Command>::Find(words[0]);
  if (!command.ok() || !(*command)->takes_program) return words;
  const auto mark = std::find(words.begin(), words.end(), "--");
  if (mark == words.end()) return words;
  Program().assign(mark + 1, words.end());
  words.erase(mark, words.end());
  return words;
}

}  // namespace

const std::vector<std::string>& ProgramArguments() { return Program(); }

std::string NormalizeFlag(const std::string& word) {
  if (!absl::StartsWith(word, "--") || word.size() == 2) return word;
  std::string flag = word;
  const auto end = std::find(flag.begin(), flag.end(), '=');
  std::replace(flag.begin() + 2, end, '-', '_');
  return flag;
}

int RunCommandLine(int argc, char** argv) {
  std::vector<std::string> words = TakeProgram({argv + 1, argv + argc});
  if (words.empty()) return WrongUsage("", absl::StrCat("which command? ", absl::StrJoin(VisibleCommands(), ", ")));
  if (!absl::StartsWith(words[0], "-") && !Registry<Command>::Find(words[0]).ok()) return UnknownCommand(words[0]);
  std::transform(words.begin(), words.end(), words.begin(), NormalizeFlag);
  int exit_code = 0;
  CLI::App app("Millstream: distributed TensorFlow 1.x in C++", "millstream");
  AddCommands(app, &exit_code);
  std::reverse(words.begin(), words.end());  // as CLI11 takes them
  try {
    app.parse(std::move(words));
  } catch (const CLI::Success& shown) {  // --help and --version
    return app.exit(shown);
  } catch (const CLI::ParseError& error) {
    return ParseError(app, error);
  }
  return exit_code;
}

}  // namespace millstream::cli
