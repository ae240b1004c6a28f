// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_FRAMEWORK_PRECISION_CLASS_H_
#define MILLSTREAM_FRAMEWORK_PRECISION_CLASS_H_

#include <optional>

#include "absl/strings/string_view.h"

namespace millstream {

// What becomes of an op's numbers if it works with 16-bit floats in place of floats: the four lists that TensorFlow
// describes for automatic mixed precision. An op of none of them keeps its type.
enum class PrecisionClass {
  kAllow,  // safe, and much faster: always done
  kInfer,  // safe, unless the operands come from an op of kDeny
  kClear,  // moves or compares numbers: as safe as its neighbours
  kDeny,   // adds up many numbers or leaves the range of half: never done
};

std::optional<PrecisionClass> FindPrecisionClass(absl::string_view op);

// For registration only. REQUIRES: before threads start.
void AddPrecisionClass(absl::string_view op, PrecisionClass what);

}  // namespace millstream

#endif  // MILLSTREAM_FRAMEWORK_PRECISION_CLASS_H_
