// SPDX-License-Identifier: Apache-2.0
#include "millstream/framework/op.h"
#include "millstream/ops/elements/blob.h"
#include "millstream/ops/random/generator.h"

namespace millstream {
namespace {

class RandomCropKernel final : public Kernel {
 public:
  explicit RandomCropKernel(KernelInit& init) : stream_(init.Attr<int64_t>("seed"), init.Attr<int64_t>("seed2")) {}

  Status Compute(KernelContext& ctx) override {
    const Tensor &image = ctx.input(0), &size = ctx.input(1);
    if (image.rank() != 3) return errors::InvalidArgument("input must be 3-dimensional", image.shape().ToString());
    if (size.rank() != 1 || size.dim(0) != 2)
      return errors::InvalidArgument("shape_t must have two elements", size.shape().ToString());
    const int64_t height = image.dim(0), width = image.dim(1), channels = image.dim(2);
    const int64_t rows = size.data<int64_t>()[0], cols = size.data<int64_t>()[1];
    if (rows < 0 || cols < 0) return errors::InvalidArgument("size must not be negative: ", rows, " and ", cols);
    if (cols > width) {
      return errors::FailedPrecondition("width must be >= target_width: width = ", width, ", target_width = ", cols);
    }
    if (rows > height) {
      return errors::FailedPrecondition("height must be >= target_height: height = ", height,
                                        ", target_height = ", rows);
    }
    ASSIGN_OR_RETURN(const Shape shape, Shape::Make(std::vector<int64_t>{rows, cols, channels}));
    ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, shape));
    // Only a side that has room takes a number: so the same seeds give the same crops as in TensorFlow.
    const math::Philox::Block chance = stream_.Reserve(1).Next();
    int used = 0;
    const auto draw = [&](int64_t room) { return room > 0 ? int64_t{chance[used++]} % (room + 1) : 0; };
    const int64_t left = draw(width - cols), top = draw(height - rows);
    DispatchBlob(image.dtype(), [&](auto type) {
      using T = typename decltype(type)::type;
      for (int64_t y = 0; y < rows && shape.num_elements() > 0; ++y) {
        CopyRun(BlobData<T>(image) + ((top + y) * width + left) * channels, cols * channels,
                BlobData<T>(out) + y * cols * channels);
      }
    });
    return OkStatus();
  }

 private:
  math::PhiloxStream stream_;
};

Status RandomCropShape(ShapeContext& c) {
  PartialShape image, size;
  RETURN_IF_ERROR(ShapeContext::WithRank(c.input(0), 3, &image));
  ASSIGN_OR_RETURN(size, c.ConstantAsShape(1));
  RETURN_IF_ERROR(ShapeContext::WithRank(size, 2, &size));
  c.set_output(0, size.Concatenate(image.rank_known() ? image.Slice(2, 3) : PartialShape({-1})));
  return OkStatus();
}

OP("RandomCrop")
    .Input("image: T")
    .Input("size: int64")
    .Output("output: T")
    .Attr("T: {uint8, int8, int16, int32, int64, float, double}")
    .Attr("seed: int = 0")
    .Attr("seed2: int = 0")
    .Stateful()
    .Shape(RandomCropShape)
    .NotDifferentiable()
    .Cpu<RandomCropKernel>()
    .HostMemory("size")
    .Doc("A part of an image, at a place of chance.");

}  // namespace
}  // namespace millstream
