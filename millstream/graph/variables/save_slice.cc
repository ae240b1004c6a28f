// SPDX-License-Identifier: Apache-2.0
#include "millstream/graph/variables/save_slice.h"

#include "absl/strings/numbers.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"

namespace millstream {

std::string SaveSlice::Spec() const {
  std::vector<std::string> ranges;
  for (size_t i = 0; i < offset.size(); ++i) ranges.push_back(absl::StrCat(offset[i], ",", shape[i]));
  return absl::StrCat(absl::StrJoin(full_shape, " "), " ", absl::StrJoin(ranges, ":"));
}

void SetSaveSlice(Node* variable, const SaveSlice& slice) {
  variable->attrs().Set(kSaveSliceAttr, absl::StrCat(slice.full_name, " ", slice.Spec()));
}

std::optional<SaveSlice> SaveSliceOf(const Node& variable) {
  std::string text;
  if (!variable.GetAttr(kSaveSliceAttr, &text).ok()) return std::nullopt;
  const std::vector<std::string> words = absl::StrSplit(text, ' ');
  if (words.size() < 3) return std::nullopt;
  SaveSlice slice;
  slice.full_name = words[0];
  for (size_t i = 1; i + 1 < words.size(); ++i) {
    int64_t size = 0;
    if (!absl::SimpleAtoi(words[i], &size)) return std::nullopt;
    slice.full_shape.push_back(size);
  }
  for (absl::string_view range : absl::StrSplit(words.back(), ':')) {
    const std::pair<absl::string_view, absl::string_view> ends = absl::StrSplit(range, absl::MaxSplits(',', 1));
    int64_t start = 0, length = 0;
    if (!absl::SimpleAtoi(ends.first, &start) || !absl::SimpleAtoi(ends.second, &length)) return std::nullopt;
    slice.offset.push_back(start);
    slice.shape.push_back(length);
  }
  if (slice.offset.size() != slice.full_shape.size()) return std::nullopt;
  return slice;
}

}  // namespace millstream
