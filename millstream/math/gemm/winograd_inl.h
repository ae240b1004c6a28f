// SPDX-License-Identifier: Apache-2.0
// The transforms of winograd_kernels.h, written once; included after
// gemm_kernels_inl.h, with the same macros.

#include <utility>

#include "millstream/math/gemm/winograd_kernels.h"

namespace millstream::math {
namespace {

// Lavin and Gray, "Fast Algorithms for Convolutional Neural Networks" (2016),
// with the points 0, 1, -1, 2, -2, infinity.
struct InputMatrix {
  static constexpr int kOut = 6, kIn = 6;
  static constexpr float k[6][6] = {{4, 0, -5, 0, 1, 0},  {0, -4, -4, 1, 1, 0}, {0, 4, -4, -1, 1, 0},
                                    {0, -2, -1, 2, 1, 0}, {0, 2, -1, -2, 1, 0}, {0, 4, 0, -5, 0, 1}};
};

constexpr float kThin = 1.0f / 24;
constexpr float kSixth = 1.0f / 6;

template <int kFilter>
struct FilterMatrix;
template <>
struct FilterMatrix<3> {
  static constexpr int kOut = 6, kIn = 3;
  static constexpr float k[6][3] = {{0.25f, 0, 0},
                                    {-kSixth, -kSixth, -kSixth},
                                    {-kSixth, kSixth, -kSixth},
                                    {kThin, 2 * kThin, 4 * kThin},
                                    {kThin, -2 * kThin, 4 * kThin},
                                    {0, 0, 1}};
};
template <>
struct FilterMatrix<5> {
  static constexpr int kOut = 6, kIn = 5;
  static constexpr float k[6][5] = {{0.25f, 0, 0, 0, 0},
                                    {-kSixth, -kSixth, -kSixth, -kSixth, -kSixth},
                                    {-kSixth, kSixth, -kSixth, kSixth, -kSixth},
                                    {kThin, 2 * kThin, 4 * kThin, 8 * kThin, 16 * kThin},
                                    {kThin, -2 * kThin, 4 * kThin, -8 * kThin, 16 * kThin},
                                    {0, 0, 0, 0, 1}};
};

template <int kFilter>
struct OutputMatrix;
template <>
struct OutputMatrix<3> {
  static constexpr int kOut = 4, kIn = 6;
  static constexpr float k[4][6] = {{1, 1, 1, 1, 1, 0}, {0, 1, -1, 2, -2, 0}, {0, 1, 1, 4, 4, 0}, {0, 1, -1, 8, -8, 1}};
};
template <>
struct OutputMatrix<5> {
  static constexpr int kOut = 2, kIn = 6;
  static constexpr float k[2][6] = {{1, 1, 1, 1, 1, 0}, {0, 1, -1, 2, -2, 1}};
};

template <class M>
struct Transposed {
  static constexpr int kOut = M::kIn, kIn = M::kOut;
  static constexpr float At(int i, int j) { return M::k[j][i]; }
};
template <class M>
struct Straight {
  static constexpr int kOut = M::kOut, kIn = M::kIn;
  static constexpr float At(int i, int j) { return M::k[i][j]; }
};

// sum + M(i, j) * x[j], without an instruction for a zero and without a product
// for a one.
template <class V, class M, int i, int j>
MILLSTREAM_TARGET inline __attribute__((always_inline)) typename V::Reg AddTerm(typename V::Reg sum,
                                                                                const typename V::Reg* x) {
  constexpr float kFactor = M::At(i, j);
  if constexpr (kFactor == 0) {
    return sum;
  } else if constexpr (kFactor == 1) {
    return V::Add(sum, x[j]);
  } else {
    return V::MulAdd(V::Set(kFactor), x[j], sum);
  }
}

template <class V, class M, int i, int... j>
MILLSTREAM_TARGET inline __attribute__((always_inline)) typename V::Reg RowTimes(const typename V::Reg* x,
                                                                                 std::integer_sequence<int, j...>) {
  typename V::Reg sum = V::Zero();
  ((sum = AddTerm<V, M, i, j>(sum, x)), ...);
  return sum;
}

template <class V, class M, int... i>
MILLSTREAM_TARGET inline __attribute__((always_inline)) void Times(const typename V::Reg* x, typename V::Reg* y,
                                                                   std::integer_sequence<int, i...>) {
  ((y[i] = RowTimes<V, M, i>(x, std::make_integer_sequence<int, M::kIn>())), ...);
}

template <class V, class M>
MILLSTREAM_KERNEL void TransformKernel(const WinogradArgs& args) {
  using Reg = typename V::Reg;
  constexpr int kOut = M::kOut, kIn = M::kIn;
  Epilogue<float> finish;
  finish.activation = args.activation;
  for (int64_t c = 0; c < args.count; c += V::kWidth) {
    Reg half[kOut][kIn];  // L X
    MILLSTREAM_UNROLL
    for (int j = 0; j < kIn; ++j) {
      Reg x[kIn], y[kOut];
      MILLSTREAM_UNROLL
      for (int i = 0; i < kIn; ++i) x[i] = V::Load(args.in + i * args.in_row + j * args.in_col + c);
      Times<V, M>(x, y, std::make_integer_sequence<int, kOut>());
      MILLSTREAM_UNROLL
      for (int i = 0; i < kOut; ++i) half[i][j] = y[i];
    }
    const Reg bias = args.bias == nullptr ? V::Zero() : V::Load(args.bias + c);
    MILLSTREAM_UNROLL
    for (int i = 0; i < kOut; ++i) {
      Reg y[kOut];
      Times<V, M>(half[i], y, std::make_integer_sequence<int, kOut>());
      MILLSTREAM_UNROLL
      for (int j = 0; j < kOut; ++j) {
        const Reg value = args.bias == nullptr ? y[j] : V::Add(y[j], bias);
        V::Store(args.out + i * args.out_row + j * args.out_col + c, Finish<V>(value, finish));
      }
    }
  }
}

template <class V, int kFilter>
constexpr WinogradKernels MakeWinogradOf() {
  return {&TransformKernel<V, Straight<InputMatrix>>, &TransformKernel<V, Straight<OutputMatrix<kFilter>>>,
          &TransformKernel<V, Transposed<OutputMatrix<kFilter>>>, &TransformKernel<V, Straight<FilterMatrix<kFilter>>>,
          &TransformKernel<V, Transposed<FilterMatrix<kFilter>>>};
}

template <class V>
constexpr WinogradSizes MakeWinograd() {
  return {MakeWinogradOf<V, 3>(), MakeWinogradOf<V, 5>()};
}

}  // namespace
}  // namespace millstream::math
