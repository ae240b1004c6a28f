// SPDX-License-Identifier: Apache-2.0
#include "cli/exit_code.h"

#include <cstdio>

namespace millstream::cli {

int Fail(const Status& status) {
  std::fprintf(stderr, "millstream: %s\n", std::string(status.message()).c_str());
  return kFailed;
}

int FailFlags(const Status& status) {
  Fail(status);
  return absl::IsInvalidArgument(status) ? kWrongUsage : kFailed;
}

}  // namespace millstream::cli
