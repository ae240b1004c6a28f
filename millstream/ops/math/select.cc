// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <complex>

#include "millstream/math/simd.h"
#include "millstream/ops/elements/broadcast.h"
#include "millstream/ops/elements/element_kernel.h"
#include "millstream/ops/gradients/gradients.h"
#include "millstream/tensor/dispatch.h"

namespace millstream {
namespace {

// z[i] = c[i] ? t[i] : e[i].
using SelectLoop = void (*)(const bool* c, const void* t, const void* e, void* z, int64_t n);

template <typename T>
void Choose(const bool* c, const void* tv, const void* ev, void* zv, int64_t n) {
  const auto* t = static_cast<const T*>(tv);
  const auto* e = static_cast<const T*>(ev);
  auto* z = static_cast<T*>(zv);
  if constexpr (std::is_integral_v<T>) {
    // By masks: a choice between two loads would become branches. Loops "of float" exist for every instruction set.
    const auto* mask = reinterpret_cast<const uint8_t*>(c);
    simd::For<float>(0, n, [=](int64_t i) MILLSTREAM_INLINE_LAMBDA {
      const T chosen = static_cast<T>(T(0) - static_cast<T>(mask[i]));
      z[i] = static_cast<T>((t[i] & chosen) | (e[i] & static_cast<T>(~chosen)));
    });
  } else {
    for (int64_t i = 0; i < n; ++i) z[i] = c[i] ? t[i] : e[i];
  }
}

SelectLoop LoopFor(DType dtype) {
  switch (DTypeSize(dtype)) {
    case 1:
      return &Choose<uint8_t>;
    case 2:
      return &Choose<uint16_t>;
    case 4:
      return &Choose<uint32_t>;
    case 8:
      return &Choose<uint64_t>;
    case 16:
      return &Choose<std::complex<double>>;
    default:
      break;
  }
  if (dtype == DType::kString) return &Choose<std::string>;
  return dtype == DType::kResource ? &Choose<ResourceHandle> : &Choose<Variant>;
}

// The operands and the result of one choice, addressed by element.
struct Operands {
  Operands(const Tensor& t, const Tensor& e, Tensor* z, DType dtype)
      : then_values(static_cast<const char*>(t.raw())),
        else_values(static_cast<const char*>(e.raw())),
        result(static_cast<char*>(z->raw())),
        size(dtype == DType::kString     ? sizeof(std::string)
             : dtype == DType::kResource ? sizeof(ResourceHandle)
             : dtype == DType::kVariant  ? sizeof(Variant)
                                         : DTypeSize(dtype)) {}
  const char* then_values;
  const char* else_values;
  char* result;
  int64_t size;
};

class ChoiceKernel : public Kernel, public ElementKernel {
 public:
  explicit ChoiceKernel(KernelInit& init) : loop_(LoopFor(RemoveRef(init.output_types()[0]))) {}
  bool RunElements(const void* const* operands, void* result, int64_t n) const final {
    loop_(static_cast<const bool*>(operands[0]), operands[1], operands[2], result, n);
    return true;
  }
  double ElementCost() const final { return 0.4; }

 protected:
  const SelectLoop loop_;
};

// The condition is a scalar, of the shape of the values, or a vector that chooses rows.
class SelectKernel final : public ChoiceKernel {
 public:
  using ChoiceKernel::ChoiceKernel;

  Status Compute(KernelContext& ctx) override {
    const Tensor &c = ctx.input(0), &t = ctx.input(1), &e = ctx.input(2);
    const bool rows = c.rank() == 1 && t.rank() > 1 && c.dim(0) == t.dim(0);
    if (c.rank() != 0 && !rows && !(c.shape() == t.shape())) return Mismatch(ctx, 0, c, 1, t);
    if (!(t.shape() == e.shape())) return c.rank() == 0 ? Mismatch(ctx, 1, t, 2, e) : Mismatch(ctx, 0, c, 2, e);
    if (c.rank() == 0) {
      ctx.set_output(0, ctx.TakeInput(c.scalar<bool>() ? 1 : 2));
      return OkStatus();
    }
    ASSIGN_OR_RETURN(Tensor * z, ctx.ForwardOrAllocate({1, 2}, 0, t.shape()));
    const Operands o(t, e, z, t.dtype());
    const bool* chosen = c.data<bool>();
    if (rows) {
      ChooseRows(chosen, c.dim(0), c.dim(0) == 0 ? 0 : t.num_elements() / c.dim(0), o);
      return OkStatus();
    }
    ctx.ParallelFor(
        t.num_elements(), 0.4,
        [&](int64_t begin, int64_t end) {
          const int64_t at = begin * o.size;
          loop_(chosen + begin, o.then_values + at, o.else_values + at, o.result + at, end - begin);
        },
        64);
    return OkStatus();
  }

