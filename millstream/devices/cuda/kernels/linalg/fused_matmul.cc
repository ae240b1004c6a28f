// SPDX-License-Identifier: Apache-2.0
// MatMul with what follows it, in the epilogue of one product of cuBLASLt.
#include <climits>

#include "millstream/devices/cuda/kernels/linalg/product.h"
#include "millstream/devices/cuda/kernels/nn/bias_activation.h"
#include "millstream/ops/math/fused_ops.h"

namespace millstream::cuda {
namespace {

cudaDataType_t TypeOf(DType dtype) {
  if (dtype == DType::kHalf) return CUDA_R_16F;
  return dtype == DType::kBfloat16 ? CUDA_R_16BF : CUDA_R_32F;
}

struct Layouts {
  cublasLtMatmulDesc_t product = nullptr;
  cublasLtMatrixLayout_t a = nullptr, b = nullptr, c = nullptr;
  cublasLtMatmulPreference_t preference = nullptr;
  ~Layouts() {
    if (product != nullptr) cublasLtMatmulDescDestroy(product);
    if (a != nullptr) cublasLtMatrixLayoutDestroy(a);
    if (b != nullptr) cublasLtMatrixLayoutDestroy(b);
    if (c != nullptr) cublasLtMatrixLayoutDestroy(c);
    if (preference != nullptr) cublasLtMatmulPreferenceDestroy(preference);
  }
};

class FusedMatMul final : public CudaKernel {
 public:
  explicit FusedMatMul(KernelInit& init)
      : transpose_a_(init.Attr<bool>("transpose_a")),
        transpose_b_(init.Attr<bool>("transpose_b")),
        activation_(FusedActivation(init)) {}

  Status Issue(Call& call) override {
    const Tensor& a = call.input(0);
    const Tensor& b = call.input(1);
    const Tensor& bias = call.input(2);
    for (int i = 0; i < 2; ++i) {
      if (call.input(i).rank() == 2) continue;
      return errors::InvalidArgument("In[", i, "] is not a matrix. Instead it has shape ",
                                     call.input(i).shape().ToString());
    }
    Product p;
    p.m = a.dim(transpose_a_ ? 1 : 0);
    p.n = b.dim(transpose_b_ ? 0 : 1);
    p.k = a.dim(transpose_a_ ? 0 : 1);
    p.transpose_a = transpose_a_;
    p.transpose_b = transpose_b_;
    if (p.k != b.dim(transpose_b_ ? 1 : 0)) {
      return errors::InvalidArgument("Matrix size-incompatible: In[0]: ", a.shape().ToString(),
                                     ", In[1]: ", b.shape().ToString());
    }
    if (bias.rank() != 1 || bias.dim(0) != p.n) {
      return errors::InvalidArgument("Must provide as many biases as the last dimension of the input tensor: ",
                                     bias.shape().ToString(), " vs. ", p.n);
    }
    ASSIGN_OR_RETURN(Tensor * c, call.Output(0, Shape({p.m, p.n})));
    if (c->num_elements() == 0) return OkStatus();
    const bool in_epilogue = p.k > 0 && activation_ != math::Activation::kRelu6 && p.m <= INT_MAX && p.n <= INT_MAX;
    if (in_epilogue) {
      StatusOr<bool> done = MultiplyWithEpilogue(call, p, a, b, bias, c);
      RETURN_IF_ERROR(done.status());
      if (*done) return OkStatus();
    }
    RETURN_IF_ERROR(Multiply(call, p, a, b, c));
    return AddBiasAndActivate(call, *c, bias, activation_, false, c);
  }

