// SPDX-License-Identifier: Apache-2.0
#include "millstream/framework/op.h"

namespace millstream {
namespace {

// Joins strings element by element; scalars go with every element.
class StringJoin final : public Kernel {
 public:
  explicit StringJoin(KernelInit& init) : separator_(init.Attr<std::string>("separator")) {}

  Status Compute(KernelContext& ctx) override {
    Shape shape;
    bool known = false;
    for (int i = 0; i < ctx.num_inputs(); ++i) {
      const Shape& in = ctx.input(i).shape();
      if (in.IsScalar()) continue;
      if (known && !(shape == in)) {
        return errors::InvalidArgument("Input shapes do not match: ", shape.ToString(), " vs. ", in.ToString());
      }
      shape = in;
      known = true;
    }
    ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, shape));
    for (int64_t e = 0; e < out->num_elements(); ++e) {
      std::string& joined = out->data<std::string>()[e];
      for (int i = 0; i < ctx.num_inputs(); ++i) {
        if (i > 0) joined += separator_;
        const Tensor& in = ctx.input(i);
        joined += in.data<std::string>()[in.shape().IsScalar() ? 0 : e];
      }
    }
    return OkStatus();
  }

 private:
  const std::string separator_;
};

Status StringJoinShape(ShapeContext& c) {
  PartialShape out = Shape();
  for (int i = 0; i < c.num_inputs(); ++i) {
    const PartialShape& in = c.input(i);
    if (!in.rank_known()) {
      out = PartialShape::Unknown();
    } else if (in.rank() > 0 && out.rank_known() && out.rank() == 0) {
      out = in;
    } else if (in.rank() > 0) {
      ASSIGN_OR_RETURN(out, out.MergeWith(in));
    }
  }
  c.set_output(0, std::move(out));
  return OkStatus();
}

OP("StringJoin")
    .Input("inputs: N * string")
    .Output("output: string")
    .Attr("N: int >= 0")
    .Attr("separator: string = \"\"")
    .Shape(StringJoinShape)
    .NotDifferentiable()
    .Cpu<StringJoin>()
    .Doc("Joins strings element by element, with a separator.");

}  // namespace
}  // namespace millstream