 private:
  static Status Mismatch(const KernelContext& ctx, int i, const Tensor& a, int j, const Tensor& b) {
    return errors::InvalidArgument("Inputs to operation ", ctx.node_name(), " of type Select must have the same size ",
                                   "and shape.  Input ", i, ": ", a.shape().ToString(), " != input ", j, ": ",
                                   b.shape().ToString());
  }

  // Whole rows: both operands of the loop are the side that was chosen.
  void ChooseRows(const bool* chosen, int64_t rows, int64_t columns, const Operands& o) const {
    static constexpr int64_t kChunk = 256;
    static constexpr bool kAny[kChunk] = {};
    for (int64_t r = 0; r < rows; ++r) {
      const char* from = chosen[r] ? o.then_values : o.else_values;
      if (from == o.result) continue;
      for (int64_t i = r * columns; i < (r + 1) * columns; i += kChunk) {
        const int64_t n = std::min(kChunk, (r + 1) * columns - i);
        loop_(kAny, from + i * o.size, from + i * o.size, o.result + i * o.size, n);
      }
    }
  }
};

class SelectV2Kernel final : public ChoiceKernel {
 public:
  using ChoiceKernel::ChoiceKernel;

  Status Compute(KernelContext& ctx) override {
    const Tensor &c = ctx.input(0), &t = ctx.input(1), &e = ctx.input(2);
    if (c.rank() == 0 && t.shape() == e.shape()) {
      ctx.set_output(0, ctx.TakeInput(c.scalar<bool>() ? 1 : 2));
      return OkStatus();
    }
    StatusOr<Shape> values = BroadcastShapes(t.shape(), e.shape());
    StatusOr<Shape> shape = values.ok() ? BroadcastShapes(c.shape(), *values) : values;
    if (!shape.ok()) {
      return errors::InvalidArgument("condition ", c.shape().ToString(), ", then ", t.shape().ToString(), ", and else ",
                                     e.shape().ToString(), " must be broadcastable");
    }
    ASSIGN_OR_RETURN(Tensor * z, ctx.ForwardOrAllocate({1, 2}, 0, *shape));
    const int64_t n = shape->num_elements();
    if (n == 0) return OkStatus();
    const Operands o(t, e, z, t.dtype());
    const BroadcastMap c_map(c.shape(), *shape), t_map(t.shape(), *shape), e_map(e.shape(), *shape);
    if (!IsPlainBytes(t.dtype())) {
      for (int64_t i = 0; i < n; ++i) {
        loop_(c.data<bool>() + c_map.Offset(i), o.then_values + t_map.Offset(i) * o.size,
              o.else_values + e_map.Offset(i) * o.size, o.result + i * o.size, 1);
      }
      return OkStatus();
    }
    ctx.ParallelFor(
        n, 0.5, [&](int64_t begin, int64_t end) { ChooseRange(c.data<bool>(), o, c_map, t_map, e_map, begin, end); },
        64);
    return OkStatus();
  }

