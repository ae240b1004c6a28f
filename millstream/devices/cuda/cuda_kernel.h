// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_DEVICES_CUDA_CUDA_KERNEL_H_
#define MILLSTREAM_DEVICES_CUDA_CUDA_KERNEL_H_

#include <cuda_runtime_api.h>

#include <initializer_list>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "millstream/devices/cuda/cuda_device.h"
#include "millstream/devices/cuda/cuda_status.h"
#include "millstream/framework/device_kernel.h"
#include "millstream/framework/device_kernels.h"
#include "millstream/framework/op.h"

namespace millstream::cuda {

// One call of a CUDA kernel: the KernelContext (shapes, what is in host memory, attributes of the step), and what
// issuing work needs. Tensors in device memory: only their shapes and addresses may be looked at.
class Call {
 public:
  explicit Call(KernelContext& ctx) : ctx_(ctx), gpu_(static_cast<CudaDevice*>(ctx.device())->gpu()) {}

  KernelContext& ctx() const { return ctx_; }
  Gpu& gpu() const { return gpu_; }
  cudaStream_t stream() const { return gpu_.stream(); }
  const Tensor& input(int i) const { return ctx_.input(i); }

  // Device memory for output i (AllocateOutput() of the context: host memory, for outputs declared so).
  StatusOr<Tensor*> Output(int i, const Shape& shape);
  // As Output(), but takes over the memory of the first input in `candidates` that has the same type and number of
  // elements and that nobody else needs: write element k only after reading element k.
  StatusOr<Tensor*> OutputInPlace(std::initializer_list<int> candidates, int i, const Shape& shape);
  // Scratch memory; may be let go of as soon as the work that uses it is issued.
  StatusOr<Tensor> Temp(DType dtype, const Shape& shape);
  StatusOr<Tensor> TempBytes(size_t bytes);

  // The variable's tensor, to be changed in place: copied first if somebody else still holds its value.
  // FailedPrecondition if it has none. REQUIRES: variable.mu() is held.
  StatusOr<Tensor*> MutableValue(Variable& variable);

  // After launches: OK, or why the last one failed. Every kernel ends with `return call.Launched();`.
  Status Launched() const;

 private:
  KernelContext& ctx_;
  Gpu& gpu_;
};

// A kernel that issues work to a GPU. The work must depend on nothing but the addresses, shapes and host-memory inputs
// of the call: then it may be recorded once and launched many times. A kernel with a state on the host (a counter of
// random numbers), or one that waits for the device, overrides IsRepeatable() to return false.
class CudaKernel : public DeviceKernel {
 public:
  Status Compute(KernelContext& ctx) final {
    Call call(ctx);
    call.gpu().Activate();
    return Issue(call);
  }
  virtual Status Issue(Call& call) = 0;
};

// Registers kernels for GPUs, as statics while the plug-in is loaded:
//   CUDA_KERNEL("Relu").For<ReluKernel>(FloatTypes{});            a class template, for each type of attribute T
//   CUDA_KERNEL("Reshape").HostMemory("shape").Class<Reshape>();  one class for all types
// HostMemory() comes first and holds for what follows. An op that does not exist, or a second kernel for the same
// types, ends the program at start-up.
class KernelBuilder {
 public:
  using Constraints = std::vector<std::pair<std::string, DType>>;

  explicit KernelBuilder(const char* op) : op_(op) {}
  KernelBuilder& HostMemory(const char* arg) {
    host_memory_.emplace_back(arg);
    return *this;
  }
  template <typename K>
  KernelBuilder& Class() {
    return Add({}, Factory<K>());
  }
  template <typename K, typename... Ts>
  KernelBuilder& ClassFor(Types<Ts...>, const char* attr = "T") {
    (Add({{attr, kDTypeOf<Ts>}}, Factory<K>()), ...);
    return *this;
  }
  template <template <typename> class K, typename... Ts>
  KernelBuilder& For(Types<Ts...>, const char* attr = "T") {
    (Add({{attr, kDTypeOf<Ts>}}, Factory<K<Ts>>()), ...);
    return *this;
  }
  // Two type attributes: the product.
  template <template <typename, typename> class K, typename... As, typename... Bs>
  KernelBuilder& For2(Types<As...>, const char* a, Types<Bs...> bs, const char* b) {
    (Product<K, As>(a, bs, b), ...);
    return *this;
  }
  KernelBuilder& Add(Constraints constraints, KernelFactory factory);

 private:
  template <typename K>
  static KernelFactory Factory() {
    return [](KernelInit& init) -> StatusOr<std::unique_ptr<Kernel>> {
      auto kernel = std::make_unique<K>(init);
      RETURN_IF_ERROR(init.status());
      return std::unique_ptr<Kernel>(std::move(kernel));
    };
  }
  template <template <typename, typename> class K, typename A, typename... Bs>
  void Product(const char* a, Types<Bs...>, const char* b) {
    (Add({{a, kDTypeOf<A>}, {b, kDTypeOf<Bs>}}, Factory<K<A, Bs>>()), ...);
  }

  const char* const op_;
  std::vector<std::string> host_memory_;
};

#define CUDA_KERNEL(op) CUDA_KERNEL_IMPL_(op, __COUNTER__)
#define CUDA_KERNEL_IMPL_(op, n) CUDA_KERNEL_IMPL2_(op, n)
#define CUDA_KERNEL_IMPL2_(op, n)                                                         \
  [[maybe_unused]] static const ::millstream::cuda::KernelBuilder cuda_registration_##n = \
      ::millstream::cuda::KernelBuilder(op)

}  // namespace millstream::cuda

#endif  // MILLSTREAM_DEVICES_CUDA_CUDA_KERNEL_H_
