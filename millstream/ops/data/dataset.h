// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_OPS_DATA_DATASET_H_
#define MILLSTREAM_OPS_DATA_DATASET_H_

#include <atomic>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "millstream/framework/kernel.h"
#include "millstream/framework/recorded_value.h"
#include "millstream/framework/shape_context.h"

namespace millstream {

// One element of a dataset: a tuple of tensors.
using Element = std::vector<Tensor>;

// A walk through a dataset. Used by one thread at a time; what runs in the background is joined by the destructor.
class DatasetIterator {
 public:
  virtual ~DatasetIterator() = default;
  // The next element, or *end. May wait; gives up when `step` is cancelled. `step` is that of the caller.
  // ResourceExhausted if the process is out of memory, or the iterators that this one calls are nested too deeply;
  // InvalidArgument if the element has other components than its dataset says, which is up to functions of programs.
  Status GetNext(const StepContext& step, Element* element, bool* end);
  // True if GetNext() would come back at once: it reads no file, calls no function and waits for nobody.
  virtual bool Ready() { return false; }

 protected:
  virtual Status Next(const StepContext& step, Element* element, bool* end) = 0;

 private:
  friend class Dataset;
  std::optional<std::vector<DType>> types_;  // of elements, of one that Dataset::MakeIterator() has made
};

using IteratorPtr = std::unique_ptr<DatasetIterator>;

// Elements of a dataset by their number. Used by one thread at a time.
class ElementAccess {
 public:
  virtual ~ElementAccess() = default;
  // Element `index`. REQUIRES: 0 <= index < the cardinality of the dataset. May wait; gives up when `step` is
  // cancelled. InvalidArgument as above.
  Status Get(const StepContext& step, int64_t index, Element* element);

 protected:
  virtual Status Find(const StepContext& step, int64_t index, Element* element) = 0;

 private:
  friend class Dataset;
  std::optional<std::vector<DType>> types_;
};

using AccessPtr = std::unique_ptr<ElementAccess>;

// What Dataset::Cardinality() says where there is no number.
inline constexpr int64_t kInfiniteCardinality = -1;
inline constexpr int64_t kUnknownCardinality = -2;

// What a dataset op gives: a recipe for elements. Immutable and shared; each iterator has its own state.
class Dataset : public RecordedValue {
 public:
  Dataset(std::vector<DType> types, std::vector<PartialShape> shapes)
      : types_(std::move(types)), shapes_(std::move(shapes)) {}

  const std::vector<DType>& types() const { return types_; }
  const std::vector<PartialShape>& shapes() const { return shapes_; }
  std::string type_name() const override { return "tensorflow::DatasetVariantWrapper"; }

  // How many elements there are, as far as that is known without making them.
  int64_t Cardinality() const;

  // `owner` is where background work and functions run: resources, functions, pool, and a cancellation that ends with
  // the iterator. It outlives the iterator. ResourceExhausted if datasets are nested too deeply.
  StatusOr<IteratorPtr> MakeIterator(const StepContext& owner) const;

  // OK if elements may be asked for in any order at the price of one each; FailedPrecondition with a reason otherwise.
  Status CheckRandomAccess() const;
  // Elements by number. Unless the dataset has a better way, those before an element are made as well. `owner` is as
  // for MakeIterator(). REQUIRES: the cardinality is known and finite.
  StatusOr<AccessPtr> MakeAccess(const StepContext& owner) const;

  // What OptionsDataset was given here and below: messages of type tf.data.Options in a row, of which the last wins;
  // set by OutputDataset().
  const std::string& options() const { return options_; }
  void set_options(std::string options) { options_ = std::move(options); }

  // How many datasets are made from one another up to this one; set by OutputDataset().
  int depth() const { return depth_; }
  void set_depth(int depth) { depth_ = depth; }

  // True if this one or one that it is made from checks how it is used (CheckUseOfDatasets() in dataset_record.h); set
  // by OutputDataset().
  bool checks_use() const { return checks_use_; }
  void set_checks_use() { checks_use_ = true; }

 protected:
  // What the calls above do; those that only look are asked once of each dataset, since many may be made from one.
  virtual StatusOr<IteratorPtr> NewIterator(const StepContext& owner) const = 0;
  virtual StatusOr<AccessPtr> NewAccess(const StepContext& owner) const;
  virtual int64_t CountElements() const { return kUnknownCardinality; }
  virtual Status FindRandomAccess() const;

