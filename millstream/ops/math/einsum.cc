// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>

#include "millstream/ops/elements/axes.h"
#include "millstream/ops/elements/blob.h"
#include "millstream/ops/elements/product.h"
#include "millstream/ops/elements/strided_copy.h"
#include "millstream/ops/math/einsum_equation.h"

namespace millstream {
namespace {

// One label of an operand: repeated ones walk along the diagonal.
struct Axis {
  int64_t size = 0, stride = 0;
};
using Axes = std::map<int, Axis>;

StatusOr<Axes> AxesOf(const Tensor& t, const std::string& subscripts) {
  ASSIGN_OR_RETURN(const std::vector<int> labels, EinsumEquation::Labels(subscripts, t.rank()));
  Axes axes;
  int64_t stride = 1;
  for (int d = t.rank() - 1; d >= 0; --d) {
    Axis& axis = axes.try_emplace(labels[d], Axis{t.dim(d), 0}).first->second;
    if (axis.size != t.dim(d)) {
      return errors::InvalidArgument("Expected repeated subscripts to have the same dimension but got: ", axis.size,
                                     " vs. ", t.dim(d));
    }
    axis.stride += stride;
    stride *= std::max<int64_t>(t.dim(d), 1);
  }
  return axes;
}

using Labels = std::vector<int>;

int64_t Size(const Axes& axes, const Labels& labels) {
  int64_t n = 1;
  for (const int l : labels) {
    if (const auto it = axes.find(l); it != axes.end()) n *= it->second.size;
  }
  return n;
}

// Sums each run of n elements.
Status SumRuns(const Tensor& in, int64_t n, Tensor* out) {
  using SumTypes = Join<FloatComplexTypes, Types<int32_t, int64_t>>;
  DispatchOver(SumTypes{}, in.dtype(), [&](auto type) {
    using T = typename decltype(type)::type;
    using W = std::conditional_t<std::is_integral_v<T>, uint64_t, Compute<T>>;
    const T* x = in.data<T>();
    for (int64_t i = 0; i < out->num_elements(); ++i, x += n) {
      W sum = W();
      for (int64_t k = 0; k < n; ++k) sum += static_cast<W>(x[k]);
      out->data<T>()[i] = static_cast<T>(sum);
    }
  });
  return OkStatus();
}

// The operand with its labels in the order of `kept`, the others summed over. Labels it does not have are left out.
StatusOr<Tensor> Arrange(KernelContext& ctx, const Tensor& in, const Axes& axes, const Labels& kept) {
  Labels order;
  for (const int l : kept) {
    if (axes.count(l) != 0) order.push_back(l);
  }
  const int64_t n = Size(axes, order);
  for (const auto& [label, axis] : axes) {
    if (std::find(kept.begin(), kept.end(), label) == kept.end()) order.push_back(label);
  }
  const int64_t total = Size(axes, order);
  Tensor arranged = in.Reshaped(Shape({in.num_elements()}));
  int64_t stride = 1;
  bool in_place = total == in.num_elements();
  for (auto it = order.rbegin(); it != order.rend(); stride *= axes.at(*it).size, ++it) {
    in_place &= axes.at(*it).size == 1 || axes.at(*it).stride == stride;
  }
  if (!in_place) {
    ASSIGN_OR_RETURN(arranged, ctx.AllocateTemp(in.dtype(), Shape({total})));
    StridedCopy copy;
    int64_t step = total;
    for (const int l : order) {
      step /= std::max<int64_t>(axes.at(l).size, 1);
      copy.Add(axes.at(l).size, axes.at(l).stride, step);
    }
    if (total > 0) copy.Run(ctx, in.dtype(), in.raw(), arranged.raw());
  }
  if (n == total && n > 0) return arranged;
  ASSIGN_OR_RETURN(Tensor sums, ctx.AllocateTemp(in.dtype(), Shape({n})));
  if (n > 0) RETURN_IF_ERROR(SumRuns(arranged, total / n, &sums));
  return sums;
}

// Which labels play which part in a product.
struct Roles {
  Labels batch, left, right, inner;
};

Roles AssignRoles(const Axes& a, const Axes& b, const Labels& out) {
  Roles r;
  const auto in_out = [&](int l) { return std::find(out.begin(), out.end(), l) != out.end(); };
  for (const auto& [l, axis] : a) {
    if (b.count(l) != 0)
      (in_out(l) ? r.batch : r.inner).push_back(l);
    else if (in_out(l))
      r.left.push_back(l);
  }
  for (const auto& [l, axis] : b) {
    if (a.count(l) == 0 && in_out(l)) r.right.push_back(l);
  }
  // In the order of the output, so that the result needs no rearrangement where that is possible.
  const auto place = [&](int l) { return std::find(out.begin(), out.end(), l) - out.begin(); };
  for (Labels* labels : {&r.batch, &r.left, &r.right}) {
    std::sort(labels->begin(), labels->end(), [&](int x, int y) { return place(x) < place(y); });
  }
  return r;
}

Labels Joined(const Labels& a, const Labels& b, const Labels& c) {
  Labels all = a;
  all.insert(all.end(), b.begin(), b.end());
  all.insert(all.end(), c.begin(), c.end());
  return all;
}

// Joins the sizes of both operands; those of an ellipsis may be 1 in one of them.
Status JoinAxes(const Axes& a, const Axes& b, Axes* joint) {
  *joint = a;
  for (const auto& [l, axis] : b) {
    Axis& known = joint->try_emplace(l, axis).first->second;
    if (known.size == axis.size || (l < 0 && axis.size == 1)) continue;
    if (l >= 0 || known.size != 1) {
      return errors::InvalidArgument("Expected dimension ", known.size, " at einsum label but got dimension ",
                                     axis.size);
    }
    known = axis;
  }
  return OkStatus();
}

// Where each matrix of the joint batch begins in an operand, which repeats dimensions of size 1.
std::vector<int64_t> BatchOffsets(const Axes& joint, const Axes& own, const Labels& batch, int64_t matrix) {
  std::vector<int64_t> offsets{0};
  int64_t stride = matrix * Size(own, batch);
  for (const int l : batch) {
    const int64_t size = own.at(l).size;
    stride /= std::max<int64_t>(size, 1);
    std::vector<int64_t> next;
    for (const int64_t o : offsets) {
      for (int64_t i = 0; i < joint.at(l).size; ++i) next.push_back(o + (size == 1 ? 0 : i * stride));
    }
    offsets.swap(next);
  }
  return offsets;
}

class EinsumKernel final : public Kernel {
 public:
  explicit EinsumKernel(KernelInit& init) {
    auto parsed = EinsumEquation::Parse(init.Attr<std::string>("equation"), init.Attr<int>("N"));
    if (parsed.ok())
      equation_ = *std::move(parsed);
    else
      init.Fail(parsed.status());
  }

