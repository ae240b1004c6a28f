// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_OPS_PARSING_EXAMPLE_PARSER_H_
#define MILLSTREAM_OPS_PARSING_EXAMPLE_PARSER_H_

#include <string>
#include <vector>

#include "millstream/framework/kernel.h"

namespace millstream {

// A feature that every example has the same number of values of (or, with an unknown first size, padded to the
// longest).
struct DenseFeature {
  std::string key;
  DType type = DType::kFloat;
  PartialShape shape;
  Tensor default_value;  // empty: the feature is required
};
struct SparseFeature {
  std::string key;
  DType type = DType::kFloat;
};
struct RaggedFeature {
  std::string key;
  DType type = DType::kFloat;
  DType split_type = DType::kInt64;
};

struct ExampleSpec {
  std::vector<SparseFeature> sparse;
  std::vector<DenseFeature> dense;
  std::vector<RaggedFeature> ragged;
};

struct ParsedExamples {
  std::vector<Tensor> sparse_indices, sparse_values, sparse_shapes, dense_values, ragged_values, ragged_splits;
};

// Shape and type of the defaults fit, and shapes can be made: sizes are known, but for the first. InvalidArgument
// otherwise.
Status CheckSpec(const ExampleSpec& spec);

// Parses serialized Examples. With `single` there is one, and results have no batch dimension. `names` (empty, or one
// for each) are for messages. InvalidArgument for what cannot be parsed, a required feature that is absent, a wrong
// type or size. Uses the threads of `pool`, if it is not null.
StatusOr<ParsedExamples> ParseExamples(const ExampleSpec& spec, std::span<const std::string> serialized,
                                       std::span<const std::string> names, bool single, ThreadPool* pool = nullptr);

}  // namespace millstream

#endif  // MILLSTREAM_OPS_PARSING_EXAMPLE_PARSER_H_
