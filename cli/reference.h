// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_CLI_REFERENCE_H_
#define MILLSTREAM_CLI_REFERENCE_H_

#include <string>

#include "cli/registry.h"

namespace CLI {
class App;
}

namespace millstream::cli {

// Documentation that is written by the program itself, as `millstream reference NAME` prints it.
struct ReferencePage {
  static constexpr char kKind[] = "reference";
  std::string name = {};
  std::string help = {};
  std::string (*write)(const CLI::App& app) = nullptr;
};

}  // namespace millstream::cli

#endif  // MILLSTREAM_CLI_REFERENCE_H_