  Status Compute(KernelContext& ctx) override {
    std::vector<Axes> axes;
    for (int i = 0; i < ctx.num_inputs(); ++i) {
      ASSIGN_OR_RETURN(Axes own, AxesOf(ctx.input(i), equation_.inputs()[i]));
      axes.push_back(std::move(own));
    }
    Axes joint = axes[0];
    if (axes.size() > 1) RETURN_IF_ERROR(JoinAxes(axes[0], axes[1], &joint));
    ASSIGN_OR_RETURN(const Labels out, OutputLabels(joint));
    if (axes.size() == 1) {
      Labels order;
      for (const int l : out) {
        if (std::find(order.begin(), order.end(), l) == order.end()) order.push_back(l);
      }
      ASSIGN_OR_RETURN(Tensor result, Arrange(ctx, ctx.input(0), axes[0], order));
      return Finish(ctx, result, joint, order, out);
    }
    const Roles r = AssignRoles(axes[0], axes[1], out);
    ASSIGN_OR_RETURN(Tensor a, Arrange(ctx, ctx.input(0), axes[0], Joined(r.batch, r.left, r.inner)));
    ASSIGN_OR_RETURN(Tensor b, Arrange(ctx, ctx.input(1), axes[1], Joined(r.batch, r.right, r.inner)));
    ASSIGN_OR_RETURN(Tensor result, Multiply(ctx, r, axes, joint, a, b));
    return Finish(ctx, result, joint, Joined(r.batch, r.left, r.right), out);
  }

 private:
  StatusOr<Labels> OutputLabels(const Axes& joint) const {
    int broadcast = 0;
    for (const auto& [l, axis] : joint) broadcast += l < 0 ? 1 : 0;
    const std::string& subscripts = equation_.output();
    if (EinsumEquation::HasEllipsis(subscripts)) {
      return EinsumEquation::Labels(subscripts, static_cast<int>(subscripts.size()) - 1 + broadcast);
    }
    if (broadcast == 0) return EinsumEquation::Labels(subscripts, static_cast<int>(subscripts.size()));
    return errors::InvalidArgument("Output subscripts must contain the ellipsis that inputs have");
  }

