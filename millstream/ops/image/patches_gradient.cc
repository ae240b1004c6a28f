// SPDX-License-Identifier: Apache-2.0
#include "millstream/ops/image/patches_gradient.h"

namespace millstream {

Status PatchesGradient(GradContext& g, int dims, absl::FunctionRef<Output(Output)> take) {
  const Scope& s = g.scope();
  const Output x = g.input(0), dy = g.dy(0), one = s.Const<int32_t>(1);
  const Output shape = g.Op("Shape", {x});
  const auto size = [&](int d) {
    return g.Op("StridedSlice", {shape, s.Constant({d}), s.Constant({d + 1}), s.Constant({1})},
                {{"shrink_axis_mask", 1}});
  };
  const Output batch = size(0), depth = size(dims + 1);
  std::vector<Output> numbered = {one};
  for (int d = 1; d <= dims; ++d) numbered.push_back(size(d));
  Output places = numbered.back();
  for (int d = dims - 1; d > 0; --d) places = g.Op("Mul", {numbered[static_cast<size_t>(d)], places});
  numbered.push_back(one);
  const Output numbers = g.Op("Range", {one, g.Op("AddV2", {places, one}), one});
  const Output patches = take(g.Op("Reshape", {numbers, g.Op("Pack", numbered, {{"N", dims + 2}})}));
  const Output which = g.Op("Sub", {g.Op("Reshape", {patches, s.Constant({-1})}), one});
  const Output split = g.Op("Reshape", {dy, g.Op("Pack", {batch, g.Op("Size", {patches}), depth}, {{"N", 3}})});
  const Output by_tap = g.Op("Transpose", {split, s.Constant({1, 0, 2})});
  const Output sums = g.Op("Transpose", {g.Op("UnsortedSegmentSum", {by_tap, which, places}), s.Constant({1, 0, 2})});
  g.set_dx(0, g.Op("Reshape", {sums, shape}));
  return g.status();
}

}  // namespace millstream
