// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_IO_GLOB_FILES_H_
#define MILLSTREAM_IO_GLOB_FILES_H_

#include <string>
#include <vector>

#include "millstream/base/status.h"

namespace millstream {

// The names that a shell pattern matches, sorted. Those that a "file://" pattern matches begin so as well.
StatusOr<std::vector<std::string>> GlobFiles(const std::string& pattern);

}  // namespace millstream

#endif  // MILLSTREAM_IO_GLOB_FILES_H_
