// SPDX-License-Identifier: Apache-2.0
#include "millstream/ops/elements/elementwise.h"

#include <algorithm>
#include <atomic>

#include "millstream/ops/elements/broadcast.h"
#include "millstream/ops/elements/narrow.h"

namespace millstream {
namespace {

using elementwise::Narrow;

constexpr int64_t kBlock = kBroadcastBlockBytes / 4;  // elements of float
// Shorter loops never pay for a second thread.
constexpr int64_t kAlwaysOneThread = 1024;

const void* Widen(Narrow narrow, const void* x, int64_t n, float* wide) {
  WidenToFloat(narrow == Narrow::kHalf ? DType::kHalf : DType::kBfloat16, x, wide, n);
  return wide;
}

void Narrowed(Narrow narrow, const float* wide, int64_t n, void* y) {
  NarrowFromFloat(narrow == Narrow::kHalf ? DType::kHalf : DType::kBfloat16, wide, y, n);
}

inline const char* At(const void* p, int64_t i, int64_t size) { return static_cast<const char*>(p) + i * size; }
inline char* At(void* p, int64_t i, int64_t size) { return static_cast<char*>(p) + i * size; }

bool RunNarrow(const elementwise::LoopInfo<elementwise::UnaryLoop>& info, const void* x, void* y, int64_t n) {
  alignas(64) float wide_x[kBlock], wide_y[kBlock];
  for (int64_t i = 0, m = 0; i < n; i += m) {
    m = NextStretch(n - i, std::min(kBlock, n - i));
    const void* in = Widen(info.in_narrow, At(x, i, info.in_size), m, wide_x);
    void* const out = At(y, i, info.out_size);
    if (!info.loop(in, info.out_narrow == Narrow::kNo ? out : wide_y, m)) return false;
    if (info.out_narrow != Narrow::kNo) Narrowed(info.out_narrow, wide_y, m, out);
  }
  return true;
}

bool RunNarrow(const elementwise::LoopInfo<elementwise::BinaryLoop>& info, const void* x, const void* y, void* z,
               int64_t n) {
  alignas(64) float wide_x[kBlock], wide_y[kBlock], wide_z[kBlock];
  for (int64_t i = 0, m = 0; i < n; i += m) {
    m = NextStretch(n - i, std::min(kBlock, n - i));
    const void* a = Widen(info.in_narrow, At(x, i, info.in_size), m, wide_x);
    const void* b = Widen(info.in_narrow, At(y, i, info.in_size), m, wide_y);
    void* const out = At(z, i, info.out_size);
    if (!info.loop(a, b, info.out_narrow == Narrow::kNo ? out : wide_z, m)) return false;
    if (info.out_narrow != Narrow::kNo) Narrowed(info.out_narrow, wide_z, m, out);
  }
  return true;
}

}  // namespace

bool elementwise::Run(const LoopInfo<UnaryLoop>& info, const void* x, void* y, int64_t n) {
  return info.in_narrow == Narrow::kNo ? info.loop(x, y, n) : RunNarrow(info, x, y, n);
}

bool elementwise::Run(const LoopInfo<BinaryLoop>& info, const void* x, const void* y, void* z, int64_t n) {
  return info.in_narrow == Narrow::kNo ? info.loop(x, y, z, n) : RunNarrow(info, x, y, z, n);
}

using elementwise::Run;

bool UnaryKernel::RunElements(const void* const* operands, void* result, int64_t n) const {
  return Run(info_, operands[0], result, n);
}

bool BinaryKernel::RunElements(const void* const* operands, void* result, int64_t n) const {
  return Run(info_, operands[0], operands[1], result, n);
}

Status UnaryKernel::Compute(KernelContext& ctx) {
  const Tensor& x = ctx.input(0);
  ASSIGN_OR_RETURN(Tensor * y, ctx.ForwardOrAllocate({0}, 0, x.shape()));
  const int64_t n = x.num_elements();
  const void* from = x.raw();
  void* to = y->raw();
  if (n <= kAlwaysOneThread) {
    if (!Run(info_, from, to, n)) return errors::InvalidArgument(info_.error);
    return OkStatus();
  }
  std::atomic<bool> ok{true};
  ParallelElements(ctx, n, info_.cost, [&](int64_t begin, int64_t end) {
    if (!Run(info_, At(from, begin, info_.in_size), At(to, begin, info_.out_size), end - begin)) ok = false;
  });
  return ok ? OkStatus() : errors::InvalidArgument(info_.error);
}

Status BinaryKernel::Compute(KernelContext& ctx) {
  const Tensor& x = ctx.input(0);
  const Tensor& y = ctx.input(1);
  if (x.shape() == y.shape()) [[likely]]
    return ComputeEqualShapes(ctx, x, y);
  if (!info_.pairs) {
    const bool scalar_y = y.num_elements() == 1 && y.rank() <= x.rank();
    const bool scalar_x = x.num_elements() == 1 && x.rank() <= y.rank();
    return (scalar_x || scalar_y) && info_.plain ? ComputeWithScalar(ctx, x, y) : ComputeBroadcast(ctx, x, y);
  }
  if (x.num_elements() == y.num_elements()) return ComputeEqualShapes(ctx, x, y);
  return errors::InvalidArgument("The two arguments to a cwise op must have same number of elements, got ",
                                 x.num_elements(), " and ", y.num_elements());
}

Status BinaryKernel::ComputeEqualShapes(KernelContext& ctx, const Tensor& x, const Tensor& y) {
  ASSIGN_OR_RETURN(Tensor * z, ctx.ForwardOrAllocate({0, 1}, 0, x.shape()));
  const int64_t n = x.num_elements();
  const void* const xs = x.raw();
  const void* const ys = y.raw();
  void* const zs = z->raw();
  if (n <= kAlwaysOneThread) return Run(info_, xs, ys, zs, n) ? OkStatus() : Failed();
  std::atomic<bool> ok{true};
  ParallelElements(ctx, n, info_.cost, [&](int64_t begin, int64_t end) {
    const int64_t in = info_.in_size, out = info_.out_size;
    if (!Run(info_, At(xs, begin, in), At(ys, begin, in), At(zs, begin, out), end - begin)) ok = false;
  });
  return ok ? OkStatus() : Failed();
}

// One side has a single element, and the result the shape of the other.
Status BinaryKernel::ComputeWithScalar(KernelContext& ctx, const Tensor& x, const Tensor& y) {
  const bool y_is_scalar = y.num_elements() == 1 && y.rank() <= x.rank();
  const Tensor& array = y_is_scalar ? x : y;
  ASSIGN_OR_RETURN(Tensor * z, ctx.ForwardOrAllocate({0, 1}, 0, array.shape()));
  const int64_t n = array.num_elements(), in = info_.in_size, out = info_.out_size;
  const void* const from = array.raw();
  const void* const value = y_is_scalar ? y.raw() : x.raw();
  void* const to = z->raw();
  std::atomic<bool> ok{true};
  auto range = [&](int64_t begin, int64_t end) {
    alignas(64) char buffer[kBroadcastBlockBytes];
    const int64_t block = std::min(end - begin, kBroadcastBlockBytes / std::max<int64_t>(4, in));
    FillElements(value, info_.in_size, block, buffer);
    while (begin < end) {
      const int64_t m = NextStretch(end - begin, std::min(block, end - begin));
      const void* const a = At(from, begin, in);
      if (!Run(info_, y_is_scalar ? a : buffer, y_is_scalar ? buffer : a, At(to, begin, out), m)) ok = false;
      begin += m;
    }
  };
  if (n <= kAlwaysOneThread)
    range(0, n);
  else
    ParallelElements(ctx, n, info_.cost + 0.05, range);
  return ok ? OkStatus() : Failed();
}

Status BinaryKernel::ComputeBroadcast(KernelContext& ctx, const Tensor& x, const Tensor& y) {
  StatusOr<Shape> shape = BroadcastShapes(x.shape(), y.shape());
  if (!shape.ok()) return Incompatible(ctx, shape.status());
  ASSIGN_OR_RETURN(Tensor * z, ctx.ForwardOrAllocate({0, 1}, 0, *shape));
  const int64_t n = shape->num_elements();
  if (n == 0) return OkStatus();
  const BroadcastMap x_map(x.shape(), *shape), y_map(y.shape(), *shape);
  const void* const xs = x.raw();
  const void* const ys = y.raw();
  void* const zs = z->raw();
  const int64_t in = info_.in_size, out = info_.out_size;
  std::atomic<bool> ok{true};
  auto range = [&](int64_t begin, int64_t end) {
    alignas(64) char x_buffer[kBroadcastBlockBytes], y_buffer[kBroadcastBlockBytes];
    BroadcastReader x_reader(x_map, xs, info_.in_size, x_buffer), y_reader(y_map, ys, info_.in_size, y_buffer);
    const int64_t block = kBroadcastBlockBytes / std::max<int64_t>(4, in);
    while (begin < end) {
      int64_t m = std::min(block, end - begin);
      m = NextStretch(end - begin, y_map.Chunk(begin, x_map.Chunk(begin, m)));
      if (!Run(info_, x_reader.Read(begin, m), y_reader.Read(begin, m), At(zs, begin, out), m)) ok = false;
      begin += m;
    }
  };
  if (!info_.plain) {
    // Objects cannot be copied as bytes.
    for (int64_t i = 0; i < n; ++i) {
      if (!info_.loop(At(xs, x_map.Offset(i), in), At(ys, y_map.Offset(i), in), At(zs, i, out), 1)) ok = false;
    }
  } else if (n <= kAlwaysOneThread) {
    range(0, n);
  } else {
    ParallelElements(ctx, n, info_.cost + 0.1, range);
  }
  return ok ? OkStatus() : Failed();
}

}  // namespace millstream
