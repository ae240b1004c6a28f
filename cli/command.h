// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_CLI_COMMAND_H_
#define MILLSTREAM_CLI_COMMAND_H_

#include <functional>
#include <string>
#include <vector>

#include "cli/exit_code.h"
#include "cli/registry.h"

namespace CLI {
class App;
}

namespace millstream::cli {

// A subcommand of `millstream`: one file that registers it with its flags and help (cli/registry.h). Its --help, its
// part of the reference and of the manual page, and its completions are made from that.
struct Command {
  static constexpr char kKind[] = "command";
  // Under which heading the list of commands shows it.
  enum class Group { kJobs, kClusters, kFiles, kTools, kHidden };
  // Runs the command once its flags have been read; returns the exit code.
  using Run = std::function<int()>;

  std::string name = {};
  Group group = Group::kHidden;
  // The first line says what it does. Lines after "Example: " or "Examples: " are commands to type.
  std::string help = {};
  bool takes_program = false;  // "-- program arguments" follows the flags: see ProgramArguments()
  Run (*add_flags)(CLI::App& app) = nullptr;
};

// What followed "--" on the command line of a command that takes a program.
const std::vector<std::string>& ProgramArguments();

}  // namespace millstream::cli

#endif  // MILLSTREAM_CLI_COMMAND_H_
