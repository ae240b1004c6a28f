// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_CLI_NEAREST_NAME_H_
#define MILLSTREAM_CLI_NEAREST_NAME_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace millstream::cli {

// The name that a mistyped word was probably meant to be: the one with the fewest edits, or one that begins with the
// word. "" if none is near.
std::string NearestName(absl::string_view typed, const std::vector<std::string>& names);

// ", did you mean 'x'?" or "".
std::string DidYouMean(absl::string_view typed, const std::vector<std::string>& names);

}  // namespace millstream::cli

#endif  // MILLSTREAM_CLI_NEAREST_NAME_H_
