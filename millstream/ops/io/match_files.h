// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_OPS_IO_MATCH_FILES_H_
#define MILLSTREAM_OPS_IO_MATCH_FILES_H_

#include <string>
#include <vector>

#include "millstream/framework/resource_manager.h"

namespace millstream {

// Adds the names that a shell pattern matches and that the program may read, sorted. PermissionDenied if the pattern
// lies outside of what may be read.
Status MatchFiles(const ResourceManager* resources, const std::string& pattern, std::vector<std::string>* found);
// Whether one of these names is a folder, or a link to one.
bool IsFolder(const ResourceManager* resources, const std::string& name);

}  // namespace millstream

#endif  // MILLSTREAM_OPS_IO_MATCH_FILES_H_
