// SPDX-License-Identifier: Apache-2.0
#include "millstream/ops/elements/complex_product.h"

#include <vector>

#include "millstream/math/gemm/gemm_generic.h"
#include "millstream/math/simd.h"

namespace millstream {
namespace {

constexpr int64_t kLeastProducts = 4096;  // below, the plain loops are as fast

// The real and the imaginary parts of a matrix, one after the other.
template <typename R>
class Planes {
 public:
  explicit Planes(int64_t size) : size_(size), values_(static_cast<size_t>(2 * size)) {}

  void Split(const std::complex<R>* from, bool conjugate) {
    const R* x = reinterpret_cast<const R*>(from);
    R *re = real(), *im = imaginary();
    const R sign = conjugate ? R(-1) : R(1);
    simd::For<R>(0, size_, [=](int64_t i) { re[i] = x[2 * i], im[i] = sign * x[2 * i + 1]; });
  }
  void Join(std::complex<R>* to) {
    R* y = reinterpret_cast<R*>(to);
    const R *re = real(), *im = imaginary();
    simd::For<R>(0, size_, [=](int64_t i) { y[2 * i] = re[i], y[2 * i + 1] = im[i]; });
  }

  R* real() { return values_.data(); }
  R* imaginary() { return values_.data() + size_; }

 private:
  const int64_t size_;
  std::vector<R> values_;
};

template <typename R>
void ByRealProducts(const math::GemmArgs<std::complex<R>>& args, ThreadPool* pool) {
  Planes<R> a(args.m * args.k), b(args.k * args.n), c(args.m * args.n);
  a.Split(args.a, args.conj_a);
  b.Split(args.b, args.conj_b);
  math::GemmArgs<R> part;
  part.m = args.m, part.n = args.n, part.k = args.k;
  part.trans_a = args.trans_a, part.trans_b = args.trans_b;
  const auto multiply = [&](const R* x, const R* y, R* z, R factor, bool accumulate) {
    part.a = x, part.b = y, part.c = z, part.alpha = factor, part.accumulate = accumulate;
    math::Gemm(part, pool);
  };
  multiply(a.real(), b.real(), c.real(), R(1), false);
  multiply(a.imaginary(), b.imaginary(), c.real(), R(-1), true);
  multiply(a.real(), b.imaginary(), c.imaginary(), R(1), false);
  multiply(a.imaginary(), b.real(), c.imaginary(), R(1), true);
  c.Join(args.c);
}

template <typename R>
void Multiply(const math::GemmArgs<std::complex<R>>& args, ThreadPool* pool) {
  if (args.m * args.n * args.k < kLeastProducts) return math::GemmGeneric(args, pool);
  ByRealProducts(args, pool);
}

}  // namespace

void MultiplyComplex(const math::GemmArgs<std::complex<float>>& args, ThreadPool* pool) { Multiply(args, pool); }
void MultiplyComplex(const math::GemmArgs<std::complex<double>>& args, ThreadPool* pool) { Multiply(args, pool); }

}  // namespace millstream
