// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_CLI_DESCRIBED_COMMANDS_H_
#define MILLSTREAM_CLI_DESCRIBED_COMMANDS_H_

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace millstream::cli {

// What the reference, the manual page and completions are made of: the commands and flags of the program as they were
// added to CLI11, without hidden ones and --help.
std::vector<const CLI::App*> VisibleCommandsOf(const CLI::App& app);
std::vector<const CLI::Option*> VisibleFlagsOf(const CLI::App& command);  // and positionals
// What a flag may be set to, if that is a list: {"async", "sync"}.
std::vector<std::string> ChoicesOf(const CLI::Option& flag);

}  // namespace millstream::cli

#endif  // MILLSTREAM_CLI_DESCRIBED_COMMANDS_H_
