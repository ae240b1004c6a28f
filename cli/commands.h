// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_CLI_COMMANDS_H_
#define MILLSTREAM_CLI_COMMANDS_H_

namespace CLI {
class App;
}

namespace millstream::cli {

// Each adds one subcommand, which sets *status to the exit code when it has run.
void AddBenchCommand(CLI::App& app, int* status);
void AddCheckCommand(CLI::App& app, int* status);
void AddInspectCommand(CLI::App& app, int* status);
void AddReferenceCommands(CLI::App& app, int* status);  // completion, and the reference itself
void AddServerCommand(CLI::App& app, int* status);
void AddStopCommand(CLI::App& app, int* status);
void AddTraceCommand(CLI::App& app, int* status);
void AddTrainCommand(CLI::App& app, int* status);

}  // namespace millstream::cli

#endif  // MILLSTREAM_CLI_COMMANDS_H_
