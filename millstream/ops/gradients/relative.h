// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_OPS_GRADIENTS_RELATIVE_H_
#define MILLSTREAM_OPS_GRADIENTS_RELATIVE_H_

#include <initializer_list>
#include <vector>

#include "millstream/graph/gradients/gradient.h"

namespace millstream {

// For gradient functions of families of ops: the first output of a new node with those of the attributes `names` that
// the node whose gradient is sought has. Empty after an error.
Output Relative(const GradContext& g, const char* type, std::vector<Output> inputs,
                std::initializer_list<const char*> names);

}  // namespace millstream

#endif  // MILLSTREAM_OPS_GRADIENTS_RELATIVE_H_
