// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_GRAPH_PRECISION_MIXED_PRECISION_H_
#define MILLSTREAM_GRAPH_PRECISION_MIXED_PRECISION_H_

#include "millstream/graph/prune.h"

namespace millstream {

// The 16-bit type that products work with, for each kind of device; kInvalid leaves it alone.
struct MixedPrecision {
  DType on_accelerators = DType::kInvalid;
  DType on_cpu = DType::kInvalid;

  DType ForDevice(absl::string_view device_type) const { return device_type == "CPU" ? on_cpu : on_accelerators; }
  bool IsOn() const { return on_accelerators != DType::kInvalid || on_cpu != DType::kInvalid; }
};

// Automatic mixed precision. Products of floats work with 16-bit floats, and so do the safe ops between them
// (framework/precision_class.h has the classes, half_nodes.h the rules); casts are added where the types meet, each
// value is cast once. Variables, fetches, feeds, other tasks and every other node keep floats, so gradients become
// floats before they are added to variables. Changes results: half has three digits and ends at 65,504. REQUIRES: nodes
// have devices.
Status UseMixedPrecision(const MixedPrecision& types, PrunedGraph* part);

}  // namespace millstream

#endif  // MILLSTREAM_GRAPH_PRECISION_MIXED_PRECISION_H_
