// SPDX-License-Identifier: Apache-2.0
#include "millstream/ops/elements/nd_index.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "millstream/tensor/dispatch.h"

namespace millstream {
namespace {

// "[1,2]" for the place of row number `row` in all dimensions of `indices` but the last; nothing if there are none.
std::string Position(const Shape& indices, int64_t row) {
  std::string position;
  for (int d = indices.rank() - 2; d >= 0; row /= indices.dim(d), --d) {
    position = absl::StrCat(row % indices.dim(d), position.empty() ? "" : ",", position);
  }
  return position.empty() ? "" : absl::StrCat("[", position, "]");
}

template <typename Index>
Status Resolve(const Tensor& indices, const Shape& shape, BadIndex policy, std::span<int64_t> offsets,
               absl::string_view into) {
  const int depth = static_cast<int>(indices.dim(indices.rank() - 1));
  const Index* at = indices.data<Index>();
  for (size_t row = 0; row < offsets.size(); ++row, at += depth) {
    int64_t offset = 0;
    bool outside = false;
    for (int d = 0; d < depth; ++d) {
      outside |= at[d] < 0 || at[d] >= shape.dim(d);
      offset = offset * shape.dim(d) + (outside ? 0 : static_cast<int64_t>(at[d]));
    }
    if (outside && policy == BadIndex::kError) {
      return errors::InvalidArgument("indices", Position(indices.shape(), static_cast<int64_t>(row)), " = [",
                                     absl::StrJoin(at, at + depth, ", "), "] does not index into ", into, " ",
                                     shape.ToString());
    }
    offsets[row] = outside ? -1 : offset;
  }
  return OkStatus();
}

}  // namespace

std::string PlaceOf(const Shape& shape, int64_t i) {
  std::vector<int64_t> at(static_cast<size_t>(shape.rank()));
  for (int d = shape.rank() - 1; d >= 0; i /= shape.dim(d--)) at[static_cast<size_t>(d)] = i % shape.dim(d);
  return at.empty() ? "" : absl::StrCat("[", absl::StrJoin(at, ","), "]");
}

Status ReadBadIndexPolicy(const AttrMap& attrs, BadIndex* policy) {
  std::string text;
  RETURN_IF_ERROR(attrs.Get("bad_indices_policy", &text));
  *policy = text == "IGNORE" ? BadIndex::kIgnore : BadIndex::kError;
  if (text.empty() || text == "DEFAULT" || text == "ERROR" || text == "IGNORE") return OkStatus();
  return errors::InvalidArgument("Unknown bad_indices_policy: ", text);
}

Status ResolveNdIndices(const Tensor& indices, const Shape& shape, BadIndex policy, std::span<int64_t> offsets,
                        absl::string_view into) {
  Status status;
  DispatchOver(Types<int16_t, int32_t, int64_t>{}, indices.dtype(), [&](auto type) {
    status = Resolve<typename decltype(type)::type>(indices, shape, policy, offsets, into);
  });
  return status;
}

}  // namespace millstream
