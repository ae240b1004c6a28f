// SPDX-License-Identifier: Apache-2.0
#include "millstream/ops/io/match_files.h"

#include <glob.h>

#include <algorithm>

#include "millstream/base/file_root.h"

namespace millstream {

Status MatchFiles(const std::string& pattern, std::vector<std::string>* found) {
  RETURN_IF_ERROR(CheckPatternAccess(pattern));
  const auto before = static_cast<std::ptrdiff_t>(found->size());
  glob_t result{};
  const int rc = glob(pattern.c_str(), GLOB_NOSORT, nullptr, &result);
  for (size_t i = 0; rc == 0 && i < result.gl_pathc; ++i) {
    if (CheckFileAccess(result.gl_pathv[i]).ok()) found->emplace_back(result.gl_pathv[i]);
  }
  globfree(&result);
  if (rc == GLOB_NOSPACE) return errors::ResourceExhausted("no memory to match ", pattern);
  std::sort(found->begin() + before, found->end());
  return OkStatus();
}

}  // namespace millstream
