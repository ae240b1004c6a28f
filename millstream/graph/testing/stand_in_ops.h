// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_GRAPH_TESTING_STAND_IN_OPS_H_
#define MILLSTREAM_GRAPH_TESTING_STAND_IN_OPS_H_

namespace millstream {

// Defines the ops that tests of graphs use, without kernels, as far as the library does not have them.
void RegisterStandInOps();

}  // namespace millstream

#endif  // MILLSTREAM_GRAPH_TESTING_STAND_IN_OPS_H_
