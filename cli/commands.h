// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_CLI_COMMANDS_H_
#define MILLSTREAM_CLI_COMMANDS_H_

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace millstream::cli {

// Takes "-- program arguments" off a command line, which CLI11 would read as its own; returns how many arguments are
// left.
int TakeProgram(int argc, char** argv);
// What TakeProgram() took.
const std::vector<std::string>& TakenProgram();

// Each adds one subcommand, which sets *status to the exit code when it has run.
void AddAgentCommand(CLI::App& app, int* status);
void AddBenchCommand(CLI::App& app, int* status);
void AddCheckCommand(CLI::App& app, int* status);
void AddInspectCommand(CLI::App& app, int* status);
void AddReferenceCommands(CLI::App& app, int* status);  // completion, and the reference itself
void AddLaunchCommand(CLI::App& app, int* status);
void AddManifestCommand(CLI::App& app, int* status);
void AddServerCommand(CLI::App& app, int* status);
void AddStopCommand(CLI::App& app, int* status);
void AddTraceCommand(CLI::App& app, int* status);
void AddTrainCommand(CLI::App& app, int* status);

}  // namespace millstream::cli

#endif  // MILLSTREAM_CLI_COMMANDS_H_
