// SPDX-License-Identifier: Apache-2.0
#include "millstream/ops/io/match_files.h"

#include <unistd.h>

#include "millstream/base/file.h"
#include "millstream/base/open_path.h"
#include "millstream/framework/graph_files.h"
#include "millstream/io/glob_files.h"

namespace millstream {

Status MatchFiles(const ResourceManager* resources, const std::string& pattern, std::vector<std::string>* found) {
  ASSIGN_OR_RETURN(const std::string confined, ConfinedPath(resources, pattern));
  ASSIGN_OR_RETURN(const std::vector<std::string> names, GlobFiles(confined));
  for (const std::string& name : names) {
    if (!IsConfinedPath(name) || FileExists(name)) found->push_back(PlainPathString(name));  // no links that lead out
  }
  return OkStatus();
}

bool IsFolder(const ResourceManager* resources, const std::string& name) {
  const StatusOr<std::string> path = ConfinedPath(resources, name);
  const StatusOr<int> fd = path.ok() ? OpenPath(*path, O_PATH | O_DIRECTORY) : path.status();
  if (fd.ok()) close(*fd);
  return fd.ok();
}

}  // namespace millstream
