// SPDX-License-Identifier: Apache-2.0
#include "millstream/base/local_path.h"

#include <algorithm>

#include "absl/strings/ascii.h"

namespace millstream {

StatusOr<absl::string_view> LocalPrefix(absl::string_view name) {
  const auto in_scheme = [](char c) { return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '.'; };
  const auto end = static_cast<size_t>(std::find_if_not(name.begin(), name.end(), in_scheme) - name.begin());
  if (end == 0 || !absl::ascii_isalpha(static_cast<unsigned char>(name[0])) || name.substr(end, 3) != "://") {
    return absl::string_view();
  }
  const absl::string_view scheme = name.substr(0, end);
  if (scheme != "file") {
    return errors::Unimplemented("File system scheme '", scheme, "' not implemented (file: '", name, "')");
  }
  return name.substr(0, name.find('/', end + 3));
}

StatusOr<std::string> LocalPath(absl::string_view name) {
  ASSIGN_OR_RETURN(const absl::string_view prefix, LocalPrefix(name));
  return std::string(name.substr(prefix.size()));
}

}  // namespace millstream
