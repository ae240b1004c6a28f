// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_IO_CHECKPOINT_FILES_H_
#define MILLSTREAM_IO_CHECKPOINT_FILES_H_

#include <string>
#include <vector>

#include "millstream/base/status.h"

namespace millstream {

// What can be told of checkpoints without reading their tensors.

// OK if the checkpoint has all its files: an index that can be read, and data files that are as long as the index says.
// NotFound or DataLoss with the name of the file that is missing or damaged. A prefix without an index may be the name
// of a V1 checkpoint, or a pattern of its shards, whose files must be there.
Status CheckCheckpointFiles(const std::string& prefix);

// The checkpoints of a folder whose names end in "-STEP", as Saver::Save() makes them, the lowest step first. Those
// that only look like checkpoints may be among them. Empty if the folder cannot be read.
std::vector<std::string> FindCheckpoints(const std::string& folder);

}  // namespace millstream

#endif  // MILLSTREAM_IO_CHECKPOINT_FILES_H_
