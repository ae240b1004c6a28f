// SPDX-License-Identifier: Apache-2.0
// Convolutions of volumes: of floats and doubles as convolutions of their slices, of 16-bit floats as products of
// matrices over patches that are copied out.
#include <algorithm>
#include <cstring>

#include "millstream/math/conv/conv.h"
#include "millstream/math/simd.h"
#include "millstream/ops/elements/axes.h"
#include "millstream/ops/elements/blob.h"
#include "millstream/ops/elements/product.h"
#include "millstream/ops/gradients/relative.h"
#include "millstream/ops/gradients/shape_of.h"
#include "millstream/ops/nn/volume.h"

namespace millstream {
namespace {

// One volume [d, h, w, c] to rows of patches, or back by adding.
template <typename T>
void Patches(const VolumeWindow& v, int64_t channels, const T* volume, T* rows) {
  v.ForEachTap([&](int64_t position, int64_t tap, int64_t place) {
    T* to = rows + (position * v.taps() + tap) * channels;
    if (place >= 0)
      CopyRun(volume + place * channels, channels, to);
    else
      std::fill_n(to, channels, T{});
  });
}
template <typename T>
void AddPatches(const VolumeWindow& v, int64_t channels, const T* rows, T* volume) {
  v.ForEachTap([&](int64_t position, int64_t tap, int64_t place) {
    if (place < 0) return;
    const T* from = rows + (position * v.taps() + tap) * channels;
    for (int64_t c = 0; c < channels; ++c) {
      volume[place * channels + c] = T(Compute<T>(volume[place * channels + c]) + Compute<T>(from[c]));
    }
  });
}

enum class Direction { kForward, kInput, kFilter };

// What a product reads: two of these, the third is its result.
struct Operands {
  const Tensor &volumes, &filter, &out;
};

// Volume b. The product is of patches and filter, or of one of them and the gradient.
template <Direction direction>
Status ConvolveOne(KernelContext& ctx, const VolumeWindow& v, const Operands& o, int64_t b, Tensor* rows,
                   Tensor* result) {
  ProductArgs p;
  const int64_t cin = o.filter.dim(3), cout = o.filter.dim(4);
  const int64_t positions = v.positions(), patch = v.taps() * cin, volume = v.size() * cin;
  Status status;
  DispatchOver(Types<Half, BFloat16>{}, result->dtype(), [&](auto type) {
    using T = typename decltype(type)::type;
    const auto image = [&](const Tensor& t, int64_t n, std::initializer_list<int64_t> dims) {
      return t.Reshaped(Shape({t.num_elements()})).SliceRows(b * n, (b + 1) * n).Reshaped(Shape(dims));
    };
    if constexpr (direction != Direction::kInput) Patches(v, cin, o.volumes.data<T>() + b * volume, rows->data<T>());
    if constexpr (direction == Direction::kForward) {
      p.m = positions, p.k = patch, p.n = cout;
      Tensor out = image(*result, positions * cout, {positions, cout});
      status = MultiplyMatrices(ctx, *rows, o.filter, p, &out);
    } else if constexpr (direction == Direction::kInput) {
      p.m = positions, p.k = cout, p.n = patch;
      p.transpose_b = true;
      status = MultiplyMatrices(ctx, image(o.out, positions * cout, {positions, cout}), o.filter, p, rows);
      AddPatches(v, cin, rows->data<T>(), result->data<T>() + b * volume);
    } else {
      p.m = patch, p.k = positions, p.n = cout;
      p.transpose_a = true;
      Tensor part(result->dtype(), Shape({patch, cout}));
      status = MultiplyMatrices(ctx, *rows, image(o.out, positions * cout, {positions, cout}), p, &part);
      T* to = result->data<T>();
      for (int64_t i = 0; i < patch * cout; ++i) to[i] = T(Compute<T>(to[i]) + Compute<T>(part.data<T>()[i]));
    }
  });
  return status;
}

// Volumes as batches of images: for each plane of the filter one convolution of all slices that it meets.
template <Direction direction, typename T>
class SliceConvolution {
 public:
  SliceConvolution(KernelContext& ctx, const VolumeWindow& v, const Operands& o, Tensor* result)
      : ctx_(ctx), v_(v), o_(o), result_(result->data<T>()) {
    shape_.in_height = v.in[1], shape_.in_width = v.in[2], shape_.in_channels = o.filter.dim(3);
    shape_.out_height = v.out[1], shape_.out_width = v.out[2], shape_.out_channels = o.filter.dim(4);
    shape_.filter_height = v.window[1], shape_.filter_width = v.window[2];
    shape_.stride_height = v.strides[1], shape_.stride_width = v.strides[2];
    shape_.dilation_height = v.dilations[1], shape_.dilation_width = v.dilations[2];
    shape_.pad_top = v.before[1], shape_.pad_left = v.before[2];
  }

