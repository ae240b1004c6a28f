// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_CLI_COMMAND_LINE_H_
#define MILLSTREAM_CLI_COMMAND_LINE_H_

#include <string>
#include <vector>

namespace millstream::cli {

// The whole program: finds the command, reads its flags, runs it. Returns the exit code (cli/exit_code.h).
int RunCommandLine(int argc, char** argv);

// Flags may be written with hyphens or underscores: "--log-dir=a-b" becomes "--log_dir=a-b". Other words stay.
std::string NormalizeFlag(const std::string& word);

}  // namespace millstream::cli

#endif  // MILLSTREAM_CLI_COMMAND_LINE_H_
