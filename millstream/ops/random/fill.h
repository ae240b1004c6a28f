// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_OPS_RANDOM_FILL_H_
#define MILLSTREAM_OPS_RANDOM_FILL_H_

#include "millstream/framework/kernel.h"
#include "millstream/math/random/random.h"

// Whole tensors of random numbers, for the ops that differ only in where their generator comes from.
namespace millstream {

enum class Distribution { kUniform, kNormal, kTruncatedNormal };

// Fills a floating `out`. 16-bit normal numbers are those of float, rounded.
Status FillFloats(KernelContext& ctx, Distribution distribution, const math::Philox& philox, Tensor* out);
// Every value of an integer type of 32 or 64 bits is equally likely: the bits of the generator, in order.
void FillFullInts(const math::Philox& philox, Tensor* out);
// Integers in [low, high), which are scalars of the type of `out`: int32 or int64.
Status FillInts(KernelContext& ctx, const math::Philox& philox, const Tensor& low, const Tensor& high, Tensor* out);
// FillInts() would refuse these.
Status CheckIntRange(const Tensor& low, const Tensor& high);

}  // namespace millstream

#endif  // MILLSTREAM_OPS_RANDOM_FILL_H_
