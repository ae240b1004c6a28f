// SPDX-License-Identifier: Apache-2.0
#include "millstream/devices/cuda/kernels/nn/conv_algorithm.h"

#include <cstdlib>

#include "absl/container/flat_hash_map.h"
#include "millstream/base/mutex.h"

namespace millstream::cuda {
namespace {

struct MeasuredAlgorithms {
  Mutex mu;
  absl::flat_hash_map<std::string, ConvAlgorithm> by_key ABSL_GUARDED_BY(mu);
};

MeasuredAlgorithms& Measured() {
  static auto* const measured = new MeasuredAlgorithms;
  return *measured;
}

bool AutotuneIsOn() {
  static const bool on = [] {
    const char* const text = std::getenv("TF_CUDNN_USE_AUTOTUNE");
    return text == nullptr || text[0] != '0';
  }();
  return on;
}

// Several runs as a CUDA graph: short kernels would otherwise wait for the host, and all take the same time.
StatusOr<cudaGraphExec_t> RecordRuns(cudnnHandle_t handle, int runs, absl::FunctionRef<Status()> run) {
  cudaStream_t stream = nullptr;
  RETURN_IF_CUDA_ERROR(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  Status status = CudnnStatus(cudnnSetStream(handle, stream), "cudnnSetStream");
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t exec = nullptr;
  if (status.ok() && cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed) == cudaSuccess) {
    for (int i = 0; i < runs && status.ok(); ++i) status = run();
    const cudaError_t ended = cudaStreamEndCapture(stream, &graph);
    if (status.ok()) status = ToStatus(ended, "cudaStreamEndCapture");
    if (status.ok()) status = ToStatus(cudaGraphInstantiate(&exec, graph, 0), "cudaGraphInstantiate");
  }
  if (graph != nullptr) cudaGraphDestroy(graph);
  cudaStreamDestroy(stream);
  RETURN_IF_ERROR(status);
  if (exec == nullptr) return errors::Internal("a convolution cannot be recorded");
  return exec;
}

// The time of what `issue` issues to the stream, by events around it; negative if it fails. Waits for the device.
float TimeOf(cudaStream_t stream, absl::FunctionRef<bool()> issue) {
  cudaEvent_t begin = nullptr, end = nullptr;
  float milliseconds = -1;
  if (cudaEventCreate(&begin) == cudaSuccess && cudaEventCreate(&end) == cudaSuccess) {
    cudaEventRecord(begin, stream);
    const bool issued = issue();
    cudaEventRecord(end, stream);
    const bool ended = cudaEventSynchronize(end) == cudaSuccess;
    if (!issued || !ended || cudaEventElapsedTime(&milliseconds, begin, end) != cudaSuccess) milliseconds = -1;
  }
  if (begin != nullptr) cudaEventDestroy(begin);
  if (end != nullptr) cudaEventDestroy(end);
  return milliseconds;
}

}  // namespace

std::optional<ConvAlgorithm> FindConvAlgorithm(const std::string& key) {
  MeasuredAlgorithms& measured = Measured();
  MutexLock lock(measured.mu);
  const auto it = measured.by_key.find(key);
  return it == measured.by_key.end() ? std::nullopt : std::optional<ConvAlgorithm>(it->second);
}

void KeepConvAlgorithm(const std::string& key, const ConvAlgorithm& algorithm) {
  MeasuredAlgorithms& measured = Measured();
  MutexLock lock(measured.mu);
  measured.by_key.emplace(key, algorithm);
}

bool MayMeasure(const Call& call) {
  cudaStreamCaptureStatus capturing = cudaStreamCaptureStatusNone;
  return AutotuneIsOn() && cudaStreamIsCapturing(call.stream(), &capturing) == cudaSuccess &&
         capturing == cudaStreamCaptureStatusNone;
}

float MeasuredMilliseconds(Call& call, cudnnHandle_t handle, float best, absl::FunctionRef<Status()> run) {
  constexpr float kHost = 0.2f;  // more than the host takes to issue a run
  constexpr int kRuns = 8;
  const cudaStream_t stream = call.stream();
  float milliseconds = run().ok() ? TimeOf(stream, [&] { return run().ok(); }) : -1;  // the first one loads its code
  const bool loses = best >= 0 && milliseconds > 2 * best + kHost;
  if (milliseconds >= 0 && milliseconds < 2 * kHost && !loses) {
    StatusOr<cudaGraphExec_t> exec = RecordRuns(handle, kRuns, run);
    if (cudnnSetStream(handle, stream) != CUDNN_STATUS_SUCCESS) return -1;
    if (exec.ok()) {
      const auto launch = [&] { return cudaGraphLaunch(*exec, stream) == cudaSuccess; };
      milliseconds = launch() ? TimeOf(stream, launch) / kRuns : -1;
      cudaGraphExecDestroy(*exec);
    }
  }
  cudaGetLastError();
  return milliseconds;
}

}  // namespace millstream::cuda
