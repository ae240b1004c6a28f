// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_DEVICES_CUDA_KERNELS_NN_CONV_ALGORITHM_H_
#define MILLSTREAM_DEVICES_CUDA_KERNELS_NN_CONV_ALGORITHM_H_

#include <cudnn.h>

#include <optional>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "millstream/devices/cuda/cuda_kernel.h"

namespace millstream::cuda {

// How cuDNN computes a convolution of given sizes.
struct ConvAlgorithm {
  int number = 0;
  cudnnMathType_t math = CUDNN_DEFAULT_MATH;
  size_t workspace = 0;
  float milliseconds = -1;  // negative if it was proposed by cuDNN, not measured
};

// Algorithms that were measured, for all convolutions of the process. Thread-safe.
std::optional<ConvAlgorithm> FindConvAlgorithm(const std::string& key);
void KeepConvAlgorithm(const std::string& key, const ConvAlgorithm& algorithm);

// Measuring waits for the device, so a step that is being recorded cannot measure. TF_CUDNN_USE_AUTOTUNE=0 forbids it.
bool MayMeasure(const Call& call);
// The time of a run of work for the handle's stream; negative if it fails. Work that takes much longer than `best` (if
// that is not negative) is measured roughly. Waits for the device.
float MeasuredMilliseconds(Call& call, cudnnHandle_t handle, float best, absl::FunctionRef<Status()> run);

// The three convolutions of cuDNN (forward, and the gradients of images and filter) differ in the types of descriptors
// alone: A and B describe the operands, C the result.
template <auto kProposeFn, auto kRunFn, typename PerfType>
struct CudnnConvolution {
  static constexpr auto kPropose = kProposeFn;
  static constexpr auto kRun = kRunFn;
  using Perf = PerfType;
};
using ConvForward =
    CudnnConvolution<cudnnGetConvolutionForwardAlgorithm_v7, cudnnConvolutionForward, cudnnConvolutionFwdAlgoPerf_t>;
using ConvBackwardInput = CudnnConvolution<cudnnGetConvolutionBackwardDataAlgorithm_v7, cudnnConvolutionBackwardData,
                                           cudnnConvolutionBwdDataAlgoPerf_t>;
using ConvBackwardFilter = CudnnConvolution<cudnnGetConvolutionBackwardFilterAlgorithm_v7,
                                            cudnnConvolutionBackwardFilter, cudnnConvolutionBwdFilterAlgoPerf_t>;

template <typename Descriptor>
struct ConvOperand {
  Descriptor descriptor;
  void* data;
};
template <typename Descriptor>
ConvOperand<Descriptor> OperandOf(Descriptor descriptor, const Tensor& t) {
  return {descriptor, const_cast<void*>(t.raw())};
}

inline constexpr size_t kMaxConvWorkspace = size_t{1} << 30;
inline constexpr int kMaxConvAlgorithms = 10;

// One way to compute c from a and b, once.
template <typename Calls, typename A, typename B, typename C>
Status RunAlgorithm(cudnnHandle_t handle, const ConvAlgorithm& algorithm, const Tensor& workspace, ConvOperand<A> a,
                    ConvOperand<B> b, cudnnConvolutionDescriptor_t conv, ConvOperand<C> c) {
  RETURN_IF_CUDNN_ERROR(cudnnSetConvolutionMathType(conv, algorithm.math));
  const float one = 1, zero = 0;
  using Algorithm = decltype(Calls::Perf::algo);
  RETURN_IF_CUDNN_ERROR(Calls::kRun(handle, &one, a.descriptor, a.data, b.descriptor, b.data, conv,
                                    static_cast<Algorithm>(algorithm.number), const_cast<void*>(workspace.raw()),
                                    algorithm.workspace, &zero, c.descriptor, c.data));
  return OkStatus();
}

// What cuDNN proposes, best first by its own estimate; algorithms that need too much memory are left out.
template <typename Calls, typename A, typename B, typename C>
StatusOr<std::vector<ConvAlgorithm>> ProposedAlgorithms(cudnnHandle_t handle, ConvOperand<A> a, ConvOperand<B> b,
                                                        cudnnConvolutionDescriptor_t conv, ConvOperand<C> c) {
  std::vector<typename Calls::Perf> found(kMaxConvAlgorithms);
  int count = 0;
  RETURN_IF_CUDNN_ERROR(Calls::kPropose(handle, a.descriptor, b.descriptor, conv, c.descriptor, kMaxConvAlgorithms,
                                        &count, found.data()));
  std::vector<ConvAlgorithm> usable;
  for (int i = 0; i < count; ++i) {
    const auto& p = found[i];
    if (p.status != CUDNN_STATUS_SUCCESS || p.memory > kMaxConvWorkspace) continue;
    usable.push_back({static_cast<int>(p.algo), p.mathType, p.memory});
  }
  if (usable.empty()) return errors::Unimplemented("cuDNN has no algorithm for this convolution");
  return usable;
}

// The first proposal or, if `measure`, the fastest of all that run.
template <typename Calls, typename A, typename B, typename C>
StatusOr<ConvAlgorithm> ChooseConvAlgorithm(Call& call, cudnnHandle_t handle, bool measure, ConvOperand<A> a,
                                            ConvOperand<B> b, cudnnConvolutionDescriptor_t conv, ConvOperand<C> c) {
  ASSIGN_OR_RETURN(std::vector<ConvAlgorithm> proposed, ProposedAlgorithms<Calls>(handle, a, b, conv, c));
  ConvAlgorithm best = proposed[0];
  for (ConvAlgorithm& algorithm : proposed) {
    if (!measure) break;
    StatusOr<Tensor> workspace = call.TempBytes(algorithm.workspace);
    if (!workspace.ok()) continue;
    algorithm.milliseconds = MeasuredMilliseconds(call, handle, best.milliseconds, [&] {
      return RunAlgorithm<Calls>(handle, algorithm, *workspace, a, b, conv, c);
    });
    const bool faster = best.milliseconds < 0 || algorithm.milliseconds < best.milliseconds;
    if (algorithm.milliseconds >= 0 && faster) best = algorithm;
  }
  return best;
}

// c = the convolution of a and b. `key` stands for the sizes; algorithms are measured if `measure`, once for each key.
template <typename Calls, typename A, typename B, typename C>
Status RunConvolution(Call& call, const std::string& key, bool measure, ConvOperand<A> a, ConvOperand<B> b,
                      cudnnConvolutionDescriptor_t conv, ConvOperand<C> c) {
  return call.gpu().libraries().WithCudnn(call.stream(), [&](cudnnHandle_t handle) -> Status {
    std::optional<ConvAlgorithm> chosen = FindConvAlgorithm(key);
    if (!chosen.has_value()) {
      ASSIGN_OR_RETURN(chosen, ChooseConvAlgorithm<Calls>(call, handle, measure, a, b, conv, c));
      if (chosen->milliseconds >= 0) KeepConvAlgorithm(key, *chosen);
    }
    ASSIGN_OR_RETURN(Tensor workspace, call.TempBytes(chosen->workspace));
    return RunAlgorithm<Calls>(handle, *chosen, workspace, a, b, conv, c);
  });
}

}  // namespace millstream::cuda

#endif  // MILLSTREAM_DEVICES_CUDA_KERNELS_NN_CONV_ALGORITHM_H_
