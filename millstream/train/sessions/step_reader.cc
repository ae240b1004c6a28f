// SPDX-License-Identifier: Apache-2.0
#include "millstream/train/sessions/step_reader.h"

#include "millstream/train/variables/global_step.h"

namespace millstream {

StatusOr<StepReader> StepReader::Find(const Scope& scope) {
  const GraphVariable step = GetGlobalStep(scope);
  RETURN_IF_ERROR(scope.status());
  StepReader reader;
  if (!step) return reader;
  // A reference is fetched itself, so that the value is of the end of the step.
  reader.tensor_ = IsResource(step) ? step.value.name() : step.handle.name();
  reader.variable_ = step.handle.node->name();
  return reader;
}

StatusOr<StepReader> StepReader::FindFor(const Scope& scope, absl::string_view who) {
  ASSIGN_OR_RETURN(StepReader reader, Find(scope));
  if (!reader) return errors::FailedPrecondition("Global step should be created to use ", who, ".");
  return reader;
}

StatusOr<int64_t> StepReader::Read(Session& session) const {
  std::vector<Tensor> out;
  RETURN_IF_ERROR(session.Run({}, {tensor_}, {}, &out));
  return ValueOf(out[0]);
}

StatusOr<int64_t> StepReader::ValueOf(const Tensor& fetched) {
  if (fetched.num_elements() == 1) {
    switch (fetched.dtype()) {
      case DType::kInt64:
        return fetched.scalar<int64_t>();
      case DType::kInt32:
        return fetched.scalar<int32_t>();
      case DType::kFloat:
        return static_cast<int64_t>(fetched.scalar<float>());
      case DType::kDouble:
        return static_cast<int64_t>(fetched.scalar<double>());
      default:
        break;
    }
  }
  return errors::InvalidArgument("The global step is not a number: ", fetched.DebugString());
}

}  // namespace millstream
