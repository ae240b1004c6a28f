// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_GRAPH_GRADIENTS_FUNCTION_GRADIENTS_H_
#define MILLSTREAM_GRAPH_GRADIENTS_FUNCTION_GRADIENTS_H_

#include "millstream/graph/functions/function_library.h"
#include "millstream/graph/gradients/gradient.h"

namespace millstream {

// Gradients of ops that run functions, for their definitions. They add the body of the function to the graph once more
// and differentiate that: the function's values are computed again for the gradient, as TensorFlow 1 does. Recursive
// functions have no gradient (Unimplemented).
Status PartitionedCallGrad(GradContext& g);  // f(args); also StatefulPartitionedCall
Status IfGrad(GradContext& g);               // cond, then inputs; then_branch, else_branch
Status WhileOpGrad(GradContext& g);          // inputs; cond, body

// The one of these for an op whose definition names none; null for other ops.
GradFn FunctionCallGradient(const Node& node);

// What SymbolicGradient calls: takes the arguments of `function` and a gradient for each of its results, returns a
// gradient for each argument (zeros where there is none). The library's own gradient function if it has one for
// `function`.
StatusOr<FunctionBody> GradientBody(const FunctionLibrary& library, const NameAttrList& function);

}  // namespace millstream

#endif  // MILLSTREAM_GRAPH_GRADIENTS_FUNCTION_GRADIENTS_H_
