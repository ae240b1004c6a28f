// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_OPS_ELEMENTS_ELEMENT_KERNEL_H_
#define MILLSTREAM_OPS_ELEMENTS_ELEMENT_KERNEL_H_

#include <algorithm>
#include <cstdint>

#include "absl/functional/function_ref.h"
#include "millstream/framework/kernel.h"

namespace millstream {

// What the kernel of an op on elements is beside a Kernel: a function that computes any stretch of its result from the
// same stretch of its operands. So the kernels of several ops can be run block by block, while what one of them makes
// for the next is still in the first-level cache (ops/fused/block_program.h).
class ElementKernel {
 public:
  virtual ~ElementKernel() = default;

  // result[i] = f(operands[0][i], operands[1][i], ...) for i < n, operands of AddN two at a time. The bits are those
  // that Compute() gives, wherever a stretch begins and ends, unless it is a single element of a longer tensor (loops
  // take another path there; see NextStretch()). `result` may be the same array as an operand, but may not overlap one
  // otherwise. False if some element has no result.
  virtual bool RunElements(const void* const* operands, void* result, int64_t n) const = 0;

  // Nanoseconds for one element.
  virtual double ElementCost() const = 0;
};

// How many of the next `left` elements to take if `wanted` would be best: never one alone, and never all but one,
// unless there is only one. `wanted` must be in [1, left], and there must be room for wanted + 1 and for 16.
inline int64_t NextStretch(int64_t left, int64_t wanted) {
  if (wanted < 16) wanted = std::min<int64_t>(left, 16);
  return left - wanted != 1 ? wanted : wanted > 16 ? wanted - 1 : wanted + 1;
}

// As ctx.ParallelFor() over n elements, but no thread gets a single one of several.
inline void ParallelElements(const KernelContext& ctx, int64_t n, double cost,
                             absl::FunctionRef<void(int64_t, int64_t)> body) {
  constexpr int64_t kAlign = 64;
  const int64_t split = n > kAlign && n % kAlign == 1 ? n - 1 : n;
  ctx.ParallelFor(
      split, cost, [&](int64_t begin, int64_t end) { body(begin, end == split ? n : end); }, kAlign);
}

}  // namespace millstream

#endif  // MILLSTREAM_OPS_ELEMENTS_ELEMENT_KERNEL_H_
