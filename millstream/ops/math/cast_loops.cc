// SPDX-License-Identifier: Apache-2.0
#include "millstream/math/simd.h"
#include "millstream/ops/math/cast.h"
#include "millstream/tensor/dispatch.h"

namespace millstream {
namespace {

// Small integers by way of int, so that values that do not fit them wrap around.
template <typename To, typename From>
MILLSTREAM_ALWAYS_INLINE To Convert(From x) {
  if constexpr (std::is_same_v<To, bool>)
    return x != From(0);
  else if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To> && sizeof(To) < 4) {
    return static_cast<To>(static_cast<int32_t>(x));
  } else {
    return static_cast<To>(x);
  }
}

template <typename From, typename To>
void Loop(const void* xv, void* yv, int64_t n) {
  const auto* x = static_cast<const From*>(xv);
  auto* y = static_cast<To*>(yv);
  MILLSTREAM_INDEPENDENT_LOOP
  for (int64_t i = 0; i < n; ++i) y[i] = Convert<To>(x[i]);
}

// The same bits come out whether the target is signed or not.
template <typename From, typename To>
struct TargetOf {
  using type = To;
};
template <typename From, typename To>
requires(std::is_integral_v<From>&& std::is_integral_v<To> && !std::is_same_v<To, bool>) struct TargetOf<From, To> {
  using type = std::make_unsigned_t<To>;
};

using LoopTypes = Join<Types<float, double>, IntTypes>;

template <typename From>
CastLoop SelectTarget(DType to) {
  CastLoop loop = nullptr;
  DispatchOver(Join<LoopTypes, Types<bool>>{}, to,
               [&](auto tag) { loop = &Loop<From, typename TargetOf<From, typename decltype(tag)::type>::type>; });
  return loop;
}

}  // namespace

CastLoop SelectCastLoop(DType from, DType to) {
  CastLoop loop = nullptr;
  DispatchOver(LoopTypes{}, from, [&](auto tag) { loop = SelectTarget<typename decltype(tag)::type>(to); });
  return loop;
}

}  // namespace millstream
