// SPDX-License-Identifier: Apache-2.0
#include "millstream/io/slice_copy.h"

#include <algorithm>

#include "millstream/proto/tensor_slice.pb.h"

namespace millstream {

TensorSlice SliceFromProto(const proto::TensorSliceProto& proto) {
  TensorSlice slice;
  for (const auto& e : proto.extent()) {
    TensorSlice::Extent extent;
    if (e.has_length()) extent = {e.start(), e.length()};
    slice.extents.push_back(extent);
  }
  return slice;
}

void SliceToProto(const TensorSlice& slice, proto::TensorSliceProto* proto) {
  for (const auto& e : slice.extents) {
    auto* extent = proto->add_extent();
    if (e.length < 0) continue;
    extent->set_start(e.start);
    extent->set_length(e.length);
  }
}

TensorSlice FullSlice(const Shape& shape) {
  TensorSlice slice;
  slice.extents.resize(static_cast<size_t>(shape.rank()));
  return slice;
}

int64_t CopyOverlap(const Shape& full, const TensorSlice& from_slice, const Tensor& from, const TensorSlice& to_slice,
                    Tensor* to) {
  const int rank = full.rank();
  std::vector<int64_t> begin(rank), count(rank), from_start(rank), to_start(rank);
  int64_t total = 1;
  for (int d = 0; d < rank; ++d) {
    const auto range = [&](const TensorSlice& s) {
      const auto& e = s.extents[d];
      return e.length < 0 ? std::pair<int64_t, int64_t>{0, full.dim(d)}
                          : std::pair<int64_t, int64_t>{e.start, e.start + e.length};
    };
    const auto [fb, fe] = range(from_slice);
    const auto [tb, te] = range(to_slice);
    begin[d] = std::max(fb, tb);
    count[d] = std::min(fe, te) - begin[d];
    from_start[d] = fb;
    to_start[d] = tb;
    if (count[d] <= 0) return 0;
    total *= count[d];
  }
  if (rank == 0) count.push_back(1), begin.push_back(0), from_start.push_back(0), to_start.push_back(0);
  const int last = std::max(rank, 1) - 1;
  std::vector<int64_t> at(begin);
  for (int64_t row = 0; row < total / count[last]; ++row) {
    int64_t from_index = 0, to_index = 0;
    for (int d = 0; d < rank; ++d) {
      from_index = from_index * from.dim(d) + at[d] - from_start[d];
      to_index = to_index * to->dim(d) + at[d] - to_start[d];
    }
    if (from.dtype() == DType::kString) {
      std::copy_n(from.data<std::string>() + from_index, count[last], to->data<std::string>() + to_index);
    } else {
      const auto size = static_cast<int64_t>(DTypeSize(from.dtype()));
      std::copy_n(static_cast<const char*>(from.raw()) + from_index * size, count[last] * size,
                  static_cast<char*>(to->raw()) + to_index * size);
    }
    for (int d = last - 1; d >= 0 && ++at[d] == begin[d] + count[d]; --d) at[d] = begin[d];
  }
  return total;
}

}  // namespace millstream