  // REQUIRES: the result is zero.
  Status Run() {
    ASSIGN_OR_RETURN(part_, ctx_.AllocateTemp(kDTypeOf<T>, Shape({PartSize()})));
    for (int64_t b = 0; b < o_.volumes.dim(0); ++b) {
      for (int64_t plane = 0; plane < v_.window[0]; ++plane) Plane(b, plane);
    }
    return OkStatus();
  }

 private:
  int64_t InSlice() const { return v_.in[1] * v_.in[2] * shape_.in_channels; }
  int64_t OutSlice() const { return v_.out[1] * v_.out[2] * shape_.out_channels; }
  int64_t FilterPlane() const { return shape_.filter_size(); }
  int64_t PartSize() const {
    if (direction == Direction::kFilter) return FilterPlane();
    return direction == Direction::kForward ? v_.out[0] * OutSlice() : v_.out[0] * InSlice();
  }

  // What plane number `plane` of the filter adds to the result of volume b.
  void Plane(int64_t b, int64_t plane) {
    const int64_t stride = v_.strides[0],
                  offset = plane * v_.dilations[0] - v_.before[0];  // in = out * stride + offset
    const int64_t first = offset >= 0 ? 0 : (-offset + stride - 1) / stride;
    const int64_t end = std::min(v_.out[0], offset >= v_.in[0] ? 0 : (v_.in[0] - 1 - offset) / stride + 1);
    if (first >= end) return;
    if (stride == 1) return Slices(b, plane, first + offset, first, end - first);
    for (int64_t z = first; z < end; ++z) Slices(b, plane, z * stride + offset, z, 1);
  }

  // The same for `count` slices in a row.
  void Slices(int64_t b, int64_t plane, int64_t in, int64_t out, int64_t count) {
    shape_.batch = count;
    const int64_t in_at = (b * v_.in[0] + in) * InSlice(), out_at = (b * v_.out[0] + out) * OutSlice();
    const int64_t filter_at = plane * FilterPlane();
    T* part = part_.template data<T>();
    if constexpr (direction == Direction::kForward) {
      math::Conv2D(shape_, o_.volumes.data<T>() + in_at, o_.filter.data<T>() + filter_at, part, {}, ctx_.pool());
      Add(part, count * OutSlice(), result_ + out_at);
    } else if constexpr (direction == Direction::kInput) {
      math::Conv2DBackpropInput(shape_, o_.filter.data<T>() + filter_at, o_.out.data<T>() + out_at, part, ctx_.pool());
      Add(part, count * InSlice(), result_ + in_at);
    } else {
      math::Conv2DBackpropFilter(shape_, o_.volumes.data<T>() + in_at, o_.out.data<T>() + out_at, part, ctx_.pool());
      Add(part, FilterPlane(), result_ + filter_at);
    }
  }

  void Add(const T* part, int64_t n, T* to) {
    simd::ParallelFor<T>(ctx_.pool(), n, 0.2, [=](int64_t i) MILLSTREAM_INLINE_LAMBDA { to[i] += part[i]; });
  }

  KernelContext& ctx_;
  const VolumeWindow& v_;
  const Operands& o_;
  T* const result_;
  math::ConvShape shape_;
  Tensor part_;
};

// `result` is one of the operands, and overwritten. REQUIRES: `v` fits the operands.
template <Direction direction>
Status ConvolveAll(KernelContext& ctx, const VolumeWindow& v, const Operands& o, Tensor* result) {
  FillZero(ctx, result);
  const int64_t batch = o.volumes.dim(0), patch = v.taps() * o.filter.dim(3);
  if (o.out.num_elements() == 0 || patch == 0 || o.volumes.num_elements() == 0) return OkStatus();
  if (result->dtype() == DType::kFloat) return SliceConvolution<direction, float>(ctx, v, o, result).Run();
  if (result->dtype() == DType::kDouble) return SliceConvolution<direction, double>(ctx, v, o, result).Run();
  ASSIGN_OR_RETURN(const Shape rows_shape, MakeShape({v.positions(), patch}));
  ASSIGN_OR_RETURN(Tensor rows, ctx.AllocateTemp(result->dtype(), rows_shape));
  for (int64_t b = 0; b < batch; ++b) RETURN_IF_ERROR(ConvolveOne<direction>(ctx, v, o, b, &rows, result));
  return OkStatus();
}

template <Direction direction>
class Conv3D : public Kernel {
 public:
  explicit Conv3D(KernelInit& init) { init.Check(VolumeAttrs::Read(init.attrs(), &attrs_)); }

