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

}  // namespace millstream::cli
