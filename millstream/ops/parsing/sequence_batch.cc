// SPDX-License-Identifier: Apache-2.0
#include "millstream/ops/parsing/sequence_batch.h"

#include <algorithm>

#include "millstream/ops/parsing/feature_values.h"
#include "millstream/ops/ragged/ragged.h"

namespace millstream {

const proto::FeatureList* SequenceBatch::Find(size_t e, const std::string& key) const {
  const auto& lists = examples_[e].feature_lists().feature_list();
  const auto it = lists.find(key);
  return it == lists.end() ? nullptr : &it->second;
}

template <typename Fn>
Status SequenceBatch::ForEachStep(const std::string& key, DType type, Fn fn) const {
  for (size_t e = 0; e < examples_.size(); ++e) {
    const proto::FeatureList* list = Find(e, key);
    for (int t = 0; list != nullptr && t < list->feature_size(); ++t) {
      const proto::Feature& feature = list->feature(t);
      if (feature.kind_case() != proto::Feature::KIND_NOT_SET && TypeOf(feature) != type) {
        return errors::InvalidArgument("Name: ", NameOf(e), ", Feature list: ", key, ", Index: ", t,
                                       ".  Data types don't match. Expected type: ", DTypeName(type),
                                       " but got type: ", DTypeName(TypeOf(feature)));
      }
      fn(e, t, feature);
    }
  }
  return OkStatus();
}

Status SequenceBatch::Parse(std::span<const std::string> serialized) {
  examples_.resize(serialized.size());
  for (size_t e = 0; e < serialized.size(); ++e) {
    if (!examples_[e].ParseFromString(serialized[e])) {
      return errors::InvalidArgument("Could not parse SequenceExample: ", NameOf(e));
    }
  }
  return OkStatus();
}

Status SequenceBatch::Sparse(const SparseFeature& f, Tensor* indices, Tensor* values, Tensor* shape) const {
  int64_t total = 0, steps = 0, longest = 0;
  RETURN_IF_ERROR(ForEachStep(f.key, f.type, [&](size_t, int t, const proto::Feature& feature) {
    total += CountOf(feature);
    longest = std::max(longest, CountOf(feature));
    steps = std::max<int64_t>(steps, t + 1);
  }));
  const int64_t rank = single_ ? 2 : 3;
  ASSIGN_OR_RETURN(*indices, Tensor::Make(DType::kInt64, Shape({total, rank})));
  ASSIGN_OR_RETURN(*values, Tensor::Make(f.type, Shape({total})));
  int64_t* at = indices->data<int64_t>();
  int64_t offset = 0;
  RETURN_IF_ERROR(ForEachStep(f.key, f.type, [&](size_t e, int t, const proto::Feature& feature) {
    if (CountOf(feature) > 0) CopyValues(feature, values, offset);
    offset += CountOf(feature);
    for (int64_t k = 0; k < CountOf(feature); ++k) {
      if (!single_) *at++ = static_cast<int64_t>(e);
      *at++ = t;
      *at++ = k;
    }
  }));
  *shape = single_ ? Tensor::Vector<int64_t>({steps, longest})
                   : Tensor::Vector<int64_t>({static_cast<int64_t>(examples_.size()), steps, longest});
  return OkStatus();
}

Status SequenceBatch::Dense(const DenseList& f, Tensor* values, Tensor* lengths) const {
  const int64_t width = f.shape.num_elements();
  std::vector<int64_t> counts(examples_.size()), totals(examples_.size());
  Status status;
  RETURN_IF_ERROR(ForEachStep(f.key, f.type, [&](size_t e, int t, const proto::Feature& feature) {
    ++counts[e];
    totals[e] += CountOf(feature);
    if (CountOf(feature) == width || !status.ok()) return;
    status = errors::InvalidArgument("Name: ", NameOf(e), ", Key: ", f.key, ", Index: ", t,
                                     ".  Number of values != expected.  values size: ", CountOf(feature),
                                     " but output shape: ", f.shape.ToString());
  }));
  const int64_t most = totals.empty() ? 0 : *std::max_element(totals.begin(), totals.end());
  if (most % std::max<int64_t>(width, 1) != 0) {
    return errors::InvalidArgument(
        "Feature list '", f.key, "' has an unexpected number of values.  Total values size: ", most,
        " is not consistent with output shape: ", PartialShape({-1}).Concatenate(PartialShape(f.shape)).ToString());
  }
  RETURN_IF_ERROR(status);
  for (size_t e = 0; e < examples_.size(); ++e) {
    if (f.may_be_missing || Find(e, f.key) != nullptr) continue;
    return errors::InvalidArgument("Name: ", NameOf(e), ", Feature list '", f.key,
                                   "' is required but could not be found.  Did you mean to include it in "
                                   "feature_list_dense_missing_assumed_empty or feature_list_dense_defaults?");
  }
  const int64_t steps = counts.empty() ? 0 : *std::max_element(counts.begin(), counts.end());
  std::vector<int64_t> dims;
  if (!single_) dims.push_back(static_cast<int64_t>(examples_.size()));
  dims.push_back(steps);
  dims.insert(dims.end(), f.shape.dims().begin(), f.shape.dims().end());
  ASSIGN_OR_RETURN(const Shape shape, Shape::Make(dims));
  ASSIGN_OR_RETURN(*values, ZeroTensor(f.type, shape));
  RETURN_IF_ERROR(ForEachStep(f.key, f.type, [&](size_t e, int t, const proto::Feature& feature) {
    CopyValues(feature, values, (static_cast<int64_t>(e) * steps + t) * width);
  }));
  *lengths = single_ ? Tensor::Scalar(counts[0]) : Tensor::Vector(counts);
  return OkStatus();
}

Status SequenceBatch::Ragged(const RaggedFeature& f, Tensor* values, Tensor* outer, Tensor* inner) const {
  Splits steps(examples_.size() + 1), ends = {0};
  RETURN_IF_ERROR(ForEachStep(f.key, f.type, [&](size_t e, int, const proto::Feature& feature) {
    ++steps[e + 1];
    ends.push_back(ends.back() + CountOf(feature));
  }));
  for (size_t e = 0; e < examples_.size(); ++e) steps[e + 1] += steps[e];
  ASSIGN_OR_RETURN(*values, Tensor::Make(f.type, Shape({ends.back()})));
  int64_t offset = 0;
  RETURN_IF_ERROR(ForEachStep(f.key, f.type, [&](size_t, int, const proto::Feature& feature) {
    if (CountOf(feature) > 0) CopyValues(feature, values, offset);
    offset += CountOf(feature);
  }));
  ASSIGN_OR_RETURN(*inner, IntsTensor(f.split_type, ends));
  if (single_) {
    ASSIGN_OR_RETURN(*outer, ZeroTensor(f.split_type, Shape()));
  } else {
    ASSIGN_OR_RETURN(*outer, IntsTensor(f.split_type, steps));
  }
  return OkStatus();
}

}  // namespace millstream
