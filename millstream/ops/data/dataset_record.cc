// SPDX-License-Identifier: Apache-2.0
#include "millstream/ops/data/dataset_record.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/strip.h"
#include "millstream/base/stack_guard.h"
#include "millstream/framework/op.h"
#include "millstream/framework/run_kernel.h"

namespace millstream {

absl::string_view BaseName(absl::string_view op) {
  absl::ConsumePrefix(&op, "Experimental");
  const size_t digits = op.find_last_not_of("0123456789");
  if (digits != absl::string_view::npos && digits + 1 < op.size() && digits > 0 && op[digits] == 'V') {
    op = op.substr(0, digits);
  }
  return op;
}

absl::string_view BaseName(const Dataset& dataset) {
  return dataset.record() == nullptr ? absl::string_view() : BaseName(dataset.record()->op->name);
}

std::vector<const Dataset*> DatasetsOf(const Tensor& tensor) {
  std::vector<const Dataset*> datasets;
  if (tensor.dtype() != DType::kVariant) return datasets;
  for (const Variant& variant : tensor.flat<Variant>()) {
    if (const auto* dataset = variant.get<Dataset>(); dataset != nullptr) datasets.push_back(dataset);
  }
  return datasets;
}

std::vector<const Dataset*> InputsOf(const Dataset& dataset) {
  std::vector<const Dataset*> inputs;
  if (dataset.record() == nullptr) return inputs;
  for (const Tensor& input : dataset.record()->inputs) {
    for (const Dataset* from : DatasetsOf(input)) inputs.push_back(from);
  }
  return inputs;
}

StatusOr<Ref<Dataset>> MakeByOp(absl::string_view op, AttrMap attrs, std::vector<Tensor> inputs,
                                const KernelContext& ctx) {
  ASSIGN_OR_RETURN(const OpEntry* entry, OpRegistry::Global().Lookup(op));
  ASSIGN_OR_RETURN(const std::vector<Tensor> made,
                   RunKernel(*entry, std::move(attrs), std::move(inputs), ctx.device(), ctx.resources()));
  const bool scalar = made.size() == 1 && made[0].dtype() == DType::kVariant && made[0].rank() == 0;
  Dataset* const dataset = scalar ? made[0].scalar<Variant>().get<Dataset>() : nullptr;
  if (dataset == nullptr) return errors::Internal(op, " makes no dataset");
  return Ref<Dataset>::Share(dataset);
}

StatusOr<Ref<Dataset>> Remake(const NodeRecord& record, std::vector<Tensor> inputs, const KernelContext& ctx) {
  return MakeByOp(record.op->name, *record.attrs, std::move(inputs), ctx);
}

namespace {

// Of all ways that lead from the end of a pipeline to its beginnings: a dataset that two others are made from is
// followed by two.
constexpr int kMaxWays = 100'000;

Status CheckUseBelow(const Dataset& dataset, std::vector<const Dataset*>* next, int* ways) {
  if (StackIsLow()) return NestedTooDeeply("datasets");
  if (++*ways > kMaxWays)
    return errors::ResourceExhausted("A pipeline of datasets with assertions has too many branches");
  if (const auto* check = dynamic_cast<const UseCheck*>(&dataset); check != nullptr) {
    RETURN_IF_ERROR(check->CheckUse({next->rbegin(), next->rend()}));
  }
  next->push_back(&dataset);
  for (const Dataset* input : InputsOf(dataset)) {
    if (input->checks_use()) RETURN_IF_ERROR(CheckUseBelow(*input, next, ways));
  }
  next->pop_back();
  return OkStatus();
}

}  // namespace

Status CheckUseOfDatasets(const Dataset& dataset) {
  if (!dataset.checks_use()) return OkStatus();
  std::vector<const Dataset*> next;
  int ways = 0;
  return CheckUseBelow(dataset, &next, &ways);
}

}  // namespace millstream
