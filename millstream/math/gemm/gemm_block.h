// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_MATH_GEMM_GEMM_BLOCK_H_
#define MILLSTREAM_MATH_GEMM_GEMM_BLOCK_H_

#include "millstream/math/gemm/gemm.h"

namespace millstream::math {

// The three ways to compute a product on one thread:
//   kRows     tiles of C whose rows are vectors; B is read along its rows, A
//   element by element. kColumns  tiles whose columns are vectors, turned when
//   stored: for narrow C, or when B is transposed and A small. kDots     every
//   element is a dot product along k: for narrow C with A in row order.
enum class GemmPath { kRows, kColumns, kDots };

// The path that a rough count of vector instructions prefers.
template <typename T>
GemmPath ChooseGemmPath(const GemmArgs<T>& args);

// One product on this thread. REQUIRES: leading dimensions are set; m, n and k
// are positive.
template <typename T>
void GemmBlock(const GemmArgs<T>& args, GemmPath path);

}  // namespace millstream::math

#endif  // MILLSTREAM_MATH_GEMM_GEMM_BLOCK_H_
