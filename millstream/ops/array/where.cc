// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <bit>
#include <complex>
#include <cstring>

#include "absl/container/inlined_vector.h"
#include "millstream/framework/op.h"
#include "millstream/math/simd.h"
#include "millstream/tensor/dispatch.h"

namespace millstream {
namespace {

template <typename T>
bool IsTrue(const T& value) {
  return value != T{};
}
bool IsTrue(const Half& value) { return static_cast<float>(value) != 0; }
bool IsTrue(const BFloat16& value) { return static_cast<float>(value) != 0; }

// Tensors are cut into ranges of this many elements: counted by several threads, then written by them, each to its
// place.
constexpr int64_t kRange = 1 << 15;

template <typename T>
int64_t CountTrue(const T* x, int64_t n) {
  return simd::Run<float>([=] {
    constexpr int64_t kBlock = 4096;
    int64_t count = 0;
    for (int64_t i = 0; i < n; i += kBlock) {
      int32_t block = 0;
      const int64_t end = std::min(n, i + kBlock);
      for (int64_t k = i; k < end; ++k) block += IsTrue(x[k]) ? 1 : 0;
      count += block;
    }
    return count;
  });
}

// The first element from `i` on that may be true; eight values of a mask are looked at together.
template <typename T>
int64_t SkipFalse(const T* x, int64_t i, int64_t end) {
  if constexpr (std::is_same_v<T, bool>) {
    uint64_t eight = 0;
    for (; i + 8 <= end; i += 8) {
      std::memcpy(&eight, x + i, 8);
      if (eight != 0) return i + std::countr_zero(eight) / 8;
    }
  }
  return i;
}

// The multi-index of each true element among [begin, end), in row-major order. REQUIRES: begin < end.
template <typename T>
void WriteIndices(const Tensor& in, int64_t begin, int64_t end, int64_t* out) {
  const T* x = in.data<T>();
  const int last = in.rank() - 1;
  const int64_t width = in.dim(last);
  int64_t index[8] = {};
  for (int64_t row = begin / width, d = last - 1; d >= 0; --d) {
    index[d] = row % in.dim(static_cast<int>(d));
    row /= in.dim(static_cast<int>(d));
  }
  for (int64_t first = begin / width * width; first < end; first += width) {
    const int64_t stop = std::min(first + width, end);
    for (int64_t i = SkipFalse(x, std::max(first, begin), stop); i < stop; i = SkipFalse(x, i + 1, stop)) {
      if (!IsTrue(x[i])) continue;
      for (int d = 0; d < last; ++d) *out++ = index[d];
      *out++ = i - first;
    }
    for (int d = last - 1; d >= 0 && ++index[d] == in.dim(d); --d) index[d] = 0;
  }
}

template <typename T>
class WhereKernel : public Kernel {
 public:
  explicit WhereKernel(KernelInit&) {}

  Status Compute(KernelContext& ctx) override {
    const Tensor& in = ctx.input(0);
    if (in.rank() < 1 || in.rank() > 8)
      return errors::InvalidArgument("WhereOp: Unhandled input dimensions: ", in.rank());
    const int64_t n = in.num_elements(), ranges = (n + kRange - 1) / kRange;
    const T* x = in.data<T>();
    absl::InlinedVector<int64_t, 64> ends(static_cast<size_t>(ranges) + 1);  // of what each range writes
    ctx.ParallelFor(ranges, 0.2 * kRange, [&](int64_t begin, int64_t end) {
      for (int64_t r = begin; r < end; ++r) ends[r + 1] = CountTrue(x + r * kRange, std::min(kRange, n - r * kRange));
    });
    for (int64_t r = 0; r < ranges; ++r) ends[r + 1] += ends[r];
    ASSIGN_OR_RETURN(const Shape shape, Shape::Make(std::initializer_list<int64_t>{ends[ranges], in.rank()}));
    ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, shape));
    auto* to = out->data<int64_t>();
    ctx.ParallelFor(ranges, 0.5 * kRange, [&](int64_t begin, int64_t end) {
      for (int64_t r = begin; r < end; ++r) {
        WriteIndices<T>(in, r * kRange, std::min(n, (r + 1) * kRange), to + ends[r] * in.rank());
      }
    });
    return OkStatus();
  }
};

Status WhereShape(ShapeContext& c) {
  c.set_output(0, PartialShape({-1, c.input(0).rank()}));
  return OkStatus();
}

OP("Where")
    .Input("input: T")
    .Output("index: int64")
    .Attr(
        "T: {float, double, int32, uint8, int16, int8, complex64, int64, qint8, quint8, qint32, bfloat16, qint16, "
        "quint16, "
        "uint16, complex128, half, uint32, uint64, bool} = DT_BOOL")
    .Shape(WhereShape)
    .Cpu<WhereKernel>(NumberAndBoolTypes{}, "T")
    .Doc("The positions of the elements that are true (not zero).");

}  // namespace
}  // namespace millstream
