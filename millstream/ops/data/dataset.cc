// SPDX-License-Identifier: Apache-2.0
#include "millstream/ops/data/dataset.h"

#include <algorithm>

#include "millstream/base/memory_budget.h"
#include "millstream/base/stack_guard.h"

namespace millstream {

namespace {

// Goes on from the last element, or from the front for one before it.
class WalkingAccess final : public ElementAccess {
 public:
  WalkingAccess(Ref<const Dataset> dataset, const StepContext& owner) : dataset_(std::move(dataset)), owner_(owner) {}

 protected:
  Status Find(const StepContext& step, int64_t index, Element* element) override {
    if (iterator_ == nullptr || index < next_) {
      ASSIGN_OR_RETURN(iterator_, dataset_->MakeIterator(owner_));
      next_ = 0;
    }
    for (bool end = false; next_ <= index; ++next_) {
      RETURN_IF_ERROR(CheckCancelled(step));
      element->clear();
      RETURN_IF_ERROR(iterator_->GetNext(step, element, &end));
      if (end) return errors::OutOfRange("Index out of range [0, ", next_, "):", index);
    }
    return OkStatus();
  }

 private:
  const Ref<const Dataset> dataset_;
  const StepContext& owner_;
  IteratorPtr iterator_;
  int64_t next_ = 0;
};

Status CheckTypes(const std::optional<std::vector<DType>>& declared, const Element& element) {
  if (!declared.has_value()) return OkStatus();
  if (element.size() != declared->size()) {
    return errors::InvalidArgument("The element has ", element.size(), " components, but its dataset declares ",
                                   declared->size());
  }
  for (size_t i = 0; i < element.size(); ++i) {
    if (element[i].dtype() == (*declared)[i]) continue;
    return errors::InvalidArgument("Data type mismatch at component ", i, ": expected ", DTypeName((*declared)[i]),
                                   " but got ", DTypeName(element[i].dtype()), ".");
  }
  return OkStatus();
}

}  // namespace

Status DatasetIterator::GetNext(const StepContext& step, Element* element, bool* end) {
  if (StackIsLow()) [[unlikely]]
    return NestedTooDeeply("iterators of datasets");
  if (MemoryIsExhausted()) [[unlikely]]
    return MemoryExhausted();  // many datasets keep what they get
  const AllocationsMayFail never(false);
  RETURN_IF_ERROR(Next(step, element, end));
  return *end ? OkStatus() : CheckTypes(types_, *element);
}

Status ElementAccess::Get(const StepContext& step, int64_t index, Element* element) {
  RETURN_IF_ERROR(Find(step, index, element));
  return CheckTypes(types_, *element);
}

StatusOr<IteratorPtr> Dataset::MakeIterator(const StepContext& owner) const {
  if (StackIsLow()) return NestedTooDeeply("datasets");
  // The last measurement counts: flat_map() and the like make iterators all the time, and those are small.
  if (MemoryIsExhausted()) [[unlikely]]
    return MemoryExhausted();
  const AllocationsMayFail never(false);
  ASSIGN_OR_RETURN(IteratorPtr iterator, NewIterator(owner));
  iterator->types_ = types_;
  return iterator;
}

int64_t Dataset::Cardinality() const {
  int64_t known = cardinality_.load(std::memory_order_relaxed);
  if (known == kNotCounted) {
    known = CountElements();
    cardinality_.store(known, std::memory_order_relaxed);
  }
  return known;
}

Status Dataset::CheckRandomAccess() const {
  if (has_random_access_.load(std::memory_order_relaxed)) return OkStatus();
  RETURN_IF_ERROR(FindRandomAccess());
  has_random_access_.store(true, std::memory_order_relaxed);
  return OkStatus();
}

StatusOr<AccessPtr> Dataset::MakeAccess(const StepContext& owner) const {
  if (StackIsLow()) return NestedTooDeeply("datasets");
  if (MemoryIsExhausted()) [[unlikely]]
    return MemoryExhausted();
  const AllocationsMayFail never(false);
  ASSIGN_OR_RETURN(AccessPtr access, NewAccess(owner));
  access->types_ = types_;
  return access;
}

Status Dataset::FindRandomAccess() const {
  return errors::FailedPrecondition("an upstream dataset does not support random access.");
}

StatusOr<AccessPtr> Dataset::NewAccess(const StepContext& owner) const {
  return std::make_unique<WalkingAccess>(Ref<const Dataset>::Share(this), owner);
}

OutputSignature::OutputSignature(KernelInit& init)
    : types(init.Attr<std::vector<DType>>("output_types")),
      shapes(init.Attr<std::vector<PartialShape>>("output_shapes")) {
  if (init.HasAttr("preserve_cardinality")) preserve_cardinality = init.Attr<bool>("preserve_cardinality");
  if (types.size() != shapes.size()) {
    init.Fail(
        errors::InvalidArgument("output_types has ", types.size(), " entries, but output_shapes has ", shapes.size()));
  }
}

Status CheckSignature(const OutputSignature& wanted, const std::vector<DType>& types,
                      const std::vector<PartialShape>& shapes) {
  if (wanted.types.size() != types.size()) {
    return errors::InvalidArgument("Number of components does not match: expected ", wanted.types.size(),
                                   " types but got ", types.size(), ".");
  }
  for (size_t i = 0; i < types.size(); ++i) {
    if (types[i] != wanted.types[i]) {
      return errors::InvalidArgument("Data type mismatch at component ", i, ": expected ", DTypeName(wanted.types[i]),
                                     " but got ", DTypeName(types[i]), ".");
    }
    if (i < shapes.size() && !wanted.shapes[i].IsCompatibleWith(shapes[i])) {
      return errors::InvalidArgument("Incompatible shapes at component ", i, ": expected ", wanted.shapes[i].ToString(),
                                     " but got ", shapes[i].ToString(), ".");
    }
  }
  return OkStatus();
}

StatusOr<Ref<Dataset>> DatasetInput(const KernelContext& ctx, int i) {
  const Tensor& t = ctx.input(i);
  if (t.dtype() != DType::kVariant || t.rank() != 0) {
    return errors::InvalidArgument("Dataset tensor must be a scalar of dtype DT_VARIANT.");
  }
  auto* dataset = t.scalar<Variant>().get<Dataset>();
  if (dataset == nullptr) return errors::InvalidArgument("Tensor must be a Dataset object.");
  if (dataset->depth() >= kMaxDatasetDepth) {
    return errors::ResourceExhausted("More than ", kMaxDatasetDepth, " datasets are made from one another");
  }
  return Ref<Dataset>::Share(dataset);
}

// What datasets made from one another many times over could make of a few options.
constexpr size_t kMaxOptionsBytes = 1 << 20;

void OutputDataset(KernelContext& ctx, Ref<Dataset> dataset) {
  int depth = dataset->depth();
  std::string options;
  bool is_new = true, checks_use = false;
  for (int i = 0; i < ctx.num_inputs(); ++i) {
    const Tensor& input = ctx.input(i);
    if (input.dtype() != DType::kVariant) continue;
    for (const Variant& variant : input.flat<Variant>()) {
      const auto* from = variant.get<Dataset>();
      if (from == dataset.get()) is_new = false;
      if (from == nullptr || from == dataset.get()) continue;
      depth = std::max(depth, from->depth() + 1);
      checks_use |= from->checks_use();
      if (options.size() + from->options().size() <= kMaxOptionsBytes) options += from->options();
    }
  }
  if (is_new && !options.empty()) dataset->set_options(options + dataset->options());
  if (depth != dataset->depth()) dataset->set_depth(depth);
  if (is_new && checks_use) dataset->set_checks_use();
  ctx.set_output(0, Tensor::Scalar(Variant(std::move(dataset))));
}

Status ElementShapes(ShapeContext& c) {
  std::vector<PartialShape> shapes;
  RETURN_IF_ERROR(c.GetAttr("output_shapes", &shapes));
  if (static_cast<int>(shapes.size()) != c.num_outputs()) {
    return errors::InvalidArgument("`output_shapes` must be the same length as `output_types` (", shapes.size(),
                                   " vs. ", c.num_outputs(), ")");
  }
  for (int i = 0; i < c.num_outputs(); ++i) c.set_output(i, shapes[static_cast<size_t>(i)]);
  return OkStatus();
}

Status WaitUntilReady(const StepContext& step, Mutex& mu, CondVar& changed, absl::FunctionRef<bool()> ready) {
  const AllocationsMayFail never(false);  // what is registered must be taken back
  Cancellation::Token token = -1;
  if (step.cancellation != nullptr) {
    const bool registered = step.cancellation->Register(
        [&mu, &changed] {
          MutexLock lock(mu);
          changed.NotifyAll();
        },
        &token);
    if (!registered) return step.cancellation->status();
  }
  bool done = false;
  {
    MutexLock lock(mu);
    while (!(done = ready()) && CheckCancelled(step).ok()) changed.Wait(mu);
  }
  if (step.cancellation != nullptr) step.cancellation->Deregister(token);
  return done ? OkStatus() : step.cancellation->status();
}

}  // namespace millstream
