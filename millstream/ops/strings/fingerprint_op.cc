// SPDX-License-Identifier: Apache-2.0
#include <cstring>

#include "millstream/framework/op.h"
#include "millstream/ops/strings/fingerprint.h"

namespace millstream {
namespace {

constexpr int64_t kBytes = sizeof(uint64_t);

void Store(absl::string_view data, uint8_t* to) {
  const uint64_t value = Fingerprint64(data);
  for (int64_t b = 0; b < kBytes; ++b) to[b] = static_cast<uint8_t>(value >> (8 * b));
}

absl::string_view Bytes(const void* data, int64_t size) {
  return {static_cast<const char*>(data), static_cast<size_t>(size)};
}

// A row of several strings has the fingerprint of their fingerprints.
Status FingerprintCpu(KernelContext& ctx) {
  const Tensor &data = ctx.input(0), &method = ctx.input(1);
  if (method.rank() != 0) return errors::InvalidArgument("`method` should be a scalar string");
  if (method.scalar<std::string>() != "farmhash64") {
    return errors::InvalidArgument("Unsupported fingerprint method: ", method.scalar<std::string>());
  }
  if (data.rank() < 1) return errors::InvalidArgument("`data` should have at least one dimension");
  const int64_t rows = data.dim(0), width = rows == 0 ? 0 : data.num_elements() / rows;
  ASSIGN_OR_RETURN(const Shape shape, Shape::Make({{rows, kBytes}}));
  ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, shape));
  uint8_t* to = out->data<uint8_t>();
  if (data.dtype() != DType::kString) {
    const auto size = width * static_cast<int64_t>(DTypeSize(data.dtype()));
    for (int64_t i = 0; i < rows; ++i)
      Store(Bytes(static_cast<const char*>(data.raw()) + i * size, size), to + i * kBytes);
    return OkStatus();
  }
  const std::string* strings = data.data<std::string>();
  std::vector<uint8_t> row(static_cast<size_t>(width * kBytes));
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t k = 0; k < width; ++k) Store(strings[i * width + k], row.data() + k * kBytes);
    if (width == 1)
      std::memcpy(to + i * kBytes, row.data(), kBytes);
    else
      Store(Bytes(row.data(), width * kBytes), to + i * kBytes);
  }
  return OkStatus();
}

class FingerprintKernel final : public Kernel {
 public:
  explicit FingerprintKernel(KernelInit& init) {
    const auto type = init.Attr<DType>("T");
    if (!IsPlainBytes(type) && type != DType::kString) {
      init.Fail(errors::InvalidArgument("Data type not supported: ", DTypeName(type)));
    }
  }
  Status Compute(KernelContext& ctx) override { return FingerprintCpu(ctx); }
};

Status FingerprintShape(ShapeContext& c) {
  PartialShape data, method;
  RETURN_IF_ERROR(ShapeContext::WithRankAtLeast(c.input(0), 1, &data));
  RETURN_IF_ERROR(ShapeContext::WithRank(c.input(1), 0, &method));
  c.set_output(0, PartialShape({data.rank_known() ? data.dim(0) : -1, c.constant(1) != nullptr ? kBytes : -1}));
  return OkStatus();
}

OP("Fingerprint")
    .Input("data: T")
    .Input("method: string")
    .Output("fingerprint: uint8")
    .Attr("T: type")
    .Shape(FingerprintShape)
    .Cpu<FingerprintKernel>()
    .Doc("The farmhash64 of each row, as eight bytes, the lowest first.");

}  // namespace
}  // namespace millstream
