// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_DEVICES_CUDA_BORROWED_KERNEL_H_
#define MILLSTREAM_DEVICES_CUDA_BORROWED_KERNEL_H_

#include <string>
#include <vector>

#include "millstream/framework/op.h"

namespace millstream::cuda {

// Registers the CPU's kernels of an op for GPUs as well, as statics while the plug-in is loaded:
//   CUDA_HOST_KERNEL("AddV2").For(Types<int32_t>{});        arguments and results stay in host memory
//   CUDA_HOST_KERNEL("BroadcastGradientArgs").ForAll();
//   CUDA_METADATA_KERNEL("Bitcast", {}).For(PodTypes{});    the second argument: what is on the host all the same; the
//                                                           kernel never looks at the bytes of the rest
// As in TensorFlow, int32 values are mostly sizes and places: computing them on the device would have every shape wait
// for it.
class BorrowedKernel {
 public:
  BorrowedKernel(const char* op, std::vector<std::string> host_memory)
      : op_(op), host_memory_(std::move(host_memory)) {}

  template <typename... Ts>
  BorrowedKernel& For(Types<Ts...>, const char* attr = "T") {
    (Add(attr, kDTypeOf<Ts>), ...);
    return *this;
  }
  // Every kernel the CPU has.
  BorrowedKernel& ForAll();

 private:
  void Add(const char* attr, DType type);

  const char* const op_;
  const std::vector<std::string> host_memory_;
};

#define CUDA_BORROWED_(n) [[maybe_unused]] static const ::millstream::cuda::BorrowedKernel cuda_borrowed_##n
#define CUDA_BORROWED(n) CUDA_BORROWED_(n)
#define CUDA_HOST_KERNEL(op) CUDA_BORROWED(__COUNTER__) = ::millstream::cuda::BorrowedKernel(op, {"*"})
#define CUDA_METADATA_KERNEL(op, ...) CUDA_BORROWED(__COUNTER__) = ::millstream::cuda::BorrowedKernel(op, __VA_ARGS__)

}  // namespace millstream::cuda

#endif  // MILLSTREAM_DEVICES_CUDA_BORROWED_KERNEL_H_
