// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_OPS_MATH_EINSUM_EQUATION_H_
#define MILLSTREAM_OPS_MATH_EINSUM_EQUATION_H_

#include <string>
#include <vector>

#include "millstream/base/status.h"

namespace millstream {

class GradContext;

// "ab...,bc->...ac" taken apart: one or two operands, and an output. An ellipsis stands for the dimensions that no
// letter names; those broadcast, aligned at the right.
class EinsumEquation {
 public:
  static constexpr char kEllipsis = '.';

  // InvalidArgument unless it is one, for that number of operands.
  static StatusOr<EinsumEquation> Parse(const std::string& equation, int num_inputs);

  // Letters, and one kEllipsis where there is one.
  const std::vector<std::string>& inputs() const { return inputs_; }
  const std::string& output() const { return output_; }
  static bool HasEllipsis(const std::string& subscripts) { return subscripts.find(kEllipsis) != std::string::npos; }
  // The subscripts with the ellipsis spelled as in an equation.
  static std::string Spell(const std::string& subscripts);

  // The label of each dimension of an operand of that rank; those of an ellipsis are numbered from the right: -1, -2
  // ... InvalidArgument if the rank does not fit.
  static StatusOr<std::vector<int>> Labels(const std::string& subscripts, int rank);

 private:
  std::vector<std::string> inputs_;
  std::string output_;
};

Status EinsumGrad(GradContext& g);

}  // namespace millstream

#endif  // MILLSTREAM_OPS_MATH_EINSUM_EQUATION_H_
