// SPDX-License-Identifier: Apache-2.0
#include "millstream/framework/variable.h"

namespace millstream {

StatusOr<Tensor*> Variable::MutableTensor() {
  if (!tensor_.IsInitialized()) {
    return errors::FailedPrecondition("Attempting to use uninitialized value ", name_);
  }
  if (!tensor_.RefIsOne()) {
    ASSIGN_OR_RETURN(tensor_, tensor_.Clone());
  }
  return &tensor_;
}

std::string Variable::DebugString() const {
  return absl::StrCat("Variable ", name_, " ", DTypeName(dtype_), "/", Snapshot().shape().ToString());
}

}  // namespace millstream
