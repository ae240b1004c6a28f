// SPDX-License-Identifier: Apache-2.0
#include "millstream/ops/io/match_files.h"

#include "millstream/base/file_root.h"
#include "millstream/io/glob_files.h"

namespace millstream {

Status MatchFiles(const std::string& pattern, std::vector<std::string>* found) {
  RETURN_IF_ERROR(CheckPatternAccess(pattern));
  ASSIGN_OR_RETURN(std::vector<std::string> names, GlobFiles(pattern));
  for (std::string& name : names) {
    if (CheckFileAccess(name).ok()) found->push_back(std::move(name));
  }
  return OkStatus();
}

}  // namespace millstream
