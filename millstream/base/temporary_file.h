// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_BASE_TEMPORARY_FILE_H_
#define MILLSTREAM_BASE_TEMPORARY_FILE_H_

#include <string>

#include "absl/strings/string_view.h"
#include "millstream/base/status.h"

namespace millstream {

// Files that are written under a temporary name, "PATH.tmp-HOST-PID-NUMBER", until they are complete. The process that
// writes one keeps it open and locked; when it dies, others see that the lock is gone and delete the file
// (io/stale_files.h).

// Makes one for the file `path` in the same folder, open for writing and locked until it is closed.
StatusOr<int> OpenTemporary(const std::string& path, std::string* name);

// The final name within its folder of a file that OpenTemporary() made; "" if `name` is no such name.
std::string FinalName(absl::string_view name);

// Whether nobody uses a temporary file any more. Where locks of other hosts may not be seen (network file systems), a
// file of another host counts as used until it has not changed for an hour.
bool IsAbandoned(const std::string& path);

}  // namespace millstream

#endif  // MILLSTREAM_BASE_TEMPORARY_FILE_H_
