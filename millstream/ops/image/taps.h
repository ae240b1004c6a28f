// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_OPS_IMAGE_TAPS_H_
#define MILLSTREAM_OPS_IMAGE_TAPS_H_

#include <vector>

#include "millstream/framework/kernel.h"
#include "millstream/framework/shape_context.h"

namespace millstream {

// Where the elements of a resized axis come from: element i is the sum of weight * input over its taps.
struct Taps {
  std::vector<int64_t> begins;  // of the taps of element i in the two lists; one more than there are elements
  std::vector<int64_t> sources;
  std::vector<float> weights;

  int64_t size() const { return static_cast<int64_t>(begins.size()) - 1; }
  void Add(int64_t source, float weight) {
    sources.push_back(source);
    weights.push_back(weight);
  }
  void EndElement() { begins.push_back(static_cast<int64_t>(sources.size())); }
  Taps() : begins{0} {}
};

enum class Interpolation { kNearest, kBilinear, kBicubic, kArea };

struct ResizeOptions {
  Interpolation method;
  bool align_corners = false;
  bool half_pixel_centers = false;
};

// Pixels of the input for one of the output, along one axis. REQUIRES (both): sizes are positive.
float ScaleOf(const ResizeOptions& options, int64_t in_size, int64_t out_size);
Taps MakeTaps(const ResizeOptions& options, int64_t in_size, int64_t out_size);

// Room for n plain records; ResourceExhausted if there is none. For tables as long as a size that a graph gives.
template <typename R>
StatusOr<Tensor> AllocateRecords(KernelContext& ctx, int64_t n) {
  static_assert(std::is_trivially_copyable_v<R>);
  int64_t bytes = 0;
  if (n < 0 || __builtin_mul_overflow(n, static_cast<int64_t>(sizeof(R)), &bytes)) {
    return errors::InvalidArgument("Too many records: ", n);
  }
  const int64_t dims[] = {bytes};
  ASSIGN_OR_RETURN(const Shape shape, Shape::Make(dims));
  return ctx.AllocateTemp(DType::kUint8, shape);
}
template <typename R>
R* Records(Tensor* t) {
  return static_cast<R*>(t->raw());
}
// ResourceExhausted if there is no room for the taps of images of that size.
Status CheckTapMemory(KernelContext& ctx, int64_t height, int64_t width);

// Sizes of a batch of images.
struct ImageShape {
  int64_t batch, height, width, channels;
};

// InvalidArgument unless `t` is a batch of images that are not empty.
StatusOr<ImageShape> ReadImages(const Tensor& t, const char* what);
// Two positive sizes. InvalidArgument otherwise.
Status ReadImageSize(const Tensor& size, int64_t* height, int64_t* width);

// to[y, x] = sum of wy * wx * from[sy, sx] over all taps, for batches of images, in parallel.
void Resample(KernelContext& ctx, const ImageShape& in, const Taps& y, const Taps& x, const float* from, float* to);
// Its gradient: dx[sy, sx] = sum of wy * wx * dy[y, x] over all taps.
void ResampleBack(KernelContext& ctx, const ImageShape& in, const Taps& y, const Taps& x, const float* dy, float* dx);

// The elements as float, converted if they are of another real type.
StatusOr<Tensor> ImageAsFloat(KernelContext& ctx, const Tensor& t);
// `from` (float) to output i, converted to its type.
Status SetFromFloat(KernelContext& ctx, int i, Tensor from);

// [batch, height, width, channels] from input 0 and the two sizes in input 1, or another.
Status ResizeShape(ShapeContext& c);
Status ResizeShapeFrom(ShapeContext& c, int size_input);

}  // namespace millstream

#endif  // MILLSTREAM_OPS_IMAGE_TAPS_H_
