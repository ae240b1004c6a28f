// SPDX-License-Identifier: Apache-2.0
#include "millstream/devices/cuda/elementwise.cuh"
#include "millstream/devices/cuda/index_array.cuh"

namespace millstream::cuda {
namespace {

// A warp for each row. False for a target out of range, and for rows with scores that are not finite before it is
// clear that too many are above the target's.
__global__ void FindInTopK(const float* scores, int64_t rows, int64_t classes, IndexArray targets, IndexArray k,
                           int64_t fixed_k, bool* out) {
  const int lane = threadIdx.x % 32;
  const int64_t warps = gridDim.x * int64_t{kThreads / 32};
  const int64_t limit = fixed_k >= 0 ? fixed_k : k[0];
  for (int64_t r = blockIdx.x * int64_t{kThreads / 32} + threadIdx.x / 32; r < rows; r += warps) {
    const float* const row = scores + r * classes;
    const int64_t target = targets[r];
    const bool is_inside = target >= 0 && target < classes && isfinite(row[target]);
    long long above = 0;
    bool is_finite = true;
    if (is_inside) {
      for (int64_t c = lane; c < classes; c += 32) {
        is_finite = is_finite && isfinite(row[c]);
        above += row[c] > row[target] ? 1 : 0;
      }
    }
#pragma unroll
    for (int step = 16; step > 0; step /= 2) above += __shfl_xor_sync(~0U, above, step);
    is_finite = __all_sync(~0U, is_finite);
    if (lane == 0) out[r] = is_inside && is_finite && above < limit;
  }
}

class InTopK final : public CudaKernel {
 public:
  explicit InTopK(KernelInit& init) : k_(init.HasAttr("k") ? std::max<int64_t>(init.Attr<int64_t>("k"), 0) : -1) {}

  Status Issue(Call& call) override {
    const Tensor &predictions = call.input(0), &targets = call.input(1);
    if (predictions.rank() != 2) return errors::InvalidArgument("predictions must be 2-dimensional");
    if (targets.rank() != 1) return errors::InvalidArgument("targets must be 1-dimensional");
    if (predictions.dim(0) != targets.dim(0)) {
      return errors::InvalidArgument("First dimension of predictions ", predictions.dim(0),
                                     " must match length of targets ", targets.dim(0));
    }
    const Tensor& k = k_ >= 0 ? targets : call.input(2);
    if (k_ < 0 && k.rank() != 0) return errors::InvalidArgument("k must be 0-D, got shape ", k.shape().ToString());
    ASSIGN_OR_RETURN(Tensor * out, call.Output(0, targets.shape()));
    const int64_t rows = targets.dim(0);
    if (rows == 0) return OkStatus();
    FindInTopK<<<BlocksFor(rows * 32), kThreads, 0, call.stream()>>>(static_cast<const float*>(predictions.raw()), rows,
                                                                     predictions.dim(1), IndexArray(targets),
                                                                     IndexArray(k), k_, static_cast<bool*>(out->raw()));
    return call.Launched();
  }

 private:
  const int64_t k_;  // -1: an input
};

CUDA_KERNEL("InTopK").ClassFor<InTopK>(IndexTypes{});
CUDA_KERNEL("InTopKV2").ClassFor<InTopK>(IndexTypes{});

}  // namespace
}  // namespace millstream::cuda
