// SPDX-License-Identifier: Apache-2.0
#include "millstream/math/simd.h"

#include <algorithm>
#include <cstdlib>
#include <string_view>

namespace millstream::simd {
namespace {

Isa MachineIsa() {
#if defined(__x86_64__)
  __builtin_cpu_init();
  // Every processor with AVX2 and FMA has F16C.
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma")) return Isa::kSse2;
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512dq")) {
    return Isa::kAvx512;
  }
  return Isa::kAvx2;
#else
  return Isa::kSse2;
#endif
}

Isa AllowedIsa() {
  const char* name = std::getenv("MILLSTREAM_ISA");
  if (name == nullptr) return Isa::kAvx512;
  if (std::string_view(name) == "sse2") return Isa::kSse2;
  if (std::string_view(name) == "avx2") return Isa::kAvx2;
  return Isa::kAvx512;
}

}  // namespace

namespace internal {

std::atomic<int> active_isa{kUndecided};

Isa DecideIsa() {
  const Isa best = BestIsa();
  int expected = kUndecided;
  active_isa.compare_exchange_strong(expected, static_cast<int>(best));
  return best;
}

}  // namespace internal

Isa BestIsa() {
  static const Isa best = std::min(MachineIsa(), AllowedIsa());
  return best;
}

ScopedIsa::ScopedIsa(Isa isa) : previous_(static_cast<int>(ActiveIsa())) {
  internal::active_isa.store(static_cast<int>(std::min(isa, BestIsa())));
}

ScopedIsa::~ScopedIsa() { internal::active_isa.store(previous_); }

}  // namespace millstream::simd
