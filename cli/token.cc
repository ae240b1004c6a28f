// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>
#include <cstdio>

#include "cli/command.h"
#include "cli/job_flags.h"
#include "millstream/distributed/trust/role.h"
#include "millstream/launch/job_token.h"

namespace millstream::cli {
namespace {

struct TokenFlags {
  std::string job, role;
  AccessFlags access;
};

StatusOr<std::string> JobTokenOf(const TokenFlags& flags) {
  ServerOptions options;
  if (flags.job.empty()) {
    RETURN_IF_ERROR(flags.access.Apply(&options));
  } else {
    ASSIGN_OR_RETURN(const JobTarget target, TargetOfJob(flags.job, flags.access));
    options.token = target.access.token;
  }
  if (options.token.empty()) {
    return errors::InvalidArgument("which token? Give the name of a running job that has one, or --token_file");
  }
  if (IsRoleToken(options.token)) {
    return errors::InvalidArgument("this is the token of a role already; others come from the job token alone");
  }
  return options.token;
}

int RunToken(const TokenFlags& flags) {
  if (flags.role.empty()) {
    const StatusOr<std::string> made = launch::MakeToken();
    if (!made.ok()) return Fail(made.status());
    std::printf("%s\n", made->c_str());
    return 0;
  }
  const StatusOr<Role> role = ParseRole(flags.role);
  if (!role.ok()) return FailFlags(role.status());
  const StatusOr<std::string> token = JobTokenOf(flags);
  if (!token.ok()) return FailFlags(token.status());
  std::printf("%s\n", RoleToken(*token, *role).c_str());
  return 0;
}

Command::Run AddTokenFlags(CLI::App& app) {
  auto flags = std::make_shared<TokenFlags>();
  app.add_option("job", flags->job, "name of a running job of 'train' or 'launch', or the folder it writes to");
  app.add_option("--role", flags->role, "print the token of this role: observer (may read the status page) or client");
  flags->access.AddTo(app);
  return [flags] { return RunToken(*flags); };
}

const Registration<Command> kTokenCommand({
    .name = "token",
    .group = Command::Group::kClusters,
    .help = "Print a new job token, or the token of a role, which can be given away.\n"
            "Examples: millstream token > ~/.millstream-token\n"
            "          millstream token --role observer mlp-20261116-105500",
    .add_flags = AddTokenFlags,
});

}  // namespace
}  // namespace millstream::cli