 private:
  // False if cuBLASLt has no algorithm for it.
  StatusOr<bool> MultiplyWithEpilogue(Call& call, const Product& p, const Tensor& a, const Tensor& b,
                                      const Tensor& bias, Tensor* c) const {
    Layouts l;
    RETURN_IF_ERROR(Describe(p, a.dtype(), bias, &l));
    const float one = 1, zero = 0;
    bool done = false;
    RETURN_IF_ERROR(call.gpu().libraries().WithCublasLt([&](cublasLtHandle_t handle, void* workspace,
                                                            size_t workspace_bytes) -> Status {
      RETURN_IF_CUBLAS_ERROR(cublasLtMatmulPreferenceSetAttribute(
          l.preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &workspace_bytes, sizeof(workspace_bytes)));
      cublasLtMatmulHeuristicResult_t found;
      int count = 0;
      const cublasStatus_t status =
          cublasLtMatmulAlgoGetHeuristic(handle, l.product, l.b, l.a, l.c, l.c, l.preference, 1, &found, &count);
      if (status != CUBLAS_STATUS_SUCCESS || count == 0) return OkStatus();
      RETURN_IF_CUBLAS_ERROR(cublasLtMatmul(handle, l.product, &one, b.raw(), l.b, a.raw(), l.a, &zero, c->raw(), l.c,
                                            c->raw(), l.c, &found.algo, workspace, workspace_bytes, call.stream()));
      done = true;
      return OkStatus();
    }));
    return done;
  }

  // By columns, as cuBLAS stores: the transposed product, whose rows are the columns that a bias is for.
  Status Describe(const Product& p, DType dtype, const Tensor& bias, Layouts* l) const {
    const cudaDataType_t type = TypeOf(dtype);
    const cublasComputeType_t compute =
        dtype == DType::kFloat && MathLibraries::AllowsTf32() ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F;
    RETURN_IF_CUBLAS_ERROR(cublasLtMatmulDescCreate(&l->product, compute, CUDA_R_32F));
    const cublasOperation_t op_b = p.transpose_b ? CUBLAS_OP_T : CUBLAS_OP_N;
    const cublasOperation_t op_a = p.transpose_a ? CUBLAS_OP_T : CUBLAS_OP_N;
    const cublasLtEpilogue_t epilogue =
        activation_ == math::Activation::kNone ? CUBLASLT_EPILOGUE_BIAS : CUBLASLT_EPILOGUE_RELU_BIAS;
    const void* const bias_at = bias.raw();
    const auto set = [&](cublasLtMatmulDescAttributes_t attribute, const void* value, size_t size) {
      return CublasStatus(cublasLtMatmulDescSetAttribute(l->product, attribute, value, size),
                          "cublasLtMatmulDescSetAttribute");
    };
    RETURN_IF_ERROR(set(CUBLASLT_MATMUL_DESC_TRANSA, &op_b, sizeof(op_b)));
    RETURN_IF_ERROR(set(CUBLASLT_MATMUL_DESC_TRANSB, &op_a, sizeof(op_a)));
    RETURN_IF_ERROR(set(CUBLASLT_MATMUL_DESC_EPILOGUE, &epilogue, sizeof(epilogue)));
    RETURN_IF_ERROR(set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, &bias_at, sizeof(bias_at)));
    const auto m = static_cast<uint64_t>(p.m), n = static_cast<uint64_t>(p.n), k = static_cast<uint64_t>(p.k);
    RETURN_IF_CUBLAS_ERROR(cublasLtMatrixLayoutCreate(&l->b, type, p.transpose_b ? k : n, p.transpose_b ? n : k,
                                                      static_cast<int64_t>(p.transpose_b ? k : n)));
    RETURN_IF_CUBLAS_ERROR(cublasLtMatrixLayoutCreate(&l->a, type, p.transpose_a ? m : k, p.transpose_a ? k : m,
                                                      static_cast<int64_t>(p.transpose_a ? m : k)));
    RETURN_IF_CUBLAS_ERROR(cublasLtMatrixLayoutCreate(&l->c, type, n, m, static_cast<int64_t>(n)));
    RETURN_IF_CUBLAS_ERROR(cublasLtMatmulPreferenceCreate(&l->preference));
    return OkStatus();
  }

  const bool transpose_a_, transpose_b_;
  const math::Activation activation_;
};

CUDA_KERNEL("_FusedMatMul").ClassFor<FusedMatMul>(Types<Half, BFloat16, float>{});

}  // namespace
}  // namespace millstream::cuda
