// SPDX-License-Identifier: Apache-2.0
#include "millstream/framework/no_kernel.h"
#include "millstream/graph/gradients/gradient.h"
#include "millstream/ops/elements/strided_copy.h"

namespace millstream {
namespace {

// An image batch with `block` x `block` positions either in space or in depth. All sizes are those of the form with the
// smaller image: [n, h, w, b, b, c] elements in either form.
struct Grid {
  int64_t n, h, w, b, c;

  // Adds the axes from the deep form ([n, h, w, b * b * c]) to the wide one ([n, h * b, w * b, c]), or back.
  void AddAxes(bool deep_to_wide, StridedCopy* copy) const {
    struct Step {
      int64_t size, deep, wide;
    };
    const int64_t d = b * b * c;
    const Step batch = {n, h * w * d, h * w * d}, rows = {h, w * d, b * w * b * c}, columns = {w, d, b * c};
    const Step block_rows = {b, b * c, w * b * c}, block_columns = {b, c, c}, channels = {c, 1, 1};
    const auto add = [&](std::initializer_list<Step> steps) {
      for (const Step& s : steps) copy->Add(s.size, deep_to_wide ? s.deep : s.wide, deep_to_wide ? s.wide : s.deep);
    };
    // In the order of the target's memory.
    if (deep_to_wide)
      add({batch, rows, block_rows, columns, block_columns, channels});
    else
      add({batch, rows, columns, block_rows, block_columns, channels});
  }
};

Status ReadBlockAttrs(const AttrMap& attrs, int64_t* block, bool* nchw) {
  std::string format;
  RETURN_IF_ERROR(attrs.Get("block_size", block));
  RETURN_IF_ERROR(attrs.Get("data_format", &format));
  if (format == "NCHW_VECT_C") return errors::Unimplemented("NCHW_VECT_C is not supported on the CPU");
  if (*block < 2 || *block > (1 << 20)) return errors::InvalidArgument("Block size should be > 1, but was: ", *block);
  *nchw = format == "NCHW";
  return OkStatus();
}

// Sizes of the result for an input of sizes `dims` ([n, h, w, c] or [n, c, h, w], -1: unknown).
Status MoveBlocks(bool deep_to_wide, int64_t block, bool nchw, std::vector<int64_t>* dims) {
  int64_t& h = (*dims)[nchw ? 2 : 1];
  int64_t& w = (*dims)[nchw ? 3 : 2];
  int64_t& c = (*dims)[nchw ? 1 : 3];
  for (int64_t* size : {&h, &w, &c}) {
    const bool divide = (size == &c) == deep_to_wide;
    const int64_t factor = size == &c ? block * block : block;
    if (*size < 0) continue;
    if (divide ? *size % factor != 0 : __builtin_mul_overflow(*size, factor, size)) {
      return errors::InvalidArgument("Input size ", *size, " should be divisible by: ", factor);
    }
    if (divide) *size /= factor;
  }
  return OkStatus();
}

template <bool deep_to_wide>
class MoveBlocksKernel : public Kernel {
 public:
  explicit MoveBlocksKernel(KernelInit& init) {
    const std::string format = init.Attr<std::string>("data_format");
    if (format != "NHWC") {  // as TensorFlow's kernels for this device
      init.Fail(NoKernel(init, "data_format is ", format));
      return;
    }
    bool nchw = false;
    init.Check(ReadBlockAttrs(init.attrs(), &block_, &nchw));
  }

  Status Compute(KernelContext& ctx) override {
    const Tensor& in = ctx.input(0);
    if (in.rank() != 4) return errors::InvalidArgument("Input rank should be 4 instead of ", in.rank());
    std::vector<int64_t> dims(in.shape().dims().begin(), in.shape().dims().end());
    RETURN_IF_ERROR(MoveBlocks(deep_to_wide, block_, /*nchw=*/false, &dims));
    ASSIGN_OR_RETURN(const Shape shape, Shape::Make(dims));
    ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, shape));
    if (shape.num_elements() == 0) return OkStatus();
    const Shape& deep = deep_to_wide ? in.shape() : shape;
    const Shape& wide = deep_to_wide ? shape : in.shape();
    const Grid grid = {deep.dim(0), deep.dim(1), deep.dim(2), block_, wide.dim(3)};
    StridedCopy copy;
    grid.AddAxes(deep_to_wide, &copy);
    copy.Run(ctx, in.dtype(), in.raw(), out->raw());
    return OkStatus();
  }

 private:
  int64_t block_ = 0;
};

template <bool deep_to_wide>
Status MoveBlocksShape(ShapeContext& c) {
  int64_t block = 0;
  bool nchw = false;
  RETURN_IF_ERROR(ReadBlockAttrs(c.attrs(), &block, &nchw));
  PartialShape in;
  RETURN_IF_ERROR(ShapeContext::WithRank(c.input(0), 4, &in));
  std::vector<int64_t> dims = in.dims();
  RETURN_IF_ERROR(MoveBlocks(deep_to_wide, block, nchw, &dims));
  c.set_output(0, PartialShape(std::move(dims)));
  return OkStatus();
}

Status MoveBlocksGrad(GradContext& g) {
  const char* type = g.node().Is("DepthToSpace") ? "SpaceToDepth" : "DepthToSpace";
  g.set_dx(0,
           g.Op(type, {g.dy(0)},
                {{"block_size", g.Attr<int64_t>("block_size")}, {"data_format", g.Attr<std::string>("data_format")}}));
  return OkStatus();
}

OP("DepthToSpace")
    .Input("input: T")
    .Output("output: T")
    .Attr("T: type")
    .Attr("block_size: int >= 2")
    .Attr("data_format: {'NHWC', 'NCHW', 'NCHW_VECT_C'} = 'NHWC'")
    .Shape(MoveBlocksShape<true>)
    .Gradient(MoveBlocksGrad)
    .Cpu<MoveBlocksKernel<true>>()
    .Doc("Spreads channels over blocks of the image.");

OP("SpaceToDepth")
    .Input("input: T")
    .Output("output: T")
    .Attr("T: type")
    .Attr("block_size: int >= 2")
    .Attr("data_format: {'NHWC', 'NCHW', 'NCHW_VECT_C'} = 'NHWC'")
    .Shape(MoveBlocksShape<false>)
    .Gradient(MoveBlocksGrad)
    .Cpu<MoveBlocksKernel<false>>()
    .Doc("Gathers blocks of the image in channels.");

}  // namespace
}  // namespace millstream
