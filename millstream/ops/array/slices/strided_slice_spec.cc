// SPDX-License-Identifier: Apache-2.0
#include "millstream/ops/array/slices/strided_slice_spec.h"

#include <algorithm>
#include <bit>

#include "millstream/ops/gradients/relative.h"

namespace millstream {
namespace {

// What is asked of one dimension of the tensor.
struct Range {
  bool begin_known = false, end_known = false;
  int64_t begin = 0, end = 0, stride = 1;
  bool from_start = true, to_end = true;
  bool shrink = false;
};

bool Bit(int64_t mask, size_t i) { return i < 64 && ((mask >> i) & 1) != 0; }

// Finds begin, stride and size of one dimension with `dim` elements (-1: unknown).
Status ResolveRange(int d, int64_t dim, const Range& r, SlicePlan* plan) {
  if (r.stride == 0) return errors::InvalidArgument("strides[", d, "] must be non-zero");
  if (r.shrink && r.stride < 0) return errors::InvalidArgument("only stride 1 allowed on non-range indexing.");
  int64_t begin = 0, size = -1;
  if (r.shrink) {
    size = 1;
    if (r.begin_known) begin = r.begin < 0 && dim >= 0 ? r.begin + dim : r.begin;
    if (dim >= 0 && r.begin_known && (begin < 0 || begin >= dim)) {
      return errors::InvalidArgument("slice index ", r.begin, " of dimension ", d, " out of bounds.");
    }
  } else if (dim >= 0 && (r.from_start || r.begin_known) && (r.to_end || r.end_known)) {
    // The first and last positions that `begin` and `end` may take.
    const int64_t low = r.stride > 0 ? 0 : -1, high = r.stride > 0 ? dim : dim - 1;
    const auto clamp = [&](int64_t x) { return std::clamp(x < 0 ? x + dim : x, low, high); };
    begin = r.from_start ? (r.stride > 0 ? low : high) : clamp(r.begin);
    const int64_t end = r.to_end ? (r.stride > 0 ? high : low) : clamp(r.end);
    const int64_t length = r.stride > 0 ? end - begin : begin - end;
    // |stride| as unsigned: the most negative stride has no positive counterpart.
    const uint64_t step = r.stride > 0 ? static_cast<uint64_t>(r.stride) : 0 - static_cast<uint64_t>(r.stride);
    size = length <= 0 ? 0 : static_cast<int64_t>((static_cast<uint64_t>(length) - 1) / step + 1);
  }
  plan->begin.push_back(begin);
  plan->stride.push_back(r.stride);
  plan->size.push_back(size);
  return OkStatus();
}

}  // namespace

Status SliceMasks::Read(const AttrMap& attrs, SliceMasks* masks) {
  RETURN_IF_ERROR(attrs.Get("begin_mask", &masks->begin));
  RETURN_IF_ERROR(attrs.Get("end_mask", &masks->end));
  RETURN_IF_ERROR(attrs.Get("ellipsis_mask", &masks->ellipsis));
  RETURN_IF_ERROR(attrs.Get("new_axis_mask", &masks->new_axis));
  RETURN_IF_ERROR(attrs.Get("shrink_axis_mask", &masks->shrink_axis));
  if (std::popcount(static_cast<uint64_t>(masks->ellipsis)) > 1) {
    return errors::InvalidArgument("Multiple ellipses in slice spec not allowed");
  }
  return OkStatus();
}

Output SliceRelative(GradContext& g, const char* type, std::vector<Output> inputs) {
  return Relative(g, type, std::move(inputs),
                  {"begin_mask", "end_mask", "ellipsis_mask", "new_axis_mask", "shrink_axis_mask"});
}

Status ResolveSlice(std::span<const int64_t> dims, const Dims* begin, const Dims* end, const Dims& strides,
                    const SliceMasks& masks, SlicePlan* plan) {
  const size_t n = strides.size();
  if ((begin != nullptr && begin->size() != n) || (end != nullptr && end->size() != n)) {
    return errors::InvalidArgument("Expected begin, end, and strides to be 1D equal size tensors");
  }
  // Without an ellipsis, one is understood at the end. It takes the dimensions that no other position takes.
  size_t taken = 0;
  for (size_t i = 0; i < n; ++i) taken += !Bit(masks.ellipsis, i) && !Bit(masks.new_axis, i);
  const size_t left_over = dims.size() > taken ? dims.size() - taken : 0;
  size_t d = 0;
  const auto take_full = [&]() {
    for (const size_t stop = d + left_over; d < stop; ++d) {
      RETURN_IF_ERROR(ResolveRange(static_cast<int>(d), dims[d], Range(), plan));
      plan->final_dims.push_back(plan->size.back());
    }
    return OkStatus();
  };
  bool ellipsis = false;
  for (size_t i = 0; i < n; ++i) {
    if (Bit(masks.ellipsis, i)) {
      ellipsis = true;
      RETURN_IF_ERROR(take_full());
      continue;
    }
    if (Bit(masks.new_axis, i)) {
      plan->final_dims.push_back(1);
      continue;
    }
    if (d == dims.size()) {
      if (dims.empty()) return errors::InvalidArgument("Attempting to slice scalar input.");
      return errors::InvalidArgument("Index out of range using input dim ", d, "; input has only ", d, " dims");
    }
    const Range range = {begin != nullptr,
                         end != nullptr,
                         begin != nullptr ? (*begin)[i] : 0,
                         end != nullptr ? (*end)[i] : 0,
                         strides[i],
                         Bit(masks.begin, i),
                         Bit(masks.end, i),
                         Bit(masks.shrink_axis, i)};
    RETURN_IF_ERROR(ResolveRange(static_cast<int>(i), dims[d], range, plan));
    if (!range.shrink) plan->final_dims.push_back(plan->size.back());
    ++d;
  }
  return ellipsis ? OkStatus() : take_full();
}

}  // namespace millstream
