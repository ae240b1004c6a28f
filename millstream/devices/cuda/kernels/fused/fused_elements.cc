// SPDX-License-Identifier: Apache-2.0
#include <cstdlib>
#include <cstring>
#include <optional>

#include "millstream/devices/cuda/cuda_kernel.h"
#include "millstream/devices/cuda/fusion/compiler.h"
#include "millstream/devices/cuda/fusion/element_layout.h"
#include "millstream/ops/fused/member_kernels.h"

namespace millstream::cuda {
namespace {

// One kernel, compiled for the program and the form that the shapes give it; where that cannot be, the members' own.
class FusedElements final : public CudaKernel {
 public:
  explicit FusedElements(KernelInit& init) { init.Check(Init(init)); }

  Status Issue(Call& call) override {
    std::vector<Shape> shapes;
    for (int i = 0; i < call.ctx().num_inputs(); ++i) shapes.push_back(call.input(i).shape());
    const std::optional<ElementLayout> layout = ElementLayout::Make(program_, body_, shapes);
    if (!layout) return members_->Run(call.ctx());
    return layout->num_elements() > 0 ? IssueFused(call, *layout) : MakeEmpty(call, *layout);
  }

 private:
  Status Init(const KernelInit& init) {
    ASSIGN_OR_RETURN(body_, ReadFusedBody(init.attrs()));
    ASSIGN_OR_RETURN(program_, MakeElementProgram(body_));
    ASSIGN_OR_RETURN(members_, MemberKernels::Make(body_, "GPU", init));
    return OkStatus();
  }

  static Status MakeEmpty(Call& call, const ElementLayout& layout) {
    for (size_t i = 0; i < layout.results().size(); ++i) {
      RETURN_IF_ERROR(call.Output(static_cast<int>(i), layout.results()[i]).status());
    }
    return OkStatus();
  }

  Status IssueFused(Call& call, const ElementLayout& layout) {
    std::vector<const void*> args;
    for (int i = 0; i < call.ctx().num_inputs(); ++i) args.push_back(call.input(i).raw());
    std::vector<Tensor> results;
    std::vector<void*> places;
    RETURN_IF_ERROR(MakeResults(call, layout, &results, &places));
    const ElementLayout::Launch launch = layout.At(program_, args, places);
    const cudaDeviceProp& gpu = call.gpu().properties();
    const StatusOr<cudaKernel_t> kernel =
        FindFusedKernel(ElementKernelSource(program_, launch.form), gpu.major, gpu.minor);
    if (!kernel.ok()) return members_->Run(call.ctx());
    std::vector<char> parameters(launch.addresses.size() * sizeof(uint64_t) + launch.numbers.size() * sizeof(uint32_t) +
                                 8);
    std::memcpy(parameters.data(), launch.addresses.data(), launch.addresses.size() * sizeof(uint64_t));
    std::memcpy(parameters.data() + launch.addresses.size() * sizeof(uint64_t), launch.numbers.data(),
                launch.numbers.size() * sizeof(uint32_t));
    void* pointers[] = {parameters.data()};
    RETURN_IF_CUDA_ERROR(cudaLaunchKernel(reinterpret_cast<const void*>(*kernel), dim3(launch.blocks),
                                          dim3(kFusedThreads), pointers, 0, call.stream()));
    for (size_t i = 0; i < results.size(); ++i) call.ctx().set_output(static_cast<int>(i), std::move(results[i]));
    return call.Launched();
  }

  // Memory of arguments that nobody else needs, where each of their elements is read for the same place only.
  Status MakeResults(Call& call, const ElementLayout& layout, std::vector<Tensor>* results,
                     std::vector<void*>* places) const {
    std::vector<bool> taken(static_cast<size_t>(call.ctx().num_inputs()), false);
    for (size_t i = 0; i < layout.results().size(); ++i) {
      const Shape& shape = layout.results()[i];
      const DType type = call.ctx().output_dtype(static_cast<int>(i));
      Tensor result;
      for (size_t k = 0; k < program_.loads.size() && !result.IsInitialized(); ++k) {
        const int arg = program_.loads[k].arg;
        if (taken[static_cast<size_t>(arg)] || !MayReplace(call, layout, k, static_cast<int>(i))) continue;
        taken[static_cast<size_t>(arg)] = true;
        result = call.input(arg).Reshaped(shape);
      }
      if (!result.IsInitialized()) {
        ASSIGN_OR_RETURN(result, call.Temp(type, shape));
      }
      places->push_back(const_cast<void*>(result.raw()));
      results->push_back(std::move(result));
    }
    return OkStatus();
  }

  bool MayReplace(const Call& call, const ElementLayout& layout, size_t load, int result) const {
    const int arg = program_.loads[load].arg;
    const Tensor& in = call.input(arg);
    if (in.dtype() != call.ctx().output_dtype(result) || !call.ctx().InputIsExclusive(arg)) return false;
    if (!(in.shape() == layout.results()[static_cast<size_t>(result)]) || !layout.ReadsInOrder(load)) return false;
    int loads = 0, stores = 0;
    for (const auto& other : program_.loads) loads += other.arg == arg ? 1 : 0;
    for (const auto& store : program_.stores) stores += store.result == result && store.concat != nullptr ? 1 : 0;
    return loads == 1 && stores == 0;
  }

  FusedBody body_;
  ElementProgram program_;
  std::unique_ptr<MemberKernels> members_;
};

// Only where it is asked for, until it was seen on a GPU: without a kernel for the op, no groups are formed.
bool FusionIsAskedFor() {
  const char* const text = std::getenv("MILLSTREAM_CUDA_FUSION");
  return text != nullptr && *text == '1';
}

[[maybe_unused]] const bool kFusionRegistered = [] {
  if (FusionIsAskedFor()) KernelBuilder(kFusedElements).Class<FusedElements>();
  return true;
}();

}  // namespace
}  // namespace millstream::cuda
