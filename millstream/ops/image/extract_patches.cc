// SPDX-License-Identifier: Apache-2.0
#include "millstream/ops/elements/blob.h"
#include "millstream/ops/gradients/relative.h"
#include "millstream/ops/image/patches_gradient.h"

namespace millstream {
namespace {

// How many windows of `size` taps, `rate` apart, fit when they move by `stride`; where the first begins.
void Windows(int64_t in, int64_t size, int64_t rate, int64_t stride, bool same, int64_t* count, int64_t* begin) {
  const int64_t reach = size + (size - 1) * (rate - 1);
  *count = same ? (in + stride - 1) / stride : in < reach ? 0 : (in - reach) / stride + 1;
  *begin = same ? -(std::max<int64_t>((*count - 1) * stride + reach - in, 0) / 2) : 0;
}

struct PatchOptions {
  std::vector<int64_t> sizes, strides, rates;
  bool same = false;

  static Status Check(const std::vector<int64_t>& v, const char* what) {
    if (v.size() == 4 && v[0] == 1 && v[3] == 1 && v[1] >= 1 && v[2] >= 1) return OkStatus();
    return errors::Unimplemented("Only support ", what, " across space.");
  }
  Status Check() const {
    RETURN_IF_ERROR(Check(sizes, "ksizes"));
    RETURN_IF_ERROR(Check(strides, "strides"));
    return Check(rates, "rates");
  }
};

class ExtractImagePatches : public Kernel {
 public:
  explicit ExtractImagePatches(KernelInit& init) {
    options_.sizes = init.Attr<std::vector<int64_t>>("ksizes");
    options_.strides = init.Attr<std::vector<int64_t>>("strides");
    options_.rates = init.Attr<std::vector<int64_t>>("rates");
    options_.same = init.Attr<std::string>("padding") == "SAME";
    init.Check(options_.Check());
  }

  Status Compute(KernelContext& ctx) override {
    const Tensor& in = ctx.input(0);
    if (in.rank() != 4) return errors::InvalidArgument("input must be 4-dimensional", in.shape().ToString());
    const int64_t depth = in.dim(3), kh = options_.sizes[1], kw = options_.sizes[2];
    int64_t rows = 0, cols = 0, top = 0, left = 0;
    Windows(in.dim(1), kh, options_.rates[1], options_.strides[1], options_.same, &rows, &top);
    Windows(in.dim(2), kw, options_.rates[2], options_.strides[2], options_.same, &cols, &left);
    int64_t patch = 0;
    if (__builtin_mul_overflow(kh * kw, depth, &patch))
      return errors::InvalidArgument("Output size would overflow: ", kh, " x ", kw, " x ", depth);
    const std::vector<int64_t> dims{in.dim(0), rows, cols, patch};
    ASSIGN_OR_RETURN(const Shape shape, Shape::Make(dims));
    ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, shape));
    if (shape.num_elements() == 0) return OkStatus();
    FillZero(ctx, out);
    DispatchBlob(in.dtype(), [&](auto type) {
      using T = typename decltype(type)::type;
      const double cost = static_cast<double>(patch);
      ctx.ParallelFor(in.dim(0) * rows * cols, cost, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
          const int64_t y0 = top + i / cols % rows * options_.strides[1], x0 = left + i % cols * options_.strides[2];
          const T* image = BlobData<T>(in) + i / (rows * cols) * in.dim(1) * in.dim(2) * depth;
          T* to = BlobData<T>(out) + i * patch;
          for (int64_t k = 0; k < kh * kw; ++k, to += depth) {
            const int64_t y = y0 + k / kw * options_.rates[1], x = x0 + k % kw * options_.rates[2];
            if (y < 0 || y >= in.dim(1) || x < 0 || x >= in.dim(2)) continue;
            CopyRun(image + (y * in.dim(2) + x) * depth, depth, to);
          }
        }
      });
    });
    return OkStatus();
  }

 private:
  PatchOptions options_;
};

Status PatchesShape(ShapeContext& c) {
  PartialShape in;
  RETURN_IF_ERROR(ShapeContext::WithRank(c.input(0), 4, &in));
  PatchOptions o;
  std::string padding;
  RETURN_IF_ERROR(c.GetAttr("ksizes", &o.sizes));
  RETURN_IF_ERROR(c.GetAttr("strides", &o.strides));
  RETURN_IF_ERROR(c.GetAttr("rates", &o.rates));
  RETURN_IF_ERROR(c.GetAttr("padding", &padding));
  if (!o.Check().ok()) return errors::InvalidArgument("ExtractImagePatches requires sizes of four dimensions");
  int64_t rows = -1, cols = -1, unused = 0;
  if (in.dim(1) >= 0) Windows(in.dim(1), o.sizes[1], o.rates[1], o.strides[1], padding == "SAME", &rows, &unused);
  if (in.dim(2) >= 0) Windows(in.dim(2), o.sizes[2], o.rates[2], o.strides[2], padding == "SAME", &cols, &unused);
  if (in.dim(1) < 0 || in.dim(2) < 0) rows = cols = -1;
  const int64_t depth = in.dim(3) < 0 ? -1 : in.dim(3) * o.sizes[1] * o.sizes[2];
  c.set_output(0, PartialShape({in.dim(0), rows, cols, depth}));
  return OkStatus();
}

Status PatchesGrad(GradContext& g) {
  return PatchesGradient(g, 2, [&g](Output numbers) {
    return Relative(g, "ExtractImagePatches", {numbers}, {"ksizes", "strides", "rates", "padding"});
  });
}

OP("ExtractImagePatches")
    .Input("images: T")
    .Output("patches: T")
    .Attr("ksizes: list(int) >= 4")
    .Attr("strides: list(int) >= 4")
    .Attr("rates: list(int) >= 4")
    .Attr(
        "T: {bfloat16, half, float, double, int8, int16, int32, int64, uint8, uint16, uint32, uint64, "
        "complex64, complex128, bool}")
    .Attr("padding: {'SAME', 'VALID'}")
    .Shape(PatchesShape)
    .Gradient(PatchesGrad)
    .CpuFor<ExtractImagePatches>(NumberTypes{})
    .Doc("Windows of images, each as one row of numbers.");

}  // namespace
}  // namespace millstream
