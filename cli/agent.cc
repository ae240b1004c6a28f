// SPDX-License-Identifier: Apache-2.0
#include "millstream/launch/agent.h"

#include <CLI/CLI.hpp>
#include <cstdio>

#include "cli/command.h"
#include "millstream/launch/free_ports.h"

namespace millstream::cli {
namespace {

Command::Run AddAgentFlags(CLI::App& app) {
  auto ports = std::make_shared<int>(0);
  app.add_option("--ports", *ports, "print that many free ports and end")->check(CLI::Range(1, 2000));
  return [ports] {
    if (*ports == 0) return launch::ServeAgent();
    const StatusOr<launch::FreePorts> found = launch::FreePorts::Reserve(*ports);
    if (!found.ok()) return Fail(found.status());
    std::printf("%s\n", launch::AnswerPorts(found->ports()).c_str());
    return 0;
  };
}

const Registration<Command> kAgentCommand({
    .name = "agent",
    .help = "The launcher's other end on a host; started over ssh.",
    .add_flags = AddAgentFlags,
});

}  // namespace
}  // namespace millstream::cli
