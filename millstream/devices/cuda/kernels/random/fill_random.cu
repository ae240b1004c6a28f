// SPDX-License-Identifier: Apache-2.0
#include "millstream/devices/cuda/elementwise.cuh"
#include "millstream/devices/cuda/kernels/random/fill_random.h"
#include "millstream/devices/cuda/kernels/random/philox.cuh"
#include "millstream/math/random/random.h"
#include "millstream/tensor/dispatch.h"

namespace millstream::cuda {
namespace {

__device__ __forceinline__ PhiloxState StateOf(const GeneratorSource& from) {
  return from.on_device != nullptr ? *from.on_device : from.given;
}

// Outputs of type D that one block of the generator gives.
template <typename D>
inline constexpr int kPerBlock = sizeof(D) == 8 ? 2 : 4;

template <typename D>
__device__ __forceinline__ void Store(const WideType<D>* values, int64_t group, int64_t count, D* out) {
#pragma unroll
  for (int k = 0; k < kPerBlock<D>; ++k) {
    const int64_t i = group * kPerBlock<D> + k;
    if (i < count) out[i] = Narrow<D>(values[k]);
  }
}

// With as many random bits as D has mantissa bits.
template <typename D>
__global__ void FillUniformNumbers(GeneratorSource from, int64_t groups, int64_t count, D* out) {
  const PhiloxState start = StateOf(from);
  CUDA_FOR_EACH(g, groups) {
    PhiloxState at = start;
    SkipBlocks(&at, static_cast<uint64_t>(g));
    const uint4 x = PhiloxBlock(at);
    if constexpr (sizeof(D) == 8) {
      const double values[] = {UniformDouble(x.x, x.y), UniformDouble(x.z, x.w)};
      Store<D>(values, g, count, out);
    } else {
      constexpr int kBits = std::is_same_v<D, __half> ? 10 : std::is_same_v<D, __nv_bfloat16> ? 7 : 23;
      constexpr uint32_t kMask = (1U << kBits) - 1;
      constexpr float kScale = 1.0f / static_cast<float>(1U << kBits);
      const float values[] = {static_cast<float>(x.x & kMask) * kScale, static_cast<float>(x.y & kMask) * kScale,
                              static_cast<float>(x.z & kMask) * kScale, static_cast<float>(x.w & kMask) * kScale};
      Store<D>(values, g, count, out);
    }
  }
}

template <typename D>
__device__ __forceinline__ void NormalsOf(uint4 x, WideType<D>* values) {
  if constexpr (sizeof(D) == 8) {
    NormalPair(x, &values[0], &values[1]);
  } else {
    NormalPair(x.x, x.y, &values[0], &values[1]);
    NormalPair(x.z, x.w, &values[2], &values[3]);
  }
}

template <typename D>
__global__ void FillNormalNumbers(GeneratorSource from, int64_t groups, int64_t count, D* out) {
  const PhiloxState start = StateOf(from);
  CUDA_FOR_EACH(g, groups) {
    PhiloxState at = start;
    SkipBlocks(&at, static_cast<uint64_t>(g));
    WideType<D> values[kPerBlock<D>];
    NormalsOf<D>(PhiloxBlock(at), values);
    Store<D>(values, g, count, out);
  }
}

// Values of 2 deviations and more are drawn again; each group of outputs has a part of the stream of its own.
template <typename D>
__global__ void FillTruncatedNumbers(GeneratorSource from, int64_t groups, int64_t count, D* out) {
  using W = WideType<D>;
  constexpr int n = kPerBlock<D>;
  const PhiloxState start = StateOf(from);
  CUDA_FOR_EACH(g, groups) {
    PhiloxState at = start;
    SkipBlocks(&at, static_cast<uint64_t>(g) * (sizeof(D) == 8 ? 128 : 256));
    W values[n], drawn[n];
    int done = 0;
    while (done < n) {
      NormalsOf<D>(PhiloxBlock(at), drawn);
      SkipBlocks(&at, 1);
#pragma unroll
      for (int k = 0; k < n; ++k) {
        if (done < n && fabs(drawn[k]) < W(2)) values[done++] = drawn[k];
      }
    }
    Store<D>(values, g, count, out);
  }
}

template <typename Int>
__global__ void FillUniformInts(GeneratorSource from, Int low, std::make_unsigned_t<Int> range, int64_t groups,
                                int64_t count, Int* out) {
  using Unsigned = std::make_unsigned_t<Int>;
  const PhiloxState start = StateOf(from);
  CUDA_FOR_EACH(g, groups) {
    PhiloxState at = start;
    SkipBlocks(&at, static_cast<uint64_t>(g));
    const uint4 x = PhiloxBlock(at);
    Int values[kPerBlock<Int>];
    if constexpr (sizeof(Int) == 8) {
      values[0] = Int(Unsigned(low) + (uint64_t{x.y} << 32 | x.x) % range);
      values[1] = Int(Unsigned(low) + (uint64_t{x.w} << 32 | x.z) % range);
    } else {
      values[0] = Int(Unsigned(low) + x.x % range);
      values[1] = Int(Unsigned(low) + x.y % range);
      values[2] = Int(Unsigned(low) + x.z % range);
      values[3] = Int(Unsigned(low) + x.w % range);
    }
    Store<Int>(values, g, count, out);
  }
}

__global__ void AdvanceState(PhiloxState* state, uint64_t blocks) { SkipBlocks(state, blocks); }
__global__ void SetState(PhiloxState first, PhiloxState* state) { *state = first; }

}  // namespace

Status FillRandomFloats(Call& call, Distribution distribution, const GeneratorSource& from, Tensor* out) {
  const int64_t count = out->num_elements();
  if (count == 0) return OkStatus();
  DispatchOver(FloatTypes{}, out->dtype(), [&](auto tag) {
    using D = DeviceType<typename decltype(tag)::type>;
    const int64_t groups = (count + kPerBlock<D> - 1) / kPerBlock<D>;
    auto* const to = static_cast<D*>(out->raw());
    switch (distribution) {
      case Distribution::kUniform:
        FillUniformNumbers<<<BlocksFor(groups), kThreads, 0, call.stream()>>>(from, groups, count, to);
        break;
      case Distribution::kNormal:
        FillNormalNumbers<<<BlocksFor(groups), kThreads, 0, call.stream()>>>(from, groups, count, to);
        break;
      case Distribution::kTruncatedNormal:
        FillTruncatedNumbers<<<BlocksFor(groups), kThreads, 0, call.stream()>>>(from, groups, count, to);
        break;
    }
  });
  return call.Launched();
}

Status FillRandomInts(Call& call, const GeneratorSource& from, const Tensor& low, const Tensor& high, Tensor* out) {
  const int64_t count = out->num_elements();
  if (count == 0) return OkStatus();
  DispatchOver(IndexTypes{}, out->dtype(), [&](auto tag) {
    using Int = typename decltype(tag)::type;
    using Unsigned = std::make_unsigned_t<Int>;
    const Int first = low.scalar<Int>();
    const Unsigned range = Unsigned(high.scalar<Int>()) - Unsigned(first);
    const int64_t groups = (count + kPerBlock<Int> - 1) / kPerBlock<Int>;
    FillUniformInts<<<BlocksFor(groups), kThreads, 0, call.stream()>>>(from, first, range, groups, count,
                                                                       static_cast<Int*>(out->raw()));
  });
  return call.Launched();
}

Status AdvanceGenerator(Call& call, PhiloxState* state, int64_t outputs) {
  AdvanceState<<<1, 1, 0, call.stream()>>>(state, static_cast<uint64_t>(math::ReservedBlocks(outputs)));
  return call.Launched();
}

Status StartGenerator(cudaStream_t stream, const PhiloxState& first, PhiloxState* state) {
  SetState<<<1, 1, 0, stream>>>(first, state);
  RETURN_IF_CUDA_ERROR(cudaGetLastError());
  return OkStatus();
}

}  // namespace millstream::cuda
