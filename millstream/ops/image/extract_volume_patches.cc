// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>

#include "millstream/ops/elements/blob.h"
#include "millstream/ops/gradients/relative.h"
#include "millstream/ops/image/patches_gradient.h"

namespace millstream {
namespace {

struct VolumeOptions {
  std::vector<int64_t> sizes, strides;
  bool same = false;

  static Status Check(const std::vector<int64_t>& v, const char* what) {
    if (v.size() != 5) return errors::InvalidArgument(what, " must have five sizes, got ", v.size());
    if (v[0] != 1 || v[4] != 1) return errors::Unimplemented("Only support ", what, " across space.");
    if (*std::min_element(v.begin(), v.end()) > 0) return OkStatus();
    return errors::OutOfRange(what, " is out of range.");
  }
  Status Check() const {
    RETURN_IF_ERROR(Check(sizes, "ksizes"));
    return Check(strides, "strides");
  }
  // Windows along the axis d (1, 2, 3) of `in` elements; where the first begins.
  int64_t Count(int d, int64_t in) const {
    if (same) return (in + strides[d] - 1) / strides[d];
    return in < sizes[d] ? 0 : (in - sizes[d]) / strides[d] + 1;
  }
  int64_t Begin(int d, int64_t in) const {
    return same ? -(std::max<int64_t>((Count(d, in) - 1) * strides[d] + sizes[d] - in, 0) / 2) : 0;
  }
};

class ExtractVolumePatches final : public Kernel {
 public:
  explicit ExtractVolumePatches(KernelInit& init) {
    options_.sizes = init.Attr<std::vector<int64_t>>("ksizes");
    options_.strides = init.Attr<std::vector<int64_t>>("strides");
    options_.same = init.Attr<std::string>("padding") == "SAME";
    init.Check(options_.Check());
  }

  Status Compute(KernelContext& ctx) override {
    const Tensor& in = ctx.input(0);
    if (in.rank() != 5) return errors::InvalidArgument("input must be 5-dimensional", in.shape().ToString());
    int64_t patch = in.dim(4);
    bool overflow = false;
    std::vector<int64_t> dims{in.dim(0)};
    for (int d = 1; d < 4; ++d) {
      overflow |= __builtin_mul_overflow(patch, options_.sizes[d], &patch);
      dims.push_back(options_.Count(d, in.dim(d)));
    }
    if (overflow) return errors::InvalidArgument("Output size would overflow: patches of ", in.shape().ToString());
    dims.push_back(patch);
    ASSIGN_OR_RETURN(const Shape shape, Shape::Make(dims));
    ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, shape));
    if (shape.num_elements() == 0) return OkStatus();
    FillZero(ctx, out);
    DispatchBlob(in.dtype(), [&](auto type) {
      using T = typename decltype(type)::type;
      ctx.ParallelFor(shape.num_elements() / patch, static_cast<double>(patch), [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) CopyPatch(in, dims, i, BlobData<T>(in), BlobData<T>(out) + i * patch);
      });
    });
    return OkStatus();
  }

 private:
  // Patch number i of `dims`, tap by tap; taps outside of the volume are left as they are.
  template <typename T>
  void CopyPatch(const Tensor& in, const std::vector<int64_t>& dims, int64_t i, const T* from, T* to) const {
    const int64_t depth = in.dim(4);
    std::array<int64_t, 4> at{};
    for (int d = 3; d > 0; i /= dims[d], --d) at[d] = options_.Begin(d, in.dim(d)) + i % dims[d] * options_.strides[d];
    for (int64_t p = 0; p < options_.sizes[1]; ++p) {
      for (int64_t r = 0; r < options_.sizes[2]; ++r) {
        for (int64_t c = 0; c < options_.sizes[3]; ++c, to += depth) {
          const int64_t z = at[1] + p, y = at[2] + r, x = at[3] + c;
          if (z < 0 || z >= in.dim(1) || y < 0 || y >= in.dim(2) || x < 0 || x >= in.dim(3)) continue;
          CopyRun(from + (((i * in.dim(1) + z) * in.dim(2) + y) * in.dim(3) + x) * depth, depth, to);
        }
      }
    }
  }

  VolumeOptions options_;
};

Status PatchesShape(ShapeContext& c) {
  PartialShape in;
  RETURN_IF_ERROR(ShapeContext::WithRank(c.input(0), 5, &in));
  VolumeOptions o;
  std::string padding;
  RETURN_IF_ERROR(c.GetAttr("ksizes", &o.sizes));
  RETURN_IF_ERROR(c.GetAttr("strides", &o.strides));
  RETURN_IF_ERROR(c.GetAttr("padding", &padding));
  o.same = padding == "SAME";
  RETURN_IF_ERROR(o.Check());
  std::vector<int64_t> dims{in.dim(0), -1, -1, -1, in.dim(4)};
  for (int d = 1; d < 4; ++d) {
    if (in.dim(d) >= 0) dims[d] = o.Count(d, in.dim(d));
    if (dims[4] >= 0) dims[4] *= o.sizes[d];
  }
  c.set_output(0, PartialShape(dims));
  return OkStatus();
}

Status PatchesGrad(GradContext& g) {
  return PatchesGradient(g, 3, [&g](Output numbers) {
    return Relative(g, "ExtractVolumePatches", {numbers}, {"ksizes", "strides", "padding"});
  });
}

OP("ExtractVolumePatches")
    .Input("input: T")
    .Output("patches: T")
    .Attr("ksizes: list(int) >= 5")
    .Attr("strides: list(int) >= 5")
    .Attr("T: realnumbertype")
    .Attr("padding: {'SAME', 'VALID'}")
    .Shape(PatchesShape)
    .Gradient(PatchesGrad)
    .CpuFor<ExtractVolumePatches>(RealTypes{})
    .Doc("Windows of volumes, each as one row of numbers.");

}  // namespace
}  // namespace millstream
