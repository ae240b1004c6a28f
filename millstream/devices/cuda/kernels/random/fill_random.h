// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_DEVICES_CUDA_KERNELS_RANDOM_FILL_RANDOM_H_
#define MILLSTREAM_DEVICES_CUDA_KERNELS_RANDOM_FILL_RANDOM_H_

#include "millstream/devices/cuda/cuda_kernel.h"
#include "millstream/devices/cuda/kernels/random/philox_state.h"
#include "millstream/ops/random/fill.h"

namespace millstream::cuda {

// The generator of one run: in device memory, where it moves on from run to run, or given by the host.
struct GeneratorSource {
  PhiloxState* on_device = nullptr;
  PhiloxState given = {};
};

// Fills a floating `out`.
Status FillRandomFloats(Call& call, Distribution distribution, const GeneratorSource& from, Tensor* out);
// Integers in [low, high), which are scalars in host memory of the type of `out`: int32 or int64. The range must have
// been checked.
Status FillRandomInts(Call& call, const GeneratorSource& from, const Tensor& low, const Tensor& high, Tensor* out);
// Moves a generator in device memory on by what TensorFlow reserves for `outputs` numbers.
Status AdvanceGenerator(Call& call, PhiloxState* state, int64_t outputs);
// Writes the first state of a generator.
Status StartGenerator(cudaStream_t stream, const PhiloxState& first, PhiloxState* state);

}  // namespace millstream::cuda

#endif  // MILLSTREAM_DEVICES_CUDA_KERNELS_RANDOM_FILL_RANDOM_H_
