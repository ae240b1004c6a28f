// SPDX-License-Identifier: Apache-2.0
#include "absl/strings/strip.h"
#include "millstream/framework/op.h"
#include "millstream/ops/data/dataset_record.h"
#include "millstream/ops/data/element_attrs.h"

namespace millstream {
namespace {

// Settings, which are not part of what happens to elements.
constexpr std::array<absl::string_view, 3> kSettings = {"OptionsDataset", "FinalizeDataset", "ModelDataset"};

// What TensorFlow calls the iterators of a dataset: some are named after how often they give elements.
std::string IteratorName(const Dataset& dataset) {
  absl::string_view name = dataset.record() == nullptr ? absl::string_view() : dataset.record()->op->name;
  absl::ConsumePrefix(&name, "Experimental");
  absl::string_view base = BaseName(name);
  const std::string version(name.substr(base.size()));
  absl::ConsumeSuffix(&base, "Dataset");
  const std::vector<Tensor>* inputs = dataset.record() == nullptr ? nullptr : &dataset.record()->inputs;
  const bool counts = inputs != nullptr && inputs->size() > 1 && (*inputs)[1].dtype() == DType::kInt64;
  if (counts && (base == "Take" || base == "Skip" || base == "Repeat")) {
    const int64_t n = (*inputs)[1].num_elements() == 1 ? (*inputs)[1].data<int64_t>()[0] : 0;
    if (base == "Repeat" && n < 0) return "ForeverRepeat";
    return absl::StrCat(n == 0 && base != "Skip" ? "Empty" : "Finite", base);
  }
  if (base == "Cache") {
    const bool in_memory = inputs != nullptr && inputs->size() > 1 && (*inputs)[1].dtype() == DType::kString &&
                           (*inputs)[1].num_elements() == 1 && (*inputs)[1].data<std::string>()[0].empty();
    return in_memory ? "MemoryCacheImpl" : "FileCache";
  }
  return absl::StrCat(base, version);
}

// The elements of another dataset. InvalidArgument when an iterator is made, unless the transformations that follow
// are the named ones.
class AssertNextDataset final : public DerivedDataset, public UseCheck {
 public:
  AssertNextDataset(Ref<Dataset> input, std::vector<std::string> names)
      : DerivedDataset(std::move(input)), names_(std::move(names)) {
    set_checks_use();
  }
  int64_t CountElements() const override { return input().Cardinality(); }
  StatusOr<IteratorPtr> NewIterator(const StepContext& owner) const override { return input().MakeIterator(owner); }
  Status FindRandomAccess() const override { return input().CheckRandomAccess(); }
  StatusOr<AccessPtr> NewAccess(const StepContext& owner) const override { return input().MakeAccess(owner); }

  Status CheckUse(const std::vector<const Dataset*>& next) const override {
    std::vector<std::string> found;
    for (const Dataset* dataset : next) {
      if (!IsOneOf(*dataset, kSettings)) found.push_back(IteratorName(*dataset));
    }
    found.emplace_back("Root");
    if (names_.size() > found.size()) {
      return errors::InvalidArgument("Asserted next ", names_.size(), " transformations but encountered only ",
                                     found.size(), ".");
    }
    for (size_t i = 0; i < names_.size(); ++i) {
      if (names_[i] == found[i] || names_[i] == BaseName(found[i])) continue;
      return errors::InvalidArgument("Asserted transformation matching ", names_[i], " at offset ", i,
                                     " but encountered ", found[i], " transformation instead.");
    }
    return OkStatus();
  }

 private:
  const std::vector<std::string> names_;
};

Status AssertNextCpu(KernelContext& ctx) {
  ASSIGN_OR_RETURN(Ref<Dataset> input, DatasetInput(ctx, 0));
  const Tensor& names = ctx.input(1);
  if (names.rank() != 1) return errors::InvalidArgument("transformations must be a vector");
  OutputDataset(
      ctx, MakeRef<AssertNextDataset>(std::move(input), std::vector<std::string>(names.flat<std::string>().begin(),
                                                                                 names.flat<std::string>().end())));
  return OkStatus();
}

void AssertNextOp(OpBuilder& op) {
  op.Input("input_dataset: variant")
      .Input("transformations: string")
      .Output("handle: variant")
      .With(ElementAttrs)
      .Shape(ScalarShape)
      .Cpu(AssertNextCpu)
      .Doc("The same dataset. InvalidArgument unless it is transformed next as the names say.");
}
OP("AssertNextDataset").With(AssertNextOp);
OP("ExperimentalAssertNextDataset").With(AssertNextOp);

}  // namespace
}  // namespace millstream
