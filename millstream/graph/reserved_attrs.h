// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_GRAPH_RESERVED_ATTRS_H_
#define MILLSTREAM_GRAPH_RESERVED_ATTRS_H_

#include <array>

// Attributes that sessions, passes and the partitioner give to nodes, and kernels and executors rely on. A program
// whose nodes have them is refused when it is imported.
namespace millstream {

// The number of the edge between tasks that a transfer is an end of.
inline constexpr char kEdgeAttr[] = "_edge";
// Of constants that are to be in the memory of the device that they are assigned to.
inline constexpr char kDeviceConstantAttr[] = "_in_device_memory";
// Of the node after which a step is not stopped any more.
inline constexpr char kCommitsStepAttr[] = "_commits_step";
// Of a reduction: how many of its group the same updates wait for, and a number of these updates in the step.
inline constexpr char kReductionsTogetherAttr[] = "_reductions_together";
// Of the nodes at which a partial run meets its caller.
inline constexpr char kPartialRunAttr[] = "_partial_run";

inline constexpr std::array kReservedAttrs = {kEdgeAttr, kDeviceConstantAttr, kCommitsStepAttr, kReductionsTogetherAttr,
                                              kPartialRunAttr};

}  // namespace millstream

#endif  // MILLSTREAM_GRAPH_RESERVED_ATTRS_H_
