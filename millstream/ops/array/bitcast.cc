// SPDX-License-Identifier: Apache-2.0
#include "millstream/framework/op.h"
#include "millstream/framework/op_traits.h"
#include "millstream/ops/elements/axes.h"

namespace millstream {
namespace {

// Sizes of the result: the last dimension is split off or swallowed where the element sizes differ.
Status BitcastDims(DType from, DType to, Dims* dims) {
  const int64_t in = static_cast<int64_t>(DTypeSize(from)), out = static_cast<int64_t>(DTypeSize(to));
  if (in == 0 || out == 0)
    return errors::InvalidArgument("Cannot bitcast from ", DTypeName(from), " to ", DTypeName(to));
  if (in > out) {
    dims->push_back(in / out);
  } else if (in < out) {
    if (dims->empty() || (dims->back() != -1 && dims->back() * in != out)) {
      return errors::InvalidArgument("Cannot bitcast from ", DTypeName(from), " to ", DTypeName(to),
                                     ": the last dimension must be ", out / in);
    }
    dims->pop_back();
  }
  return OkStatus();
}

Status BitcastCpu(KernelContext& ctx) {
  const Shape& in = ctx.input(0).shape();
  const DType to = ctx.output_dtype(0);
  Dims dims(in.dims().begin(), in.dims().end());
  RETURN_IF_ERROR(BitcastDims(ctx.input(0).dtype(), to, &dims));
  ASSIGN_OR_RETURN(const Shape shape, MakeShape(dims));
  ctx.set_output(0, ctx.TakeInput(0).Bitcast(to, shape));
  return OkStatus();
}

Status BitcastShape(ShapeContext& c) {
  DType from = DType::kInvalid, to = DType::kInvalid;
  RETURN_IF_ERROR(c.GetAttr("T", &from));
  RETURN_IF_ERROR(c.GetAttr("type", &to));
  if (!c.input(0).rank_known()) return OkStatus();
  Dims dims(c.input(0).dims().begin(), c.input(0).dims().end());
  RETURN_IF_ERROR(BitcastDims(from, to, &dims));
  c.set_output(0, PartialShape(std::vector<int64_t>(dims.begin(), dims.end())));
  return OkStatus();
}

OP("Bitcast")
    .Trait(OpTrait::kMetadataOnly)
    .Input("input: T")
    .Output("output: type")
    .Attr(
        "T: {bfloat16, half, float, double, int64, int32, uint8, uint16, uint32, uint64, int8, int16, complex64, "
        "complex128, "
        "qint8, quint8, qint16, quint16, qint32}")
    .Attr(
        "type: {bfloat16, half, float, double, int64, int32, uint8, uint16, uint32, uint64, int8, int16, complex64, "
        "complex128, qint8, quint8, qint16, quint16, qint32}")
    .Shape(BitcastShape)
    .Cpu(BitcastCpu)
    .Doc("The same bytes as another type.");

}  // namespace
}  // namespace millstream
