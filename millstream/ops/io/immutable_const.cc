// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>

#include "millstream/base/file.h"
#include "millstream/framework/graph_files.h"
#include "millstream/framework/op.h"

namespace millstream {
namespace {

// Reads the file in each step: TensorFlow's maps it into memory each time.
class ImmutableConstKernel final : public Kernel {
 public:
  explicit ImmutableConstKernel(KernelInit& init)
      : dtype_(init.Attr<DType>("dtype")), region_(init.Attr<std::string>("memory_region_name")) {
    if (dtype_ == DType::kResource || dtype_ == DType::kVariant) {
      init.Fail(errors::InvalidArgument("Resource and variant dtypes are invalid for this op."));
    }
    const auto declared = init.Attr<PartialShape>("shape");
    if (!declared.IsFullyDefined()) {
      init.Fail(errors::InvalidArgument("shape ", declared.ToString(), " is not fully defined"));
      return;
    }
    StatusOr<Shape> shape = Shape::Make(declared.dims());
    init.Check(shape.status());
    if (shape.ok()) shape_ = *std::move(shape);
  }

  Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(const std::string path, ConfinedPath(ctx.resources(), region_));
    ASSIGN_OR_RETURN(const std::string bytes, ReadFile(path));
    if (dtype_ == DType::kString)
      return errors::Unimplemented("Sorry, DT_STRING is not currently supported for ImmutableConstOp.");
    const int64_t wanted = shape_.num_elements();
    if (wanted > static_cast<int64_t>(bytes.size() / DTypeSize(dtype_))) {
      return errors::Internal("Readonly memory region has wrong length (", bytes.size(), ") when allocating ", wanted,
                              " elements of ", DTypeName(dtype_));
    }
    ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, shape_));
    if (dtype_ == DType::kBool)
      std::transform(bytes.begin(), bytes.begin() + wanted, out->data<bool>(), [](char c) { return c != 0; });
    else if (wanted > 0)
      std::memcpy(out->raw(), bytes.data(), out->ByteSize());
    return OkStatus();
  }

 private:
  const DType dtype_;
  const std::string region_;
  Shape shape_;
};

OP("ImmutableConst")
    .Output("tensor: dtype")
    .Attr("dtype: type")
    .Attr("shape: shape")
    .Attr("memory_region_name: string")
    .Shape(ShapeFromAttr)
    .Cpu<ImmutableConstKernel>()
    .Expensive()
    .MayBlock()
    .Doc("A tensor from the bytes of a file.");

}  // namespace
}  // namespace millstream
