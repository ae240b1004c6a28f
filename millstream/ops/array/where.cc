// SPDX-License-Identifier: Apache-2.0
#include <complex>

#include "millstream/framework/op.h"
#include "millstream/tensor/dispatch.h"

namespace millstream {
namespace {

template <typename T>
bool IsTrue(const T& value) {
  return value != T{};
}
bool IsTrue(const Half& value) { return static_cast<float>(value) != 0; }
bool IsTrue(const BFloat16& value) { return static_cast<float>(value) != 0; }

// The multi-index of each true element, in row-major order.
template <typename T>
void WriteIndices(const Tensor& in, int64_t* out) {
  const T* x = in.data<T>();
  const int rank = in.rank();
  const int64_t n = in.num_elements();
  if (rank == 1) {
    for (int64_t i = 0; i < n; ++i) {
      if (IsTrue(x[i])) *out++ = i;
    }
    return;
  }
  for (int64_t i = 0; i < n; ++i) {
    if (!IsTrue(x[i])) continue;
    int64_t rest = i;
    for (int d = rank - 1; d >= 0; --d) {
      out[d] = rest % in.dim(d);
      rest /= in.dim(d);
    }
    out += rank;
  }
}

template <typename T>
class WhereKernel : public Kernel {
 public:
  explicit WhereKernel(KernelInit&) {}

  Status Compute(KernelContext& ctx) override {
    const Tensor& in = ctx.input(0);
    if (in.rank() < 1 || in.rank() > 8)
      return errors::InvalidArgument("WhereOp: Unhandled input dimensions: ", in.rank());
    int64_t count = 0;
    for (const T& value : in.flat<T>()) count += IsTrue(value);
    ASSIGN_OR_RETURN(const Shape shape, Shape::Make(std::initializer_list<int64_t>{count, in.rank()}));
    ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, shape));
    WriteIndices<T>(in, out->data<int64_t>());
    return OkStatus();
  }
};

Status WhereShape(ShapeContext& c) {
  c.set_output(0, PartialShape({-1, c.input(0).rank()}));
  return OkStatus();
}

OP("Where")
    .Input("input: T")
    .Output("index: int64")
    .Attr(
        "T: {float, double, int32, uint8, int16, int8, complex64, int64, qint8, quint8, qint32, bfloat16, qint16, "
        "quint16, "
        "uint16, complex128, half, uint32, uint64, bool} = DT_BOOL")
    .Shape(WhereShape)
    .Cpu<WhereKernel>(NumberAndBoolTypes{}, "T")
    .Doc("The positions of the elements that are true (not zero).");

}  // namespace
}  // namespace millstream
