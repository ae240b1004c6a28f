// SPDX-License-Identifier: Apache-2.0
#include "millstream/ops/elements/cast_plan.h"

#include <algorithm>
#include <cstring>

#include "millstream/ops/elements/narrow.h"
#include "millstream/ops/elements/small_types.h"

namespace millstream {
namespace {

constexpr int64_t kBlock = 1024;

DType RealOf(DType t) {
  if (t == DType::kComplex64) return DType::kFloat;
  return t == DType::kComplex128 ? DType::kDouble : t;
}

// What holds the bits of a quantized number.
DType StorageOf(DType t) {
  switch (t) {
    case DType::kQint8:
      return DType::kInt8;
    case DType::kQuint8:
      return DType::kUint8;
    case DType::kQint16:
      return DType::kInt16;
    case DType::kQuint16:
      return DType::kUint16;
    case DType::kQint32:
      return DType::kInt32;
    default:
      return t;
  }
}

template <int kSize>
void CopyElements(const void* x, void* y, int64_t n) {
  std::memcpy(y, x, static_cast<size_t>(n) * kSize);
}

CastLoop CopyLoop(DType t) {
  const size_t size = DTypeSize(t);
  return size == 1 ? CopyElements<1> : size == 2 ? CopyElements<2> : CopyElements<4>;
}

bool IsNarrow(DType t) { return t == DType::kHalf || t == DType::kBfloat16; }

// The type that the loop reads or writes in place of `t`.
DType LoopType(DType t) {
  if (IsSmallFloat(t)) return DType::kDouble;
  if (IsSmallInt(t)) return DType::kInt8;
  return IsNarrow(t) ? DType::kFloat : t == DType::kBool ? DType::kUint8 : RealOf(t);
}
// The loop cannot read or write elements of this type where they are.
bool NeedsBuffer(DType t) { return IsNarrow(t) || IsComplex(t) || IsSmallFloat(t) || IsSmallInt(t); }

template <typename R>
void TakeReal(const void* from, void* to, int64_t n) {
  const auto* x = static_cast<const R*>(from);
  for (int64_t i = 0; i < n; ++i) static_cast<R*>(to)[i] = x[2 * i];
}

template <typename R>
void AddZeroImaginary(const void* from, void* to, int64_t n) {
  auto* y = static_cast<R*>(to);
  for (int64_t i = 0; i < n; ++i) {
    y[2 * i] = static_cast<const R*>(from)[i];
    y[2 * i + 1] = R(0);
  }
}

}  // namespace

CastPlan CastPlan::Make(DType from, DType to, bool truncate) {
  CastPlan plan;
  plan.copy_ = from == to;
  plan.truncate_ = truncate;
  from = plan.from_ = StorageOf(from);
  to = plan.to_ = StorageOf(to);
  if (plan.copy_ || !IsPlainBytes(from) || !IsPlainBytes(to)) return plan;
  if (from == to) {  // only one of them is quantized
    plan.loop_ = CopyLoop(from);
    return plan;
  }
  // Between complex types both parts are cast alike.
  plan.both_parts_ = IsComplex(from) && IsComplex(to);
  plan.loop_ = SelectCastLoop(LoopType(from), to == DType::kBool ? DType::kBool : LoopType(to));
  return plan;
}

void CastPlan::Run(const void* x, void* y, int64_t n) const {
  if (copy_) {
    std::memcpy(y, x, DTypeSize(from_) * static_cast<size_t>(n));
  } else if (both_parts_) {
    loop_(x, y, 2 * n);
  } else if (from_ == DType::kFloat && IsNarrow(to_) && !truncate_) {
    NarrowFromFloat(to_, static_cast<const float*>(x), y, n);
  } else if (IsNarrow(from_) && to_ == DType::kFloat) {
    WidenToFloat(from_, x, static_cast<float*>(y), n);
  } else if (NeedsBuffer(from_) || NeedsBuffer(to_)) {
    for (int64_t i = 0; i < n; i += kBlock) {
      RunBlock(static_cast<const char*>(x) + i * static_cast<int64_t>(DTypeSize(from_)),
               static_cast<char*>(y) + i * static_cast<int64_t>(DTypeSize(to_)), std::min(kBlock, n - i));
    }
  } else {
    loop_(x, y, n);
  }
}

void CastPlan::Run(const KernelContext& ctx, const Tensor& x, Tensor* y) const {
  const auto in = static_cast<int64_t>(DTypeSize(x.dtype())), out = static_cast<int64_t>(DTypeSize(y->dtype()));
  const char* from = static_cast<const char*>(x.raw());
  char* to = static_cast<char*>(y->raw());
  ctx.ParallelFor(
      x.num_elements(), 0.5, [&](int64_t begin, int64_t end) { Run(from + begin * in, to + begin * out, end - begin); },
      64);
}

// Through buffers of the types that the loop knows.
void CastPlan::RunBlock(const void* x, void* y, int64_t n) const {
  alignas(64) double in[kBlock], out[kBlock];
  const void* source = x;
  if (IsNarrow(from_)) {
    WidenToFloat(from_, x, reinterpret_cast<float*>(in), n);
    source = in;
  } else if (IsComplex(from_)) {
    if (from_ == DType::kComplex64)
      TakeReal<float>(x, in, n);
    else
      TakeReal<double>(x, in, n);
    source = in;
  } else if (IsSmallFloat(from_)) {
    DecodeSmallFloats(from_, x, in, n);
    source = in;
  } else if (IsSmallInt(from_)) {
    DecodeSmallInts(from_, x, reinterpret_cast<int8_t*>(in), n);
    source = in;
  }
  const bool direct = !NeedsBuffer(to_);
  loop_(source, direct ? y : out, n);
  if (direct) return;
  if (IsSmallFloat(to_)) return EncodeSmallFloats(to_, out, y, n);
  if (IsSmallInt(to_)) return EncodeSmallInts(to_, reinterpret_cast<const int8_t*>(out), y, n);
  if (to_ == DType::kComplex64) return AddZeroImaginary<float>(out, y, n);
  if (to_ == DType::kComplex128) return AddZeroImaginary<double>(out, y, n);
  auto* bits = reinterpret_cast<uint32_t*>(out);
  if (truncate_) {
    for (int64_t i = 0; i < n; ++i) bits[i] &= to_ == DType::kHalf ? 0xffffe000u : 0xffff0000u;
  }
  NarrowFromFloat(to_, reinterpret_cast<const float*>(out), y, n);
}

}  // namespace millstream
