// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_LAUNCH_JOB_TOKEN_H_
#define MILLSTREAM_LAUNCH_JOB_TOKEN_H_

#include <string>

#include "millstream/base/status.h"

namespace millstream::launch {

// The secret that the tasks of a job know each other by (MILLSTREAM_TOKEN_FILE).

// 32 bytes from the system's random generator, in hexadecimal digits.
StatusOr<std::string> MakeToken();

// A new folder that this user alone may enter, in memory where there is such a place. Whoever calls removes it.
StatusOr<std::string> MakeScratchFolder();

// The token in a new folder that this user alone may enter. Whoever calls removes the folder:
// GroupOptions::scratch_folder.
struct TokenFile {
  std::string folder, path;
};
StatusOr<TokenFile> WriteTokenFile(const std::string& token);

}  // namespace millstream::launch

#endif  // MILLSTREAM_LAUNCH_JOB_TOKEN_H_
