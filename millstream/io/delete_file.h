// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_IO_DELETE_FILE_H_
#define MILLSTREAM_IO_DELETE_FILE_H_

#include <string>

#include "millstream/base/status.h"

namespace millstream {

// Deletes a file: its name is gone when this returns. What a large one took is given back on a thread of its own, since
// the system needs a tenth of a second for each GB. NotFound if there is none.
Status DeleteLargeFile(const std::string& path);

}  // namespace millstream

#endif  // MILLSTREAM_IO_DELETE_FILE_H_
