// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_GRAPH_GRADIENTS_CONTROL_FLOW_GRADIENTS_H_
#define MILLSTREAM_GRAPH_GRADIENTS_CONTROL_FLOW_GRADIENTS_H_

#include "millstream/graph/gradients/gradient.h"

namespace millstream {

// Gradients of branches, for the definitions of Switch and Merge (and their Ref twins).
Status SwitchGrad(GradContext& g);
Status MergeGrad(GradContext& g);
// Loops are differentiated as a whole (see GradientBuilder); these are there so that the ops count as differentiable.
Status EnterGrad(GradContext& g);
Status ExitGrad(GradContext& g);
Status NextIterationGrad(GradContext& g);

}  // namespace millstream

#endif  // MILLSTREAM_GRAPH_GRADIENTS_CONTROL_FLOW_GRADIENTS_H_
