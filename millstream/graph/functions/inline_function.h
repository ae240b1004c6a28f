// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_GRAPH_FUNCTIONS_INLINE_FUNCTION_H_
#define MILLSTREAM_GRAPH_FUNCTIONS_INLINE_FUNCTION_H_

#include <vector>

#include "millstream/graph/scope.h"

namespace millstream {

// Adds the body of a function of the graph's library to `scope`, with `args` for its arguments; returns its results.
// What only has side effects (control results) is added too, but nothing makes it run. NotFound if there is no such
// function, InvalidArgument if the arguments do not fit.
StatusOr<std::vector<Output>> InlineFunction(const Scope& scope, const NameAttrList& function,
                                             const std::vector<Output>& args);

}  // namespace millstream

#endif  // MILLSTREAM_GRAPH_FUNCTIONS_INLINE_FUNCTION_H_
