// SPDX-License-Identifier: Apache-2.0
#include "millstream/ops/random/state_variable.h"

#include "millstream/ops/elements/axes.h"
#include "millstream/ops/random/generator.h"

namespace millstream {
namespace {

Status CheckAlgorithmId(int64_t id) {
  constexpr int64_t kThreefryAlg = 2;
  if (id == kPhiloxAlg || id == kAnyAlg) return OkStatus();
  if (id == kThreefryAlg) return errors::Unimplemented("Non-XLA devices don't support the ThreeFry algorithm.");
  return errors::InvalidArgument("Unsupported algorithm id: ", id);
}

Status CheckState(const Tensor& state, int64_t skip) {
  if (state.dtype() != DType::kInt64) {
    return errors::InvalidArgument("dtype of RNG state variable must be int64, not ", DTypeName(state.dtype()));
  }
  if (state.rank() != 1) {
    return errors::InvalidArgument("RNG state must have one and only one dimension, not ", state.rank());
  }
  if (state.dim(0) < skip + 3) {
    return errors::InvalidArgument("For the Philox algorithm, the size of state must be at least ", skip + 3, "; got ",
                                   state.dim(0));
  }
  return skip > 0 ? CheckAlgorithmId(state.data<int64_t>()[0]) : OkStatus();
}

uint32_t Low(int64_t x) { return static_cast<uint32_t>(x); }
uint32_t High(int64_t x) { return static_cast<uint32_t>(static_cast<uint64_t>(x) >> 32); }
int64_t Joined(uint32_t low, uint32_t high) { return static_cast<int64_t>(uint64_t{high} << 32 | low); }

}  // namespace

Status CheckAlgorithm(const Tensor& alg, absl::string_view what) {
  if (alg.rank() != 0) return errors::InvalidArgument(what, " must have shape [], not ", alg.shape().ToString());
  int64_t id = 0;
  RETURN_IF_ERROR(ReadIntScalar(alg, what, &id));
  return CheckAlgorithmId(id);
}

StatusOr<math::Philox> SkipInState(const KernelContext& ctx, uint64_t blocks, int64_t skip, Tensor* before) {
  ASSIGN_OR_RETURN(const Ref<Variable> variable, ctx.ResourceInput<Variable>(0));
  MutexLock lock(variable->mu());
  if (variable->tensor().IsInitialized()) RETURN_IF_ERROR(CheckState(variable->tensor(), skip));
  if (before != nullptr) *before = variable->tensor();
  ASSIGN_OR_RETURN(Tensor * state, variable->MutableTensor());
  int64_t* s = state->data<int64_t>() + skip;
  math::Philox philox({Low(s[0]), High(s[0]), Low(s[1]), High(s[1])}, {Low(s[2]), High(s[2])});
  const math::Philox found = philox;
  philox.Skip(blocks);
  s[0] = Joined(philox.counter()[0], philox.counter()[1]);
  s[1] = Joined(philox.counter()[2], philox.counter()[3]);
  return found;
}

}  // namespace millstream