  static StatusOr<Tensor> Multiply(KernelContext& ctx, const Roles& r, const std::vector<Axes>& axes, const Axes& joint,
                                   const Tensor& a, const Tensor& b) {
    ProductArgs p;
    p.m = Size(joint, r.left);
    p.n = Size(joint, r.right);
    p.k = Size(joint, r.inner);
    const std::vector<int64_t> dims{Size(joint, r.batch), p.m, p.n};
    ASSIGN_OR_RETURN(const Shape shape, Shape::Make(dims));
    ASSIGN_OR_RETURN(Tensor result, ctx.AllocateTemp(a.dtype(), shape));
    if (shape.num_elements() == 0) return result;
    if (p.k == 0) {
      FillZero(ctx, &result);
      return result;
    }
    p.transpose_b = true;
    p.batch = dims[0];
    p.stride_c = p.m * p.n;
    const std::vector<int64_t> a_offsets = BatchOffsets(joint, axes[0], r.batch, p.m * p.k);
    const std::vector<int64_t> b_offsets = BatchOffsets(joint, axes[1], r.batch, p.n * p.k);
    p.offsets_a = a_offsets.data();
    p.offsets_b = b_offsets.data();
    RETURN_IF_ERROR(MultiplyMatrices(ctx, a, b, p, &result));
    return result;
  }

  // `result` has the labels `order`, each once; the output may repeat some, and is zero off their diagonal.
  static Status Finish(KernelContext& ctx, Tensor result, const Axes& joint, const Labels& order, const Labels& out) {
    Dims dims;
    for (const int l : out) dims.push_back(joint.at(l).size);
    ASSIGN_OR_RETURN(const Shape shape, MakeShape(dims));
    if (order == out) {
      ctx.set_output(0, result.Reshaped(shape));
      return OkStatus();
    }
    ASSIGN_OR_RETURN(Tensor * to, ctx.AllocateOutput(0, shape));
    if (order.size() != out.size()) FillZero(ctx, to);
    if (result.num_elements() == 0) return OkStatus();
    StridedCopy copy;
    int64_t from = result.num_elements();
    for (const int l : order) {
      from /= joint.at(l).size;
      int64_t step = 0, stride = 1;
      for (size_t d = out.size(); d-- > 0; stride *= joint.at(out[d]).size) step += out[d] == l ? stride : 0;
      copy.Add(joint.at(l).size, from, step);
    }
    copy.Run(ctx, to->dtype(), result.raw(), to->raw());
    return OkStatus();
  }

  EinsumEquation equation_;
};

Status EinsumShape(ShapeContext& c) {
  std::string text;
  RETURN_IF_ERROR(c.GetAttr("equation", &text));
  ASSIGN_OR_RETURN(const EinsumEquation equation, EinsumEquation::Parse(text, c.num_inputs()));
  std::map<int, int64_t> sizes;
  int broadcast = 0;
  for (int i = 0; i < c.num_inputs(); ++i) {
    const PartialShape& in = c.input(i);
    const std::string& subscripts = equation.inputs()[i];
    if (!in.rank_known()) {
      if (EinsumEquation::HasEllipsis(subscripts)) return OkStatus();
      continue;
    }
    ASSIGN_OR_RETURN(const Labels labels, EinsumEquation::Labels(subscripts, in.rank()));
    for (int d = 0; d < in.rank(); ++d) {
      const int l = labels[d];
      int64_t& size = sizes.try_emplace(l, in.dim(d)).first->second;
      if (l >= 0) {
        RETURN_IF_ERROR(ShapeContext::MergeDim(size, in.dim(d), &size));
      } else {
        ASSIGN_OR_RETURN(const PartialShape joint, ShapeContext::Broadcast({size}, {in.dim(d)}));
        size = joint.dim(0);
        broadcast = std::max(broadcast, -l);
      }
    }
  }
  const std::string& output = equation.output();
  const bool ellipsis = EinsumEquation::HasEllipsis(output);
  if (broadcast > 0 && !ellipsis) {
    return errors::InvalidArgument("Output subscripts must contain the ellipsis that inputs have");
  }
  ASSIGN_OR_RETURN(const Labels labels,
                   EinsumEquation::Labels(output, static_cast<int>(output.size()) + (ellipsis ? broadcast - 1 : 0)));
  std::vector<int64_t> dims;
  for (const int l : labels) dims.push_back(sizes.count(l) != 0 ? sizes[l] : -1);
  c.set_output(0, PartialShape(std::move(dims)));
  return OkStatus();
}

OP("Einsum")
    .Input("inputs: N * T")
    .Output("output: T")
    .Attr("equation: string")
    .Attr("N: int >= 1")
    .Attr("T: type")
    .Shape(EinsumShape)
    .Gradient(EinsumGrad)
    .CpuFor<EinsumKernel>(Join<FloatComplexTypes, Types<int32_t, int64_t>>{})
    .Expensive()
    .Doc("Sums of products of elements, as an equation over named dimensions says.");

}  // namespace
}  // namespace millstream
