// SPDX-License-Identifier: Apache-2.0
#include <sys/mman.h>

#include <algorithm>
#include <cstring>

#include "millstream/graph/gradients/gradient.h"
#include "millstream/ops/elements/axes.h"
#include "millstream/ops/elements/blob.h"
#include "millstream/tensor/shared_region.h"

namespace millstream {
namespace {

// Zeros of this size are pages that the system fills with zeros when they are first touched: a large table of which few
// rows are used takes the memory of those rows.
constexpr size_t kUntouchedZeroBytes = kPrivateBlockBytes;
constexpr size_t kPageBytes = 4096;

bool IsZeroBytes(const Tensor& value) {
  if (!IsPlainBytes(value.dtype())) return false;
  const char* const bytes = static_cast<const char*>(value.raw());
  return std::all_of(bytes, bytes + value.ByteSize(), [](char byte) { return byte == 0; });
}

// False if the system does not give zero pages for this memory. Small pages: a row takes no more than it must.
// REQUIRES: a block of kPrivateBlockBytes or more of HostAllocator().
bool TakeZeroPages(char* memory, size_t bytes) {
  const size_t head = (kPageBytes - reinterpret_cast<uintptr_t>(memory) % kPageBytes) % kPageBytes;
  const size_t middle = (bytes - head) / kPageBytes * kPageBytes;
  madvise(memory + head, middle, MADV_NOHUGEPAGE);  // where there are none, it fails
  if (madvise(memory + head, middle, MADV_DONTNEED) != 0) return false;
  std::memset(memory, 0, head);
  std::memset(memory + head + middle, 0, bytes - head - middle);
  return true;
}

// True if it has set the output.
StatusOr<bool> FillWithZeroPages(KernelContext& ctx, DType dtype, const Shape& shape) {
  ASSIGN_OR_RETURN(Tensor zeros, Tensor::Make(dtype, shape, HostAllocator()));
  if (!TakeZeroPages(static_cast<char*>(zeros.raw()), zeros.ByteSize())) return false;
  ctx.set_output(0, std::move(zeros));
  return true;
}

Status FillCpu(KernelContext& ctx) {
  Dims dims;
  RETURN_IF_ERROR(ReadIntVector(ctx.input(0), "dims", &dims));
  const Tensor& value = ctx.input(1);
  if (value.num_elements() != 1 || value.rank() > 1) {
    return errors::InvalidArgument("value must be a scalar, got shape ", value.shape().ToString());
  }
  ASSIGN_OR_RETURN(const Shape shape, MakeShape(dims));
  const bool large = static_cast<size_t>(shape.num_elements()) >= kUntouchedZeroBytes / StoredSize(value.dtype());
  if (large && IsZeroBytes(value)) {
    ASSIGN_OR_RETURN(const bool filled, FillWithZeroPages(ctx, value.dtype(), shape));
    if (filled) return OkStatus();
  }
  ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, shape));
  DispatchBlob(value.dtype(), [&](auto type) {
    using T = typename decltype(type)::type;
    ParallelFill(ctx, *BlobData<T>(value), shape.num_elements(), BlobData<T>(out));
  });
  return OkStatus();
}

Status FillShape(ShapeContext& c) {
  PartialShape value;
  RETURN_IF_ERROR(ShapeContext::WithRank(c.input(1), 0, &value));
  std::vector<int64_t> sizes;
  if (c.ConstantInts(0, &sizes) && std::any_of(sizes.begin(), sizes.end(), [](int64_t s) { return s < 0; })) {
    return errors::InvalidArgument("Fill dimensions must be >= 0");
  }
  ASSIGN_OR_RETURN(PartialShape out, c.ConstantAsShape(0));
  c.set_output(0, std::move(out));
  return OkStatus();
}

Status FillGrad(GradContext& g) {
  const Output dy = g.dy(0);
  const Output axes = g.Op("Range", {g.scope().Const(0), g.Op("Rank", {dy}), g.scope().Const(1)});
  g.set_dx(1, g.Op("Sum", {dy, axes}));
  return OkStatus();
}

OP("Fill")
    .Input("dims: index_type")
    .Input("value: T")
    .Output("output: T")
    .Attr("T: type")
    .Attr("index_type: {int32, int64} = DT_INT32")
    .Shape(FillShape)
    .Gradient(FillGrad)
    .Cpu(FillCpu)
    .HostMemory("dims")
    .Doc("A tensor of the given shape with one value everywhere.");

}  // namespace
}  // namespace millstream
