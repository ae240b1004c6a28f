// SPDX-License-Identifier: Apache-2.0
#include "millstream/runtime/job_member.h"

#include <cstdlib>
#include <string>

namespace millstream {
bool PsTasksAreKept() {
  const char* keep = std::getenv("MILLSTREAM_KEEP_PS");
  return keep != nullptr && std::string(keep) == "1";
}

}  // namespace millstream