  Status Compute(KernelContext& ctx) override {
    Dims in, filter;
    RETURN_IF_ERROR(ReadShape(ctx, direction == Direction::kInput, 0, &in));
    in = attrs_.layout.ToLast(in);
    RETURN_IF_ERROR(ReadShape(ctx, direction == Direction::kFilter, 1, &filter));
    if (direction == Direction::kForward && ctx.input(1).num_elements() == 0) {
      return errors::InvalidArgument("filter must not have zero elements (i.e. all dimensions must be non-zero): ",
                                     ctx.input(1).shape().ToString());
    }
    VolumeWindow v;
    RETURN_IF_ERROR(MakeConvWindow(attrs_, in, filter, &v));
    ASSIGN_OR_RETURN(const Shape in_shape, MakeShape(in));
    ASSIGN_OR_RETURN(const Shape filter_shape, MakeShape(filter));
    ASSIGN_OR_RETURN(const Shape out_shape, MakeShape({in[0], v.out[0], v.out[1], v.out[2], filter[4]}));
    Tensor operands[3];  // volumes, filter, output; the one that is computed is left out
    for (int i = 0; i < ctx.num_inputs(); ++i) {
      if (i == kResult) continue;
      operands[i] = ctx.input(i);
      if (i != 1) {
        ASSIGN_OR_RETURN(operands[i], attrs_.layout.ToLast(ctx, ctx.input(i)));
      }
    }
    if (direction != Direction::kForward && !(operands[2].shape() == out_shape)) {
      return errors::InvalidArgument("Conv3D backprop: out_backprop has shape ", operands[2].shape().ToString(),
                                     " but ", out_shape.ToString(), " was expected");
    }
    const ImageLayout layout = kResult == 1 ? ImageLayout() : attrs_.layout;  // a filter always has its channels last
    const Shape& shape = kResult == 0 ? in_shape : kResult == 1 ? filter_shape : out_shape;
    ASSIGN_OR_RETURN(operands[kResult], layout.AllocateOutput(ctx, 0, shape));
    RETURN_IF_ERROR(ConvolveAll<direction>(ctx, v, {operands[0], operands[1], operands[2]}, &operands[kResult]));
    layout.Store(ctx, 0, operands[kResult]);
    return OkStatus();
  }

 private:
  // Which operand is the result.
  static constexpr int kResult = direction == Direction::kInput ? 0 : direction == Direction::kFilter ? 1 : 2;

  // The shape of operand i. That of the result is given as sizes or, in the first versions, by a tensor like it.
  static Status ReadShape(const KernelContext& ctx, bool is_result, int i, Dims* out) {
    const Tensor& t = ctx.input(i);
    if (is_result && IsInteger(t.dtype()))
      RETURN_IF_ERROR(ReadIntVector(t, "sizes", out));
    else
      out->assign(t.shape().dims().begin(), t.shape().dims().end());
    if (out->size() == 5) return OkStatus();
    return errors::InvalidArgument("Conv3D: operand ", i, " must have 5 dimensions");
  }

