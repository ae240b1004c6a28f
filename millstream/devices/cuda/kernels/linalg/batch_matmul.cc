// SPDX-License-Identifier: Apache-2.0
#include "millstream/devices/cuda/kernels/linalg/product.h"
#include "millstream/ops/math/matrix_batch.h"

namespace millstream::cuda {
namespace {

// Products of the matrices in the last two dimensions. V2 broadcasts the others, V1 wants them equal.
template <bool broadcasts>
class BatchMatMul final : public CudaKernel {
 public:
  explicit BatchMatMul(KernelInit& init) : adj_x_(init.Attr<bool>("adj_x")), adj_y_(init.Attr<bool>("adj_y")) {}

  Status Issue(Call& call) override {
    const Tensor& x = call.input(0);
    const Tensor& y = call.input(1);
    ASSIGN_OR_RETURN(const Shape batch, JointBatch(x, y, broadcasts));
    Product p;
    p.m = x.dim(x.rank() - (adj_x_ ? 1 : 2));
    p.k = x.dim(x.rank() - (adj_x_ ? 2 : 1));
    p.n = y.dim(y.rank() - (adj_y_ ? 2 : 1));
    if (y.dim(y.rank() - (adj_y_ ? 1 : 2)) != p.k) {
      return errors::InvalidArgument("Matrix size-incompatible: In[0]: ", x.shape().ToString(),
                                     ", In[1]: ", y.shape().ToString());
    }
    std::vector<int64_t> dims(batch.dims().begin(), batch.dims().end());
    dims.push_back(p.m);
    dims.push_back(p.n);
    ASSIGN_OR_RETURN(const Shape shape, Shape::Make(dims));
    ASSIGN_OR_RETURN(Tensor * out, call.Output(0, shape));
    p.transpose_a = adj_x_;
    p.transpose_b = adj_y_;
    p.conjugate_a = adj_x_ && IsComplex(x.dtype());
    p.conjugate_b = adj_y_ && IsComplex(x.dtype());
    p.stride_c = p.m * p.n;
    const BroadcastMap x_map(BatchShape(x.shape()), batch), y_map(BatchShape(y.shape()), batch);
    if ((x_map.full() || x_map.scalar()) && (y_map.full() || y_map.scalar())) {
      p.batch = batch.num_elements();
      p.stride_a = x_map.full() ? p.m * p.k : 0;
      p.stride_b = y_map.full() ? p.k * p.n : 0;
      return Multiply(call, p, x, y, out);
    }
    return MultiplyEach(call, p, batch.num_elements(), x_map, y_map, out);
  }

 private:
  // Matrices that are repeated in patterns: one product each.
  static Status MultiplyEach(Call& call, const Product& p, int64_t count, const BroadcastMap& x_map,
                             const BroadcastMap& y_map, Tensor* out) {
    const auto* const x = static_cast<const char*>(call.input(0).raw());
    const auto* const y = static_cast<const char*>(call.input(1).raw());
    auto* const c = static_cast<char*>(out->raw());
    const auto size = static_cast<int64_t>(DTypeSize(out->dtype()));
    for (int64_t i = 0; i < count; ++i) {
      RETURN_IF_ERROR(MultiplyAt(call, p, out->dtype(), x + x_map.Offset(i) * p.m * p.k * size,
                                 y + y_map.Offset(i) * p.k * p.n * size, c + i * p.stride_c * size));
    }
    return OkStatus();
  }

  const bool adj_x_, adj_y_;
};

using BatchTypes = Join<FloatTypes, ComplexTypes>;
CUDA_KERNEL("BatchMatMul").ClassFor<BatchMatMul<false>>(BatchTypes{});
CUDA_KERNEL("BatchMatMulV2").ClassFor<BatchMatMul<true>>(BatchTypes{});

}  // namespace
}  // namespace millstream::cuda
