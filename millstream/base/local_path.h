// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_BASE_LOCAL_PATH_H_
#define MILLSTREAM_BASE_LOCAL_PATH_H_

#include <string>

#include "absl/strings/string_view.h"
#include "millstream/base/status.h"

namespace millstream {

// Names of files may be "file:///folder/file", as in TensorFlow. Whoever gives a name to the operating system gives it
// LocalPath(name); messages and results keep the name as it was.

// "file://HOST" (no matter which host) where `name` begins so, otherwise "". Unimplemented for other schemes
// ("s3://..."), for which there are no file systems here.
StatusOr<absl::string_view> LocalPrefix(absl::string_view name);
// What follows it.
StatusOr<std::string> LocalPath(absl::string_view name);

}  // namespace millstream

#endif  // MILLSTREAM_BASE_LOCAL_PATH_H_
