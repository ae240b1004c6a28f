// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_OPS_MATH_CAST_H_
#define MILLSTREAM_OPS_MATH_CAST_H_

#include "millstream/framework/op.h"

namespace millstream {

using CastLoop = void (*)(const void* x, void* y, int64_t n);
// The loop between two real types (16-bit floats excluded; bool only as a target). Null if there is none.
CastLoop SelectCastLoop(DType from, DType to);

// How elements of one type become elements of another. Values that do not fit wrap around or are unspecified, as
// by C++ casts; a complex number loses its imaginary part.
class CastPlan {
 public:
  static CastPlan Make(DType from, DType to, bool truncate);
  bool supported() const { return copy_ || loop_ != nullptr; }
  bool identity() const { return copy_; }
  // REQUIRES: supported(); plain types.
  void Run(const void* x, void* y, int64_t n) const;
  // All elements of `x`, on the threads of the kernel. REQUIRES: `y` has as many.
  void Run(const KernelContext& ctx, const Tensor& x, Tensor* y) const;

 private:
  void RunBlock(const void* x, void* y, int64_t n) const;

  DType from_ = DType::kInvalid;
  DType to_ = DType::kInvalid;
  CastLoop loop_ = nullptr;
  bool copy_ = false;
  bool both_parts_ = false;
  bool truncate_ = false;
};

}  // namespace millstream

#endif  // MILLSTREAM_OPS_MATH_CAST_H_