 private:
  void ChooseRange(const bool* c, const Operands& o, const BroadcastMap& c_map, const BroadcastMap& t_map,
                   const BroadcastMap& e_map, int64_t begin, int64_t end) const {
    alignas(64) char t_buffer[kBroadcastBlockBytes], e_buffer[kBroadcastBlockBytes], c_buffer[kBroadcastBlockBytes / 4];
    BroadcastReader c_reader(c_map, c, 1, c_buffer), t_reader(t_map, o.then_values, o.size, t_buffer),
        e_reader(e_map, o.else_values, o.size, e_buffer);
    const int64_t block = kBroadcastBlockBytes / std::max<int64_t>(4, o.size);
    while (begin < end) {
      const int64_t limit = std::min(block, end - begin);
      const int64_t n = e_map.Chunk(begin, t_map.Chunk(begin, c_map.Chunk(begin, limit)));
      loop_(static_cast<const bool*>(c_reader.Read(begin, n)), t_reader.Read(begin, n), e_reader.Read(begin, n),
            o.result + begin * o.size, n);
      begin += n;
    }
  }
};

Status SelectShape(ShapeContext& c) {
  ASSIGN_OR_RETURN(PartialShape values, c.input(1).MergeWith(c.input(2)));
  const PartialShape& condition = c.input(0);
  if (condition.rank_known() && values.rank_known() && condition.rank() > 1) {
    ASSIGN_OR_RETURN(values, values.MergeWith(condition));
  } else if (condition.rank() == 1 && values.rank_known()) {
    if (values.rank() == 0) return errors::InvalidArgument("Shapes must be equal rank, but are 1 and 0");
    int64_t rows = 0;
    RETURN_IF_ERROR(ShapeContext::MergeDim(condition.dim(0), values.dim(0), &rows));
    values.set_dim(0, rows);
  } else if (condition.rank() > 1) {
    values = condition;
  }
  c.set_output(0, std::move(values));
  return OkStatus();
}

Status SelectV2Shape(ShapeContext& c) {
  ASSIGN_OR_RETURN(const PartialShape values, ShapeContext::Broadcast(c.input(1), c.input(2)));
  ASSIGN_OR_RETURN(PartialShape shape, ShapeContext::Broadcast(c.input(0), values));
  c.set_output(0, std::move(shape));
  return OkStatus();
}

Status SelectGrad(GradContext& g) {
  const Output c = g.input(0), dy = g.dy(0), zeros = g.Op("ZerosLike", {g.input(1)});
  g.set_dx(1, g.Op("Select", {c, dy, zeros}));
  g.set_dx(2, g.Op("Select", {c, zeros, dy}));
  return g.status();
}

// Sums `dx`, of the shape of the output, back to the shape of input i.
void SetReduced(GradContext& g, int i, Output dx) {
  const GradMath m(g);
  const PartialShape in = g.scope().ShapeOf(g.input(i)), out = g.scope().ShapeOf(g.output(0));
  if (in.IsFullyDefined() && in == out) return g.set_dx(i, dx);
  const Output shape = m.Shape(g.input(i));
  Node* axes = g.Add("BroadcastGradientArgs", {shape, m.Shape(g.output(0))});
  if (axes == nullptr) return;
  g.set_dx(i, g.Op("Reshape", {g.Op("Sum", {dx, Output(axes, 0)}), shape}));
}

Status SelectV2Grad(GradContext& g) {
  const Output c = g.input(0), dy = g.dy(0);
  if (!g.status().ok()) return g.status();
  const Output zero = g.ConstLike(dy, 0);
  SetReduced(g, 1, g.Op("SelectV2", {c, dy, zero}));
  SetReduced(g, 2, g.Op("SelectV2", {c, zero, dy}));
  return g.status();
}

OP("Select")
    .Input("condition: bool")
    .Input("t: T")
    .Input("e: T")
    .Output("output: T")
    .Attr("T: type")
    .Shape(SelectShape)
    .Gradient(SelectGrad)
    .Cpu<SelectKernel>()
    .Doc("Elements of t where the condition is true, of e elsewhere; a vector of conditions chooses rows.");

OP("SelectV2")
    .Input("condition: bool")
    .Input("t: T")
    .Input("e: T")
    .Output("output: T")
    .Attr("T: type")
    .Shape(SelectV2Shape)
    .Gradient(SelectV2Grad)
    .Cpu<SelectV2Kernel>()
    .Doc("Elements of t where the condition is true, of e elsewhere, all three broadcast.");

}  // namespace
}  // namespace millstream
