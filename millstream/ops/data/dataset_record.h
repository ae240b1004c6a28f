// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_OPS_DATA_DATASET_RECORD_H_
#define MILLSTREAM_OPS_DATA_DATASET_RECORD_H_

#include <array>
#include <vector>

#include "millstream/ops/data/dataset.h"

// How a dataset was made: its record (framework/recorded_value.h), seen as a pipeline of datasets.
namespace millstream {

// The name of an op without "Experimental" before and "V2" after it; "" for a dataset that no node made.
absl::string_view BaseName(absl::string_view op);
absl::string_view BaseName(const Dataset& dataset);

template <size_t n>
bool IsOneOf(const Dataset& dataset, const std::array<absl::string_view, n>& base_names) {
  const absl::string_view name = BaseName(dataset);
  for (const absl::string_view one : base_names)
    if (one == name) return true;
  return false;
}

// The datasets in a tensor; empty if it holds none.
std::vector<const Dataset*> DatasetsOf(const Tensor& tensor);
// Those that `dataset` was made from, in the order of its inputs.
std::vector<const Dataset*> InputsOf(const Dataset& dataset);

// The dataset that the node of `record` makes of other inputs. `ctx`: of a kernel that runs, whose device and resources
// are used.
StatusOr<Ref<Dataset>> Remake(const NodeRecord& record, std::vector<Tensor> inputs, const KernelContext& ctx);
// The dataset that an op makes.
StatusOr<Ref<Dataset>> MakeByOp(absl::string_view op, AttrMap attrs, std::vector<Tensor> inputs,
                                const KernelContext& ctx);

// A dataset that says what it must be followed by. Asked when an iterator is made.
class UseCheck {
 public:
  virtual ~UseCheck() = default;
  // `next`: the datasets that were made from this one, the nearest first.
  virtual Status CheckUse(const std::vector<const Dataset*>& next) const = 0;
};

// Asks all UseChecks of a pipeline that ends in `dataset`.
Status CheckUseOfDatasets(const Dataset& dataset);

}  // namespace millstream

#endif  // MILLSTREAM_OPS_DATA_DATASET_RECORD_H_
