// SPDX-License-Identifier: Apache-2.0
#include "millstream/ops/elements/side_by_side.h"

#include "millstream/ops/elements/blob.h"

namespace millstream {
namespace {

// Calls copy(block element pointer, whole element pointer, count) for every run.
template <typename T, typename Copy>
void ForEachRun(const KernelContext& ctx, std::span<const ColumnBlock> blocks, int64_t rows, T* whole, Copy copy) {
  int64_t width = 0;
  for (const ColumnBlock& block : blocks) width += block.width;
  if (rows == 1) {
    for (const ColumnBlock& block : blocks) {
      T* part = static_cast<T*>(block.data);
      if (block.width < 4096) {
        copy(part, whole, block.width);
      } else {
        ctx.ParallelFor(
            block.width, kCopyCost<T>,
            [=](int64_t begin, int64_t end) { copy(part + begin, whole + begin, end - begin); }, 64);
      }
      whole += block.width;
    }
    return;
  }
  const double cost = 3.0 * static_cast<double>(blocks.size()) + kCopyCost<T> * static_cast<double>(width);
  ctx.ParallelFor(rows, cost, [=](int64_t begin, int64_t end) {
    T* at = whole + begin * width;
    for (; begin < end; ++begin) {
      for (const ColumnBlock& block : blocks) {
        copy(static_cast<T*>(block.data) + begin * block.width, at, block.width);
        at += block.width;
      }
    }
  });
}

}  // namespace

void JoinColumns(const KernelContext& ctx, DType dtype, std::span<const ColumnBlock> blocks, int64_t rows,
                 void* whole) {
  DispatchBlob(dtype, [&](auto type) {
    using T = typename decltype(type)::type;
    ForEachRun(ctx, blocks, rows, static_cast<T*>(whole),
               [](const T* part, T* at, int64_t n) { CopyRun(part, n, at); });
  });
}

void SplitColumns(const KernelContext& ctx, DType dtype, const void* whole, int64_t rows,
                  std::span<const ColumnBlock> blocks) {
  DispatchBlob(dtype, [&](auto type) {
    using T = typename decltype(type)::type;
    ForEachRun(ctx, blocks, rows, static_cast<T*>(const_cast<void*>(whole)),
               [](T* part, const T* at, int64_t n) { CopyRun(at, n, part); });
  });
}

}  // namespace millstream
