// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>

#include "cli/commands.h"
#include "millstream/base/version.h"

int main(int argc, char** argv) {
  argc = millstream::cli::TakeProgram(argc, argv);
  CLI::App app("Millstream: distributed TensorFlow 1.x in C++");
  app.set_version_flag("--version", millstream::kVersion);
  app.require_subcommand(1);
  int status = 0;
  millstream::cli::AddTrainCommand(app, &status);
  millstream::cli::AddLaunchCommand(app, &status);
  millstream::cli::AddManifestCommand(app, &status);
  millstream::cli::AddAgentCommand(app, &status);
  millstream::cli::AddServerCommand(app, &status);
  millstream::cli::AddCheckCommand(app, &status);
  millstream::cli::AddStopCommand(app, &status);
  millstream::cli::AddTraceCommand(app, &status);
  millstream::cli::AddInspectCommand(app, &status);
  millstream::cli::AddBenchCommand(app, &status);
  millstream::cli::AddReferenceCommands(app, &status);
  CLI11_PARSE(app, argc, argv);
  return status;
}
