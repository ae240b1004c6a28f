// SPDX-License-Identifier: Apache-2.0
#include "cli/train/modes/mode.h"

#include <cstdlib>

namespace millstream::cli {

const Mode& DefaultMode() {
  for (const Mode* mode : Registry<Mode>::All()) {
    if (mode->is_default) return *mode;
  }
  std::abort();  // cli/train/registrations_test.cc
}

Status CheckAtMostWorkers(const OwnFlagValues& flags, const char* flag, int num_workers) {
  if (!flags.Has(flag) || flags.Integer(flag) <= num_workers) return OkStatus();
  return errors::InvalidArgument("--", flag, " ", flags.Integer(flag), " is more than the ", num_workers, " workers");
}

}  // namespace millstream::cli
