// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_FRAMEWORK_ELEMENT_OPS_H_
#define MILLSTREAM_FRAMEWORK_ELEMENT_OPS_H_

#include <string>

#include "absl/strings/string_view.h"

namespace millstream {

// What an op does to elements, for passes that put several ops into one kernel and for devices that write its code.
enum class ElementRole {
  kFormula,  // each element of the result is a formula of the elements at the same place
  kSum,      // the sum of any number of operands of one shape
  kSplit,    // inputs axis, value: result k is the k-th of equal parts along the axis
  kSlice,    // inputs value, begin, size: the result is a window of the value
  kConcat,   // inputs values, axis: the result has the values side by side
};

struct ElementOp {
  ElementRole role = ElementRole::kFormula;
  bool broadcasts = false;  // operands as NumPy does; otherwise they have the shape of the result
  // An expression of CUDA C++ in the operands x0, x1, x2, the type T of the last of them (float for 16-bit floats), and
  // float attributes in braces: "x0 > T(0) ? x0 : x0 * T({alpha})".
  std::string formula;
};

// Null for ops that are none of these.
const ElementOp* FindElementOp(absl::string_view op);

// For registration only. REQUIRES: before threads start.
void AddElementOp(absl::string_view op, ElementOp what);

}  // namespace millstream

#endif  // MILLSTREAM_FRAMEWORK_ELEMENT_OPS_H_
