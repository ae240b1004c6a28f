// SPDX-License-Identifier: Apache-2.0
#include "millstream/graph/variables/partitioners.h"

#include <algorithm>

#include "absl/strings/str_join.h"

namespace millstream {
namespace {

int64_t BytesOf(const Shape& shape, DType dtype, int64_t bytes_per_string) {
  return shape.num_elements() * (dtype == DType::kString ? bytes_per_string : static_cast<int64_t>(DTypeSize(dtype)));
}

int64_t DivideUp(int64_t a, int64_t b) { return (a + b - 1) / b; }

// One part along all axes but one. Empty, which PartsOf() refuses, if there is no such axis.
std::vector<int64_t> Along(const Shape& shape, int axis, const std::function<int64_t(int64_t rows)>& parts) {
  if (axis < 0 || axis >= shape.rank()) return {};
  std::vector<int64_t> partitions(shape.rank(), 1);
  partitions[axis] = parts(shape.dim(axis));
  return partitions;
}

}  // namespace

Partitioner FixedSizePartitioner(int64_t num_shards, int axis) {
  return [=](const Shape& shape, DType) {
    return Along(shape, axis, [&](int64_t rows) { return std::min(num_shards, rows); });
  };
}

Partitioner VariableAxisSizePartitioner(const AxisSize& options) {
  return [options](const Shape& shape, DType dtype) {
    return Along(shape, options.axis, [&](int64_t rows) -> int64_t {
      if (options.max_shard_bytes < 1 || options.bytes_per_string_element < 1) return 0;
      const int64_t row = BytesOf(shape, dtype, options.bytes_per_string_element) / std::max<int64_t>(rows, 1);
      const int64_t rows_each = std::max<int64_t>(1, options.max_shard_bytes / std::max<int64_t>(row, 1));
      int64_t parts = std::max<int64_t>(1, DivideUp(rows, rows_each));
      if (options.max_shards > 0) parts = std::min(parts, options.max_shards);
      return parts;
    });
  };
}

Partitioner MinMaxVariablePartitioner(const MinMax& options) {
  return [options](const Shape& shape, DType dtype) {
    return Along(shape, options.axis, [&](int64_t rows) -> int64_t {
      if (options.max_partitions < 1 || options.min_slice_size < 1) return 0;
      const int64_t bytes = BytesOf(shape, dtype, options.bytes_per_string_element);
      const int64_t parts = std::min({rows, options.max_partitions, DivideUp(bytes, options.min_slice_size)});
      return std::max<int64_t>(1, parts);
    });
  };
}

StatusOr<std::vector<VariablePart>> PartsOf(const Shape& shape, const std::vector<int64_t>& partitions) {
  const std::string found = absl::StrJoin(partitions, ", ");
  if (shape.rank() < 1) {
    return errors::InvalidArgument("A partitioned Variable must have rank at least 1, shape: ", shape.ToString());
  }
  if (static_cast<int>(partitions.size()) != shape.rank()) {
    return errors::InvalidArgument("Partitioner returned a partition list that does not match the Variable's rank: [",
                                   found, "] vs. ", shape.ToString());
  }
  int axis = 0;
  for (int i = 0; i < shape.rank(); ++i) {
    if (partitions[i] < 1) {
      return errors::InvalidArgument("Partitioner returned zero partitions for some axes: [", found, "]");
    }
    if (partitions[i] == 1) continue;
    if (i != axis && partitions[axis] > 1) {
      return errors::InvalidArgument("Cannot partition along more than one dimension: [", found, "]");
    }
    axis = i;
  }
  const int64_t rows = shape.dim(axis), count = partitions[axis];
  if (count > 1 && count > rows) {
    return errors::InvalidArgument("Partitioner returned more partitions [", found, "] than ", shape.ToString(),
                                   " has rows");
  }
  std::vector<VariablePart> parts;
  int64_t start = 0;
  for (int64_t i = 0; i < count; ++i) {
    VariablePart part{shape, std::vector<int64_t>(shape.rank(), 0), shape};
    part.offset[axis] = start;
    part.shape.set_dim(axis, rows / count + (i < rows % count ? 1 : 0));
    start += part.shape.dim(axis);
    parts.push_back(std::move(part));
  }
  return parts;
}

}  // namespace millstream