  VolumeAttrs attrs_;
};

}  // namespace

Status ConvolveVolumes(KernelContext& ctx, const VolumeWindow& v, const Tensor& input, const Tensor& filter,
                       Tensor* out) {
  return ConvolveAll<Direction::kForward>(ctx, v, {input, filter, *out}, out);
}

namespace {

Status Conv3DShape(ShapeContext& c) {
  PartialShape in, filter;
  RETURN_IF_ERROR(ShapeContext::WithRank(c.input(0), 5, &in));
  RETURN_IF_ERROR(ShapeContext::WithRank(c.input(1), 5, &filter));
  int64_t channels = 0;
  std::string format;
  RETURN_IF_ERROR(c.GetAttr("data_format", &format));
  const bool first = format == "NCDHW";
  RETURN_IF_ERROR(ShapeContext::MergeDim(in.dim(first ? 1 : 4), filter.dim(3), &channels));
  return VolumeOutputShape(c, in, filter, filter.dim(4), first);
}
Status BackInputShape(ShapeContext& c) {
  ASSIGN_OR_RETURN(PartialShape out, c.ConstantAsShape(0));
  RETURN_IF_ERROR(ShapeContext::WithRank(out, 5, &out));
  c.set_output(0, std::move(out));
  return OkStatus();
}
Status BackFilterShape(ShapeContext& c) {
  ASSIGN_OR_RETURN(PartialShape out, c.ConstantAsShape(1));
  RETURN_IF_ERROR(ShapeContext::WithRank(out, 5, &out));
  c.set_output(0, std::move(out));
  return OkStatus();
}

// Input i says the shape.
template <int i>
Status LikeInputShape(ShapeContext& c) {
  PartialShape out;
  RETURN_IF_ERROR(ShapeContext::WithRank(c.input(i), 5, &out));
  c.set_output(0, std::move(out));
  return OkStatus();
}

Output Make(const GradContext& g, const char* op, std::vector<Output> inputs) {
  return Relative(g, op, std::move(inputs), {"strides", "padding", "data_format", "dilations"});
}
Status Conv3DGrad(GradContext& g) {
  const Output x = g.input(0), f = g.input(1), dy = g.dy(0);
  g.set_dx(0, Make(g, "Conv3DBackpropInputV2", {ShapeOf(g, x), f, dy}));
  g.set_dx(1, Make(g, "Conv3DBackpropFilterV2", {x, ShapeOf(g, f), dy}));
  return g.status();
}
Status BackInputGrad(GradContext& g) {
  const Output f = g.input(1), dy = g.dy(0);
  g.set_dx(1, Make(g, "Conv3DBackpropFilterV2", {dy, ShapeOf(g, f), g.input(2)}));
  g.set_dx(2, Make(g, "Conv3D", {dy, f}));
  return g.status();
}
Status BackFilterGrad(GradContext& g) {
  const Output x = g.input(0), dy = g.dy(0);
  g.set_dx(0, Make(g, "Conv3DBackpropInputV2", {ShapeOf(g, x), dy, g.input(2)}));
  g.set_dx(2, Make(g, "Conv3D", {x, dy}));
  return g.status();
}

void Conv3DAttrs(OpBuilder& op) {
  op.Attr("T: {half, bfloat16, float, double}")
      .Attr("strides: list(int) >= 5")
      .Attr("padding: {'SAME', 'VALID'}")
      .Attr("data_format: {'NDHWC', 'NCDHW'} = 'NDHWC'")
      .Attr("dilations: list(int) = [1, 1, 1, 1, 1]");
}

OP("Conv3D")
    .Input("input: T")
    .Input("filter: T")
    .Output("output: T")
    .With(Conv3DAttrs)
    .Shape(Conv3DShape)
    .Gradient(Conv3DGrad)
    .CpuFor<Conv3D<Direction::kForward>>(FloatTypes{})
    .Expensive()
    .Doc("Convolves volumes with filters.");

OP("Conv3DBackpropInputV2")
    .Input("input_sizes: Tshape")
    .Input("filter: T")
    .Input("out_backprop: T")
    .Output("output: T")
    .With(Conv3DAttrs)
    .Attr("Tshape: {int32, int64} = DT_INT32")
    .Shape(BackInputShape)
    .Gradient(BackInputGrad)
    .CpuFor<Conv3D<Direction::kInput>>(FloatTypes{})
    .HostMemory("input_sizes")
    .Expensive()
    .Doc("The gradient of Conv3D for the input: also a transposed convolution.");

OP("Conv3DBackpropFilterV2")
    .Input("input: T")
    .Input("filter_sizes: int32")
    .Input("out_backprop: T")
    .Output("output: T")
    .With(Conv3DAttrs)
    .Shape(BackFilterShape)
    .Gradient(BackFilterGrad)
    .CpuFor<Conv3D<Direction::kFilter>>(FloatTypes{})
    .HostMemory("filter_sizes")
    .Expensive()
    .Doc("The gradient of Conv3D for the filter.");

// The first versions take the tensor itself, of which only the shape counts.
#define FIRST_CONV3D_BACKPROP(Name, direction, like, doc)                 \
  OP(Name)                                                                \
      .Input("input: T")                                                  \
      .Input("filter: T")                                                 \
      .Input("out_backprop: T")                                           \
      .Output("output: T")                                                \
      .Attr("T: {half, float, double}")                                   \
      .Attr("strides: list(int) >= 5")                                    \
      .Attr("padding: {'SAME', 'VALID'}")                                 \
      .Attr("dilations: list(int) = [1, 1, 1, 1, 1]")                     \
      .Shape(LikeInputShape<like>)                                        \
      .CpuFor<Conv3D<Direction::direction>>(Types<Half, float, double>{}) \
      .Expensive()                                                        \
      .Doc(doc)

FIRST_CONV3D_BACKPROP("Conv3DBackpropInput", kInput, 0,
                      "Conv3DBackpropInputV2 with an input from which only the shape is taken.");
FIRST_CONV3D_BACKPROP("Conv3DBackpropFilter", kFilter, 1,
                      "Conv3DBackpropFilterV2 with a filter from which only the shape is taken.");

}  // namespace
}  // namespace millstream
