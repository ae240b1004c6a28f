// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_GRAPH_VARIABLES_PARTITIONERS_H_
#define MILLSTREAM_GRAPH_VARIABLES_PARTITIONERS_H_

#include <functional>
#include <vector>

#include "millstream/graph/variables/initializers.h"

namespace millstream {

// Into how many parts a variable of that shape and type is split along each axis.
using Partitioner = std::function<std::vector<int64_t>(const Shape&, DType)>;

// `num_shards` along `axis`, or as many as it has rows.
Partitioner FixedSizePartitioner(int64_t num_shards, int axis = 0);
// As many as keep each part at or below `max_shard_bytes`, but at most `max_shards` (0: any number).
struct AxisSize {
  int64_t max_shard_bytes = 0;
  int axis = 0;
  int64_t bytes_per_string_element = 16;
  int64_t max_shards = 0;
};
Partitioner VariableAxisSizePartitioner(const AxisSize& options);
// At most `max_partitions`, of which none is much smaller than `min_slice_size` bytes.
struct MinMax {
  int64_t max_partitions = 1;
  int axis = 0;
  int64_t min_slice_size = 256 << 10;
  int64_t bytes_per_string_element = 16;
};
Partitioner MinMaxVariablePartitioner(const MinMax& options);

// The parts in their order; along an axis that does not divide, the first are larger by one row. InvalidArgument:
// `partitions` does not fit the shape, has a number below 1 or more parts than rows, or splits several axes.
StatusOr<std::vector<VariablePart>> PartsOf(const Shape& shape, const std::vector<int64_t>& partitions);

}  // namespace millstream

#endif  // MILLSTREAM_GRAPH_VARIABLES_PARTITIONERS_H_
