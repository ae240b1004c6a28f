// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_OPS_RANDOM_GENERATOR_H_
#define MILLSTREAM_OPS_RANDOM_GENERATOR_H_

#include "millstream/framework/kernel.h"
#include "millstream/framework/shape_context.h"
#include "millstream/math/random/random.h"

// Where random ops take their generators from, and single draws for distributions that need an unknown number of them.
namespace millstream {

// The numbers that name the generators in the attribute or input `alg`.
inline constexpr int64_t kPhiloxAlg = 1, kAnyAlg = 3;

// A shape given as a vector of sizes.
StatusOr<Shape> ReadShapeInput(const Tensor& t);
// Such a shape, followed by that of the parameters: as many samples of each.
StatusOr<Shape> ShapeOfSamples(const Tensor& samples, const Tensor& parameters);

// The generator of a pair of seeds. They are mixed, so that every bit of both counts.
StatusOr<math::Philox> GeneratorFromSeed(const Tensor& seed);
// The generator given by inputs 1, 2 and 3: key, counter, algorithm.
StatusOr<math::Philox> GeneratorFromKey(const KernelContext& ctx);

// InvalidArgument unless the shape may be [2].
Status CheckSeedShape(const PartialShape& seed);
// Shape functions of ops whose output has the shape that input 0 says: with a seed as input 1, or with key, counter and
// algorithm as inputs 1, 2 and 3.
Status SeededShape(ShapeContext& c);
Status KeyedShape(ShapeContext& c);
// Of ops with ShapeOfSamples(input 0, input 1).
Status SamplesShape(ShapeContext& c);

// Uniform and normal numbers of one generator, drawn one by one in TensorFlow's order: each kind keeps what is left of
// its last block.
class Draws {
 public:
  explicit Draws(const math::Philox& philox) : philox_(philox) {}
  // Output `i` of an op: outputs have a part of the stream each, so that their order does not matter.
  Draws(const math::Philox& philox, int64_t i) : philox_(philox) { philox_.Skip(static_cast<uint64_t>(i) * 256); }

  double Uniform() {
    if (uniform_left_ == 0) {
      const math::Philox::Block b = philox_.Next();
      uniform_[0] = math::random_internal::ToDouble(b[0], b[1]);
      uniform_[1] = math::random_internal::ToDouble(b[2], b[3]);
      uniform_left_ = 2;
    }
    return uniform_[--uniform_left_];
  }
  double Normal() {
    if (normal_left_ == 0) {
      const math::Philox::Block b = philox_.Next();
      const auto pair = math::random_internal::NormalPair(b[0], b[1], b[2], b[3]);
      normal_[0] = pair.first;
      normal_[1] = pair.second;
      normal_left_ = 2;
    }
    return normal_[--normal_left_];
  }

 private:
  math::Philox philox_;
  double uniform_[2] = {}, normal_[2] = {};
  int uniform_left_ = 0, normal_left_ = 0;
};

}  // namespace millstream

#endif  // MILLSTREAM_OPS_RANDOM_GENERATOR_H_
