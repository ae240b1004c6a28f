// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_FRAMEWORK_RECORDED_VALUE_H_
#define MILLSTREAM_FRAMEWORK_RECORDED_VALUE_H_

#include <memory>
#include <vector>

#include "millstream/framework/kernel.h"
#include "millstream/tensor/variant.h"

namespace millstream {

struct OpDef;

// The node that made a value, and what its inputs were: enough to make the value again. Immutable.
struct NodeRecord {
  const OpDef* op = nullptr;
  std::shared_ptr<const AttrMap> attrs;
  std::vector<Tensor> inputs;
};

// A variant value that knows the node that made it (datasets, which can be written as a graph and made anew with
// changes). Kernels whose only output is a scalar of such a value have the record made for them (WithRecords()).
class RecordedValue : public VariantValue {
 public:
  // Null for a value that no node made.
  const std::shared_ptr<const NodeRecord>& record() const { return record_; }
  // REQUIRES: nobody else has the value yet.
  void set_record(std::shared_ptr<const NodeRecord> record) { record_ = std::move(record); }

 private:
  std::shared_ptr<const NodeRecord> record_;
};

// `kernel`, or, where its only output is a variant, a kernel that does the same and gives each RecordedValue it makes
// the record of its node. Other variants cost one look at the first value.
std::unique_ptr<Kernel> WithRecords(const KernelInit& init, std::unique_ptr<Kernel> kernel);

}  // namespace millstream

#endif  // MILLSTREAM_FRAMEWORK_RECORDED_VALUE_H_
