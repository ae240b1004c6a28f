// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_OPS_PARSING_SEQUENCE_BATCH_H_
#define MILLSTREAM_OPS_PARSING_SEQUENCE_BATCH_H_

#include <span>
#include <string>
#include <vector>

#include "millstream/ops/parsing/example_parser.h"
#include "millstream/proto/example.pb.h"

namespace millstream {

// A list of features that all have the same shape, one for each step.
struct DenseList {
  std::string key;
  DType type = DType::kFloat;
  Shape shape;  // of one step
  bool may_be_missing = false;
};

// The lists of features of a batch of SequenceExamples, as tensors. All calls give InvalidArgument, with the name of
// the example, for a list that is not as it was asked for.
class SequenceBatch {
 public:
  // `names` (empty, or one for each example) are for messages, and must outlive this. With `single` there is one
  // example, and results have no batch dimension.
  SequenceBatch(std::span<const std::string> names, bool single) : names_(names), single_(single) {}

  // Before the other calls.
  Status Parse(std::span<const std::string> serialized);

  Status Sparse(const SparseFeature& f, Tensor* indices, Tensor* values, Tensor* shape) const;
  // Shorter sequences are filled up with zeros and empty strings.
  Status Dense(const DenseList& f, Tensor* values, Tensor* lengths) const;
  Status Ragged(const RaggedFeature& f, Tensor* values, Tensor* outer, Tensor* inner) const;

 private:
  // Null if example `e` has no such list.
  const proto::FeatureList* Find(size_t e, const std::string& key) const;
  std::string NameOf(size_t e) const { return e < names_.size() && !names_[e].empty() ? names_[e] : "<unknown>"; }
  // Calls fn(example, step, feature), in order.
  template <typename Fn>
  Status ForEachStep(const std::string& key, DType type, Fn fn) const;

  const std::span<const std::string> names_;
  const bool single_;
  std::vector<proto::SequenceExample> examples_;
};

}  // namespace millstream

#endif  // MILLSTREAM_OPS_PARSING_SEQUENCE_BATCH_H_
