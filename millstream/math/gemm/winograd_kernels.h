// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_MATH_GEMM_WINOGRAD_KERNELS_H_
#define MILLSTREAM_MATH_GEMM_WINOGRAD_KERNELS_H_

#include <cstdint>

#include "millstream/math/gemm/gemm_kernels.h"

namespace millstream::math {

// Transforms a square block of vectors X to L X L^T. Element (i, j) of a block
// is a run of `count` floats at i * row + j * col. `count` is a multiple of 16.
struct WinogradArgs {
  const float* in;
  int64_t in_row, in_col;
  float* out;
  int64_t out_row, out_col;
  int64_t count;
  const float* bias = nullptr;  // `count` values added to every element of the result
  Activation activation = Activation::kNone;
};

// The transforms of one filter size, see conv_winograd.h.
struct WinogradKernels {
  using Transform = void (*)(const WinogradArgs&);
  Transform input;        // 6 x 6 to 6 x 6
  Transform output;       // 6 x 6 to tile x tile
  Transform output_grad;  // tile x tile to 6 x 6
  Transform filter;       // filter x filter to 6 x 6
  Transform filter_grad;  // 6 x 6 to filter x filter
};

// Those of one instruction set, by filter size.
struct WinogradSizes {
  WinogradKernels three, five;
};

// REQUIRES: filter is 3 (tiles of 4 x 4) or 5 (tiles of 2 x 2).
const WinogradKernels& CurrentWinogradKernels(int64_t filter);
extern const WinogradSizes kSse2Winograd, kAvx2Winograd, kAvx512Winograd;

}  // namespace millstream::math

#endif  // MILLSTREAM_MATH_GEMM_WINOGRAD_KERNELS_H_
