// SPDX-License-Identifier: Apache-2.0
#include "cli/nearest_name.h"

#include <algorithm>
#include <numeric>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace millstream::cli {
namespace {

// Insertions, deletions, replacements and swaps of neighbours that make one word of the other (optimal string
// alignment).
size_t EditDistance(absl::string_view a, absl::string_view b) {
  std::vector<std::vector<size_t>> cost(a.size() + 1, std::vector<size_t>(b.size() + 1));
  std::iota(cost[0].begin(), cost[0].end(), 0);
  for (size_t i = 1; i <= a.size(); ++i) {
    cost[i][0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t replace = cost[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      cost[i][j] = std::min({replace, cost[i - 1][j] + 1, cost[i][j - 1] + 1});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        cost[i][j] = std::min(cost[i][j], cost[i - 2][j - 2] + 1);
    }
  }
  return cost[a.size()][b.size()];
}

}  // namespace

std::string NearestName(absl::string_view typed, const std::vector<std::string>& names) {
  constexpr size_t kShortestPrefix = 2;
  std::string nearest;
  size_t fewest = std::max<size_t>(1, typed.size() / 3) + 1;  // more edits than this make another word
  for (const std::string& name : names) {
    const size_t edits = EditDistance(typed, name);
    if (edits >= fewest) continue;
    fewest = edits;
    nearest = name;
  }
  if (!nearest.empty() || typed.size() < kShortestPrefix) return nearest;
  const auto begins =
      std::find_if(names.begin(), names.end(), [&](const std::string& name) { return absl::StartsWith(name, typed); });
  return begins == names.end() ? "" : *begins;
}

std::string DidYouMean(absl::string_view typed, const std::vector<std::string>& names) {
  const std::string nearest = NearestName(typed, names);
  return nearest.empty() ? "" : absl::StrCat(", did you mean '", nearest, "'?");
}

}  // namespace millstream::cli
