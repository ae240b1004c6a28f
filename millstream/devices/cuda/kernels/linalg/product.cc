// SPDX-License-Identifier: Apache-2.0
#include "millstream/devices/cuda/kernels/linalg/product.h"

#include <climits>
#include <complex>

namespace millstream::cuda {
namespace {

struct ProductTypes {
  cudaDataType_t element;
  cublasComputeType_t compute;
};

ProductTypes TypesOf(DType dtype) {
  switch (dtype) {
    case DType::kHalf:
      return {CUDA_R_16F, CUBLAS_COMPUTE_32F};
    case DType::kBfloat16:
      return {CUDA_R_16BF, CUBLAS_COMPUTE_32F};
    case DType::kDouble:
      return {CUDA_R_64F, CUBLAS_COMPUTE_64F};
    case DType::kComplex64:
      return {CUDA_C_32F, CUBLAS_COMPUTE_32F};
    case DType::kComplex128:
      return {CUDA_C_64F, CUBLAS_COMPUTE_64F};
    default:
      return {CUDA_R_32F, CUBLAS_COMPUTE_32F};
  }
}

cublasOperation_t Operation(bool transpose, bool conjugate) {
  if (conjugate) return CUBLAS_OP_C;
  return transpose ? CUBLAS_OP_T : CUBLAS_OP_N;
}

}  // namespace

Status MultiplyAt(Call& call, const Product& p, DType dtype, const void* a, const void* b, void* c) {
  if (p.m == 0 || p.n == 0 || p.batch == 0) return OkStatus();
  if (p.k == 0) {
    const size_t bytes = static_cast<size_t>(p.m * p.n) * DTypeSize(dtype);
    for (int64_t i = 0; i < p.batch; ++i) {
      char* const at = static_cast<char*>(c) + static_cast<size_t>(i * p.stride_c) * DTypeSize(dtype);
      RETURN_IF_CUDA_ERROR(cudaMemsetAsync(at, 0, bytes, call.stream()));
    }
    return OkStatus();
  }
  if (p.m > INT_MAX || p.n > INT_MAX || p.k > INT_MAX || p.batch > INT_MAX) {
    return errors::InvalidArgument("matrices are too large for a GPU: ", p.m, "x", p.k, " by ", p.k, "x", p.n);
  }
  const ProductTypes types = TypesOf(dtype);
  // One and zero in every type that scales a product: complex<double> holds them all in its first bytes but for floats.
  const std::complex<double> one64 = 1, zero64 = 0;
  const std::complex<float> one32 = 1, zero32 = 0;
  const bool wide = types.compute == CUBLAS_COMPUTE_64F;
  const void* const alpha = wide ? static_cast<const void*>(&one64) : &one32;
  const void* const beta = wide ? static_cast<const void*>(&zero64) : &zero32;
  const int m = static_cast<int>(p.m), n = static_cast<int>(p.n), k = static_cast<int>(p.k);
  // cuBLAS stores by columns, so that it computes the transposed product: op(b)^T op(a)^T.
  return call.gpu().libraries().WithCublas(call.stream(), [&](cublasHandle_t handle) -> Status {
    const cublasOperation_t op_b = Operation(p.transpose_b, p.conjugate_b);
    const cublasOperation_t op_a = Operation(p.transpose_a, p.conjugate_a);
    const int ldb = p.transpose_b ? k : n, lda = p.transpose_a ? m : k;
    if (p.batch == 1) {
      RETURN_IF_CUBLAS_ERROR(cublasGemmEx(handle, op_b, op_a, n, m, k, alpha, b, types.element, ldb, a, types.element,
                                          lda, beta, c, types.element, n, types.compute, CUBLAS_GEMM_DEFAULT));
      return OkStatus();
    }
    RETURN_IF_CUBLAS_ERROR(cublasGemmStridedBatchedEx(
        handle, op_b, op_a, n, m, k, alpha, b, types.element, ldb, p.stride_b, a, types.element, lda, p.stride_a, beta,
        c, types.element, n, p.stride_c, static_cast<int>(p.batch), types.compute, CUBLAS_GEMM_DEFAULT));
    return OkStatus();
  });
}

Status Multiply(Call& call, const Product& product, const Tensor& a, const Tensor& b, Tensor* c) {
  return MultiplyAt(call, product, a.dtype(), a.raw(), b.raw(), c->raw());
}

}  // namespace millstream::cuda
