// SPDX-License-Identifier: Apache-2.0
#include "millstream/io/glob_files.h"

#include <glob.h>

#include <algorithm>

#include "millstream/base/local_path.h"

namespace millstream {

StatusOr<std::vector<std::string>> GlobFiles(const std::string& pattern) {
  ASSIGN_OR_RETURN(const absl::string_view prefix, LocalPrefix(pattern));
  const std::string local = pattern.substr(prefix.size());
  std::vector<std::string> names;
  glob_t found = {};
  const int rc = glob(local.c_str(), GLOB_NOSORT, nullptr, &found);
  for (size_t i = 0; rc == 0 && i < found.gl_pathc; ++i) names.push_back(absl::StrCat(prefix, found.gl_pathv[i]));
  globfree(&found);
  if (rc == GLOB_NOSPACE) return errors::ResourceExhausted("no memory to match ", pattern);
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace millstream
