// SPDX-License-Identifier: Apache-2.0
#include <limits>

#include "millstream/math/simd.h"
#include "millstream/ops/elements/cast_plan.h"
#include "millstream/tensor/dispatch.h"

namespace millstream {
namespace {

template <typename To, typename From>
MILLSTREAM_ALWAYS_INLINE bool Fits(From x) {
  constexpr From kEnd = From(2) * static_cast<From>(uint64_t{1} << (std::numeric_limits<To>::digits - 1));
  return x >= static_cast<From>(std::numeric_limits<To>::min()) && x < kEnd;
}

// What does not fit becomes the lowest number, as by the processor's own conversions; that of a wider signed type, cut
// off, where To is small or unsigned.
template <typename To, typename From>
MILLSTREAM_ALWAYS_INLINE To Truncate(From x) {
  using Wide = std::conditional_t<sizeof(To) < 4, int32_t, std::conditional_t<std::is_signed_v<To>, To, int64_t>>;
  const auto wide = static_cast<To>(Fits<Wide>(x) ? static_cast<Wide>(x) : std::numeric_limits<Wide>::min());
  return sizeof(To) == sizeof(Wide) && Fits<To>(x) ? static_cast<To>(x) : wide;
}

template <typename To, typename From>
MILLSTREAM_ALWAYS_INLINE To Convert(From x) {
  if constexpr (std::is_same_v<To, bool>) {
    return x != From(0);
  } else if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
    return Truncate<To>(x);
  } else {
    return static_cast<To>(x);
  }
}

template <typename From, typename To>
void Loop(const void* xv, void* yv, int64_t n) {
  const auto* x = static_cast<const From*>(xv);
  auto* y = static_cast<To*>(yv);
  simd::For<float>(0, n, [=](int64_t i) MILLSTREAM_INLINE_LAMBDA { y[i] = Convert<To>(x[i]); });
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