 private:
  static constexpr int64_t kNotCounted = std::numeric_limits<int64_t>::min();
  const std::vector<DType> types_;
  const std::vector<PartialShape> shapes_;
  int depth_ = 0;
  bool checks_use_ = false;
  std::string options_;
  mutable std::atomic<int64_t> cardinality_{kNotCounted};
  mutable std::atomic<bool> has_random_access_{false};  // or it is not known yet
};

// Datasets call what they are made from: how many elements it has, whether it can be reached in any order.
inline constexpr int kMaxDatasetDepth = 4096;

// A dataset made from another one, with its types and shapes unless told otherwise.
class DerivedDataset : public Dataset {
 public:
  explicit DerivedDataset(Ref<Dataset> input) : Dataset(input->types(), input->shapes()), input_(std::move(input)) {}
  DerivedDataset(Ref<Dataset> input, std::vector<DType> types, std::vector<PartialShape> shapes)
      : Dataset(std::move(types), std::move(shapes)), input_(std::move(input)) {}

 protected:
  const Dataset& input() const { return *input_; }

 private:
  const Ref<Dataset> input_;
};

// Elements that a callable makes: Status(const StepContext&, int64_t index, Element*).
template <typename F>
class AccessBy final : public ElementAccess {
 public:
  explicit AccessBy(F get) : get_(std::move(get)) {}

 protected:
  Status Find(const StepContext& step, int64_t index, Element* element) override { return get_(step, index, element); }

 private:
  F get_;
};
template <typename F>
AccessPtr MakeAccessBy(F get) {
  return std::make_unique<AccessBy<F>>(std::move(get));
}

// How many batches `n` elements (or kInfiniteCardinality, kUnknownCardinality) make.
inline int64_t BatchCount(int64_t n, int64_t size, bool drop_remainder) {
  return n < 0 ? n : n / size + (n % size != 0 && !drop_remainder ? 1 : 0);
}

// How many `n` elements (or kInfiniteCardinality, kUnknownCardinality) are `count` times; below 0: for ever.
inline int64_t RepeatedCount(int64_t n, int64_t count) {
  if (count == 0 || n == 0) return 0;
  if (count < 0) return kInfiniteCardinality;
  if (n < 0) return n;
  int64_t all = 0;
  return __builtin_mul_overflow(n, count, &all) ? kUnknownCardinality : all;
}

// The attributes output_types and output_shapes. InvalidArgument unless there are as many of both.
struct OutputSignature {
  OutputSignature() = default;
  explicit OutputSignature(KernelInit& init);
  std::vector<DType> types;
  std::vector<PartialShape> shapes;
  // The attribute of that name, where the op has it: the function makes one element of each.
  bool preserve_cardinality = false;
};

// InvalidArgument unless elements of `types` and `shapes` may go where `wanted` is expected.
Status CheckSignature(const OutputSignature& wanted, const std::vector<DType>& types,
                      const std::vector<PartialShape>& shapes);

// Kernel inputs and outputs. ResourceExhausted if the dataset is kMaxDatasetDepth deep.
StatusOr<Ref<Dataset>> DatasetInput(const KernelContext& ctx, int i);
void OutputDataset(KernelContext& ctx, Ref<Dataset> dataset);
// A scalar. InvalidArgument, with `name`, if the input has another shape.
template <typename T>
StatusOr<T> ScalarInput(const KernelContext& ctx, int i, absl::string_view name) {
  const Tensor& t = ctx.input(i);
  if (t.rank() != 0) return errors::InvalidArgument(name, " must be a scalar");
  return t.scalar<T>();
}

// What input i, a handle, points to, if that is a T; null otherwise.
template <typename T>
const T* GivenResource(const KernelContext& ctx, int i) {
  if (ctx.num_inputs() <= i || ctx.input(i).dtype() != DType::kResource || ctx.input(i).num_elements() != 1)
    return nullptr;
  return dynamic_cast<const T*>(ctx.input(i).data<ResourceHandle>()[0].resource.get());
}

// Cancelled once the step is.
inline Status CheckCancelled(const StepContext& step) {
  return step.cancellation != nullptr && step.cancellation->IsCancelled() ? step.cancellation->status() : OkStatus();
}

// The shape function of ops whose outputs are the components of an element, described by the attr output_shapes.
Status ElementShapes(ShapeContext& c);

// Waits on `changed` until ready() holds, or `step` is cancelled.
// REQUIRES: mu is not held; ready() is called with mu held, and true at the end unless an error is returned.
Status WaitUntilReady(const StepContext& step, Mutex& mu, CondVar& changed, absl::FunctionRef<bool()> ready);

}  // namespace millstream

#endif  // MILLSTREAM_OPS_DATA_DATASET_H_
