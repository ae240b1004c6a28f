// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_OPS_TENSOR_ARRAY_TENSOR_ARRAY_KERNELS_H_
#define MILLSTREAM_OPS_TENSOR_ARRAY_TENSOR_ARRAY_KERNELS_H_

#include <string>
#include <vector>

#include "millstream/framework/kernel.h"
#include "millstream/ops/tensor_array/tensor_array.h"

namespace millstream {

// What the ops on arrays do, in all their versions: these differ in the form of the handle, which is a resource, two
// strings, or a reference to two strings.

// A new array for every execution.
class TensorArrayCreate final : public Kernel {
 public:
  explicit TensorArrayCreate(KernelInit& init);
  Status Compute(KernelContext& ctx) override;

 private:
  TensorArray::Options options_;
};

// Every execution for the same array and source gives the same array of
// gradients.
class TensorArrayGradient final : public Kernel {
 public:
  explicit TensorArrayGradient(KernelInit& init) : source_(init.Attr<std::string>("source")) {}
  Status Compute(KernelContext& ctx) override;

 private:
  const std::string source_;
};

// Elements as the rows of a tensor: those of the input `indices`, or all where there is no such input.
class TensorArrayStack final : public Kernel {
 public:
  explicit TensorArrayStack(KernelInit& init) : element_shape_(init.Attr<PartialShape>("element_shape")) {}
  Status Compute(KernelContext& ctx) override;

 private:
  Status Stack(KernelContext& ctx, const std::vector<Tensor>& values, TensorArray& array) const;

  const PartialShape element_shape_;
};

// Elements one after the other, and their lengths.
class TensorArrayConcat final : public Kernel {
 public:
  explicit TensorArrayConcat(KernelInit& init) : except0_(init.Attr<PartialShape>("element_shape_except0")) {}
  Status Compute(KernelContext& ctx) override;

 private:
  Status Empty(KernelContext& ctx, TensorArray& array) const;

  const PartialShape except0_;
};

Status TensorArrayWriteCpu(KernelContext& ctx);
Status TensorArrayReadCpu(KernelContext& ctx);
Status TensorArraySizeCpu(KernelContext& ctx);
Status TensorArrayCloseCpu(KernelContext& ctx);
Status TensorArrayScatterCpu(KernelContext& ctx);
// Scatter without indices: as many rows as the array has elements.
Status TensorArrayUnpackCpu(KernelContext& ctx);
Status TensorArraySplitCpu(KernelContext& ctx);

}  // namespace millstream

#endif  // MILLSTREAM_OPS_TENSOR_ARRAY_TENSOR_ARRAY_KERNELS_H_
