// SPDX-License-Identifier: Apache-2.0
#include <limits>

#include "absl/container/inlined_vector.h"
#include "millstream/devices/cuda/borrowed_kernel.h"
#include "millstream/devices/cuda/reduce.cuh"
#include "millstream/ops/math/reduction.h"
#include "millstream/tensor/dispatch.h"

namespace millstream::cuda {
namespace {

struct ProdOp : SumOp {
  template <typename W>
  static __device__ W Identity() {
    return W(1);
  }
  template <typename W>
  static __device__ W Combine(W a, W b) {
    return static_cast<W>(a * b);
  }
};
// NaN wins.
struct MaxOp : SumOp {
  template <typename W>
  static __device__ W Identity() {
    if constexpr (std::is_floating_point_v<W>) {
      return -static_cast<W>(INFINITY);
    } else {
      return std::numeric_limits<W>::lowest();
    }
  }
  template <typename W>
  static __device__ W Combine(W a, W b) {
    return a != a ? a : (b > a || b != b) ? b : a;
  }
};
struct MinOp : SumOp {
  template <typename W>
  static __device__ W Identity() {
    if constexpr (std::is_floating_point_v<W>) {
      return static_cast<W>(INFINITY);
    } else {
      return std::numeric_limits<W>::max();
    }
  }
  template <typename W>
  static __device__ W Combine(W a, W b) {
    return a != a ? a : (b < a || b != b) ? b : a;
  }
};
struct AllOp : SumOp {
  template <typename W>
  static __device__ W Identity() {
    return W(1);
  }
  template <typename W>
  static __device__ W Combine(W a, W b) {
    return a && b;
  }
};
struct AnyOp : SumOp {
  template <typename W>
  static __device__ W Combine(W a, W b) {
    return a || b;
  }
};
// Dimensions that are next to each other and of one kind, as one.
struct Group {
  int64_t size;
  bool reduced;
};
using Groups = absl::InlinedVector<Group, 8>;

template <typename Op, typename T, Finish finish = Finish::kNone>
class Reduce final : public CudaKernel {
 public:
  explicit Reduce(KernelInit& init) : keep_dims_(init.Attr<bool>("keep_dims")) {}

  Status Issue(Call& call) override {
    const Tensor& in = call.input(0);
    std::vector<bool> reduced;
    RETURN_IF_ERROR(ReadAxes(call.input(1), in.rank(), &reduced));
    absl::InlinedVector<int64_t, 8> dims;
    Groups groups;
    for (int i = 0; i < in.rank(); ++i) {
      if (!reduced[i]) {
        dims.push_back(in.dim(i));
      } else if (keep_dims_) {
        dims.push_back(1);
      }
      if (in.dim(i) == 1) continue;
      if (!groups.empty() && groups.back().reduced == reduced[i]) {
        groups.back().size *= in.dim(i);
      } else {
        groups.push_back({in.dim(i), reduced[i]});
      }
    }
    ASSIGN_OR_RETURN(const Shape shape, Shape::Make(std::span<const int64_t>(dims.data(), dims.size())));
    const bool copies = groups.empty() || (groups.size() == 1 && !groups[0].reduced);
    if (copies && finish != Finish::kRoot) {
      return call.ctx().set_output(0, call.ctx().TakeInput(0).Reshaped(shape)), OkStatus();
    }
    ASSIGN_OR_RETURN(Tensor * out, call.Output(0, shape));
    if (shape.num_elements() == 0) return OkStatus();
    if (copies) groups.push_back({1, true});
    return InSteps(call, in, std::move(groups), out);
  }

 private:
  using D = DeviceType<T>;
  using W = WideType<D>;

  // The last reduced group first, until none is left. What is between two steps is of the wide type.
  static Status InSteps(Call& call, const Tensor& in, Groups groups, Tensor* out) {
    ReduceStep step;
    step.square = finish == Finish::kRoot;
    int left = 0;
    for (const Group& g : groups) {
      if (g.reduced) step.count *= g.size;
      left += g.reduced ? 1 : 0;
    }
    Tensor from = in;
    for (bool first = true; left > 0; --left, first = false) {
      auto at = static_cast<int>(groups.size()) - 1;
      while (!groups[at].reduced) --at;
      ReduceSizes s = {1, groups[at].size, 1};
      for (int i = 0; i < at; ++i) s.outer *= groups[i].size;
      for (size_t i = at + 1; i < groups.size(); ++i) s.inner *= groups[i].size;
      groups.erase(groups.begin() + at);
      step.finish = left == 1 ? finish : Finish::kNone;
      step.out = left == 1 ? kDTypeOf<T> : kDTypeOf<W>;
      Tensor to = *out;
      if (left > 1) {
        ASSIGN_OR_RETURN(to, call.TempBytes(sizeof(W) * s.outer * s.inner));
      }
      RETURN_IF_ERROR(first ? LaunchReduce<Op>(call, s, step, static_cast<const D*>(from.raw()), to.raw())
                            : LaunchReduce<Op>(call, s, step, static_cast<const W*>(from.raw()), to.raw()));
      from = to;
      step.square = false;
    }
    return OkStatus();
  }

  const bool keep_dims_;
};

template <typename Op, Finish finish = Finish::kNone>
struct Reduction {
  template <typename T>
  using For = Reduce<Op, T, finish>;
};

using SummedTypes = Join<FloatTypes, Types<int64_t>>;
using HostReduced = Types<int32_t>;

using Sums = Reduction<SumOp>;
using Means = Reduction<SumOp, Finish::kMean>;
using Norms = Reduction<SumOp, Finish::kRoot>;
using Products = Reduction<ProdOp>;
using Maxima = Reduction<MaxOp>;
using Minima = Reduction<MinOp>;

#define CUDA_REDUCTION(op, Family, TypeList) \
  CUDA_KERNEL(op).HostMemory("reduction_indices").For<Family::For>(TypeList{})

CUDA_REDUCTION("Sum", Sums, SummedTypes);
CUDA_REDUCTION("Mean", Means, SummedTypes);
CUDA_REDUCTION("Prod", Products, SummedTypes);
CUDA_REDUCTION("Max", Maxima, SummedTypes);
CUDA_REDUCTION("Min", Minima, SummedTypes);
CUDA_REDUCTION("EuclideanNorm", Norms, FloatTypes);
CUDA_KERNEL("All").HostMemory("reduction_indices").Class<Reduce<AllOp, bool>>();
CUDA_KERNEL("Any").HostMemory("reduction_indices").Class<Reduce<AnyOp, bool>>();
CUDA_HOST_KERNEL("Sum").For(HostReduced{});
CUDA_HOST_KERNEL("Mean").For(HostReduced{});
CUDA_HOST_KERNEL("Prod").For(HostReduced{});
CUDA_HOST_KERNEL("Max").For(HostReduced{});
CUDA_HOST_KERNEL("Min").For(HostReduced{});

}  // namespace

Status ReduceSum(Call& call, DType in, const ReduceSizes& sizes, const ReduceStep& step, const void* from, void* to) {
  Status status = errors::Unimplemented("sums of ", DTypeName(in), " on GPUs");
  DispatchOver(SummedTypes{}, in, [&](auto tag) {
    using D = DeviceType<typename decltype(tag)::type>;
    status = LaunchReduce<SumOp>(call, sizes, step, static_cast<const D*>(from), to);
  });
  return status;
}

}  // namespace millstream::cuda
