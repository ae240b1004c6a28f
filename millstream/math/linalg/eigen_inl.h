// SPDX-License-Identifier: Apache-2.0
// Includes Eigen for one instruction set. A source defines MILLSTREAM_EIGEN_AVX2 before to get the versions for AVX2
// and FMA.
//
// Eigen chooses vector instructions by the compiler's target, and its functions are templates, of which the linker
// keeps one version per name. Each target therefore has a namespace of its own, and the standard library is included
// before the target is set: its functions stay those of the baseline, whichever version the linker keeps.
#include <algorithm>
#include <array>
#include <cassert>
#include <cerrno>
#include <climits>
#include <cmath>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <iosfwd>
#include <limits>
#include <memory>
#include <sstream>
#include <string>
#include <type_traits>
#include <vector>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#define EIGEN_DONT_PARALLELIZE
#define EIGEN_NO_DEBUG
// Clang ignores the target here, and compiles for the baseline.
#if defined(MILLSTREAM_EIGEN_AVX2) && defined(__x86_64__)
#pragma GCC target("avx2,fma")
#define Eigen MillstreamEigenAvx2
#else
#define Eigen MillstreamEigen
#endif
#include <eigen3/Eigen/Dense>
