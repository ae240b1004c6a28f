// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_OPS_ELEMENTS_STRIDED_COPY_H_
#define MILLSTREAM_OPS_ELEMENTS_STRIDED_COPY_H_

#include "absl/container/inlined_vector.h"
#include "millstream/framework/kernel.h"

namespace millstream {

// Copies a grid of elements between two arrays in which each axis of the grid has its own step: slices, transposes,
// tilings (step 0 in the source), reversals (negative steps) and paddings are all of this form. Axes that continue each
// other are joined, so that contiguous runs become single copies. Source and target may be the same array if no element
// is both read and written; no target element may occur twice.
class StridedCopy {
 public:
  struct Axis {
    int64_t size;
    int64_t from;  // step in the source, in elements
    int64_t to;    // step in the target
  };

  // Adds the next inner axis.
  void Add(int64_t size, int64_t from_step, int64_t to_step);
  // Runs over the grid with its first element at from[0] and to[0], which hold elements of `dtype`.
  void Run(const KernelContext& ctx, DType dtype, const void* from, void* to);

 private:
  template <typename T>
  void RunRows(const KernelContext& ctx, const T* from, T* to) const;
  template <typename T>
  void RunTiles(const KernelContext& ctx, const T* from, T* to) const;
  // Brings an axis that is contiguous in the source next to the innermost one, if the latter is not; true if so.
  bool PrepareTiles();

  absl::InlinedVector<Axis, 8> axes_;
  bool empty_ = false;
};

}  // namespace millstream

#endif  // MILLSTREAM_OPS_ELEMENTS_STRIDED_COPY_H_
