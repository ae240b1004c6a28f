// SPDX-License-Identifier: Apache-2.0
#include "cli/described_commands.h"

#include "absl/strings/str_split.h"

namespace millstream::cli {

std::vector<const CLI::App*> VisibleCommandsOf(const CLI::App& app) {
  return app.get_subcommands([](const CLI::App* command) { return !command->get_group().empty(); });
}

std::vector<const CLI::Option*> VisibleFlagsOf(const CLI::App& command) {
  return command.get_options(
      [](const CLI::Option* flag) { return !flag->get_group().empty() && !flag->check_lname("help"); });
}

// CLI11 shows what IsMember() allows as the type "TEXT:{async,sync}".
std::vector<std::string> ChoicesOf(const CLI::Option& flag) {
  const std::string type = flag.get_type_name();
  const size_t begin = type.find(":{");
  if (begin == std::string::npos || type.back() != '}') return {};
  return absl::StrSplit(type.substr(begin + 2, type.size() - begin - 3), ',');
}

}  // namespace millstream::cli
