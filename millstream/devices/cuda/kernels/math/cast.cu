// SPDX-License-Identifier: Apache-2.0
#include <type_traits>

#include "millstream/devices/cuda/pointwise.cuh"
#include "millstream/tensor/dispatch.h"

namespace millstream::cuda {
namespace {

// Real types and bool; complex numbers are cast on the host.
using CastTypes = Join<RealTypes, Types<bool>>;

// 16-bit floats by cutting off bits, as Cast with Truncate does.
template <typename Out>
struct CastFn {
  bool truncate;
  template <typename In>
  __device__ WideType<Out> operator()(In x) const {
    if constexpr (std::is_same_v<Out, bool>) {
      return x != In(0);
    } else if constexpr (std::is_same_v<Out, __nv_bfloat16>) {
      const auto f = static_cast<float>(x);
      return truncate && f == f ? __uint_as_float(__float_as_uint(f) & 0xFFFF0000U) : f;
    } else if constexpr (std::is_same_v<Out, __half>) {
      const auto f = static_cast<float>(x);
      return truncate ? __half2float(__float2half_rz(f)) : f;
    } else {
      return static_cast<Out>(x);
    }
  }
};

// Between types of which neither is float: the type of the elements is looked at for each of them, so that there need
// not be device code for every pair of types.
template <typename Out>
__global__ void CastFromAny(CastFn<Out> fn, DType from, int64_t count, const void* in, Out* out) {
  CUDA_FOR_EACH(i, count) {
    const auto cast = [&]<typename In>(std::type_identity<In>) {
      out[i] = Narrow<Out>(fn(Widen(static_cast<const In*>(in)[i])));
    };
    switch (from) {
      case DType::kHalf:
        cast(std::type_identity<__half>{});
        break;
      case DType::kBfloat16:
        cast(std::type_identity<__nv_bfloat16>{});
        break;
      case DType::kDouble:
        cast(std::type_identity<double>{});
        break;
      case DType::kInt8:
        cast(std::type_identity<int8_t>{});
        break;
      case DType::kInt16:
        cast(std::type_identity<int16_t>{});
        break;
      case DType::kInt32:
        cast(std::type_identity<int32_t>{});
        break;
      case DType::kInt64:
        cast(std::type_identity<int64_t>{});
        break;
      case DType::kUint16:
        cast(std::type_identity<uint16_t>{});
        break;
      case DType::kUint32:
        cast(std::type_identity<uint32_t>{});
        break;
      case DType::kUint64:
        cast(std::type_identity<uint64_t>{});
        break;
      default:  // uint8 and bool
        cast(std::type_identity<uint8_t>{});
    }
  }
}

template <typename T>
class Cast final : public CudaKernel {
 public:
  explicit Cast(KernelInit& init)
      : same_(RemoveRef(init.input_types()[0]) == init.output_types()[0]), fn_{init.Attr<bool>("Truncate")} {}

  Status Issue(Call& call) override {
    if (same_) return call.ctx().set_output(0, call.ctx().TakeInput(0)), OkStatus();
    const Tensor& in = call.input(0);
    ASSIGN_OR_RETURN(Tensor * out, call.Output(0, in.shape()));
    const int64_t count = in.num_elements();
    if (count == 0) return OkStatus();
    auto* const to = static_cast<Out*>(out->raw());
    if constexpr (std::is_same_v<Out, float>) {
      DispatchOver(CastTypes{}, in.dtype(), [&](auto tag) {
        using In = DeviceType<typename decltype(tag)::type>;
        if constexpr (!std::is_same_v<In, float>) {
          LaunchPointwise(call.stream(), fn_, count, to, static_cast<const In*>(in.raw()));
        }
      });
    } else if (in.dtype() == DType::kFloat) {
      LaunchPointwise(call.stream(), fn_, count, to, static_cast<const float*>(in.raw()));
    } else {
      CastFromAny<<<BlocksFor(count), kThreads, 0, call.stream()>>>(fn_, in.dtype(), count, in.raw(), to);
    }
    return call.Launched();
  }

 private:
  using Out = DeviceType<T>;
  const bool same_;
  const CastFn<Out> fn_;
};

template <typename T>
StatusOr<std::unique_ptr<Kernel>> MakeCast(KernelInit& init) {
  auto kernel = std::make_unique<Cast<T>>(init);
  RETURN_IF_ERROR(init.status());
  return std::unique_ptr<Kernel>(std::move(kernel));
}

// Every pair of real types.
template <typename... From>
KernelBuilder RegisterCasts(Types<From...>) {
  KernelBuilder builder("Cast");
  const auto from = [&](DType source) {
    const auto to = [&]<typename... To>(Types<To...>) {
      (builder.Add({{"SrcT", source}, {"DstT", kDTypeOf<To>}}, MakeCast<To>), ...);
    };
    to(CastTypes{});
  };
  (from(kDTypeOf<From>), ...);
  return builder;
}

[[maybe_unused]] const KernelBuilder cast_registration = RegisterCasts(CastTypes{});

}  // namespace
}  // namespace millstream::cuda
