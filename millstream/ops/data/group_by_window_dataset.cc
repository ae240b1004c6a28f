// SPDX-License-Identifier: Apache-2.0
#include <map>

#include "millstream/framework/op.h"
#include "millstream/ops/data/captured_function.h"
#include "millstream/ops/data/memory_dataset.h"

namespace millstream {
namespace {

struct WindowFunctions {
  CapturedFunction key, reduce, size;
};

StatusOr<int64_t> CallForInt(const CapturedFunction::Instance& function, const StepContext& step, const Element& args,
                             absl::string_view name) {
  Element rets;
  RETURN_IF_ERROR(function.Run(step, args, &rets));
  if (rets.size() != 1 || rets[0].dtype() != DType::kInt64 || rets[0].num_elements() != 1) {
    return errors::InvalidArgument("`", name, "` must return a scalar int64.");
  }
  return rets[0].scalar<int64_t>();
}

// Collects elements by key until there are as many as the key's window holds; then gives what the reducing function
// makes of them. What is left at the end comes in smaller windows, by rising key.
class GroupByWindowDataset final : public DerivedDataset {
 public:
  GroupByWindowDataset(Ref<Dataset> input, WindowFunctions functions, OutputSignature signature)
      : DerivedDataset(std::move(input), std::move(signature.types), std::move(signature.shapes)),
        functions_(std::move(functions)) {}

  int64_t CountElements() const override {
    return input().Cardinality() == kInfiniteCardinality ? kInfiniteCardinality : kUnknownCardinality;
  }
  StatusOr<IteratorPtr> NewIterator(const StepContext& owner) const override {
    auto iterator = std::make_unique<Iterator>(owner, input().types(), input().shapes());
    ASSIGN_OR_RETURN(iterator->key, functions_.key.Instantiate(owner, input().types()));
    ASSIGN_OR_RETURN(iterator->reduce, functions_.reduce.Instantiate(owner, {DType::kInt64, DType::kVariant}));
    ASSIGN_OR_RETURN(iterator->size, functions_.size.Instantiate(owner, {DType::kInt64}));
    ASSIGN_OR_RETURN(iterator->input, input().MakeIterator(owner));
    return iterator;
  }

 private:
  class Iterator final : public DatasetIterator {
   public:
    Iterator(const StepContext& owner, std::vector<DType> types, std::vector<PartialShape> shapes)
        : owner_(owner), types_(std::move(types)), shapes_(std::move(shapes)) {}

    Status Next(const StepContext& step, Element* element, bool* end) override {
      while (true) {
        RETURN_IF_ERROR(CheckCancelled(step));
        if (window_ != nullptr) {
          RETURN_IF_ERROR(window_->GetNext(step, element, end));
          if (!*end) return OkStatus();
          window_.reset();
        }
        if (input != nullptr) {
          RETURN_IF_ERROR(Collect(step));
        } else if (groups_.empty()) {
          *end = true;
          return OkStatus();
        } else {
          RETURN_IF_ERROR(Open(step, groups_.begin()->first));
        }
      }
    }

    CapturedFunction::Instance key, reduce, size;
    IteratorPtr input;  // null once it has ended

   private:
    struct Group {
      int64_t window = 0;
      std::vector<Element> elements;
    };

    Status Collect(const StepContext& step) {
      Element element;
      bool end = false;
      RETURN_IF_ERROR(input->GetNext(step, &element, &end));
      if (end) {
        input.reset();
        return OkStatus();
      }
      ASSIGN_OR_RETURN(const int64_t k, CallForInt(key, step, element, "key_func"));
      Group& group = groups_[k];
      if (group.elements.empty()) {
        ASSIGN_OR_RETURN(group.window, CallForInt(size, step, {Tensor::Scalar<int64_t>(k)}, "window_size_func"));
        if (group.window <= 0) {
          return errors::InvalidArgument("Window size must be greater than zero, but got ", group.window, ".");
        }
      }
      group.elements.push_back(std::move(element));
      return static_cast<int64_t>(group.elements.size()) < group.window ? OkStatus() : Open(step, k);
    }

    Status Open(const StepContext& step, int64_t k) {
      Ref<Dataset> window = MakeRef<MemoryDataset>(types_, shapes_, std::move(groups_[k].elements));
      groups_.erase(k);
      Element rets;
      RETURN_IF_ERROR(
          reduce.Run(step, {Tensor::Scalar<int64_t>(k), Tensor::Scalar(Variant(std::move(window)))}, &rets));
      const bool one = rets.size() == 1 && rets[0].dtype() == DType::kVariant && rets[0].rank() == 0;
      const Dataset* made = one ? rets[0].scalar<Variant>().get<Dataset>() : nullptr;
      if (made == nullptr) return errors::InvalidArgument("`reduce_func` must return a Dataset object.");
      ASSIGN_OR_RETURN(window_, made->MakeIterator(owner_));
      return OkStatus();
    }

    const StepContext& owner_;
    const std::vector<DType> types_;
    const std::vector<PartialShape> shapes_;
    std::map<int64_t, Group> groups_;
    IteratorPtr window_;
  };

  const WindowFunctions functions_;
};

class MakeGroupByWindow final : public Kernel {
 public:
  explicit MakeGroupByWindow(KernelInit& init)
      : key_(init.Attr<NameAttrList>("key_func")),
        reduce_(init.Attr<NameAttrList>("reduce_func")),
        size_(init.Attr<NameAttrList>("window_size_func")),
        signature_(init) {
    init.InputRange("key_func_other_arguments", &begin_[0], &end_[0]);
    init.InputRange("reduce_func_other_arguments", &begin_[1], &end_[1]);
    init.InputRange("window_size_func_other_arguments", &begin_[2], &end_[2]);
  }
  Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(Ref<Dataset> input, DatasetInput(ctx, 0));
    WindowFunctions f;
    ASSIGN_OR_RETURN(f.key, CapturedFunction::FromInputs(ctx, key_, begin_[0], end_[0]));
    ASSIGN_OR_RETURN(f.reduce, CapturedFunction::FromInputs(ctx, reduce_, begin_[1], end_[1]));
    ASSIGN_OR_RETURN(f.size, CapturedFunction::FromInputs(ctx, size_, begin_[2], end_[2]));
    OutputDataset(ctx, MakeRef<GroupByWindowDataset>(std::move(input), std::move(f), signature_));
    return OkStatus();
  }

 private:
  const NameAttrList key_, reduce_, size_;
  const OutputSignature signature_;
  int begin_[3] = {}, end_[3] = {};
};

#define GROUP_BY_WINDOW(Name)                                                       \
  OP(Name)                                                                          \
      .Input("input_dataset: variant")                                              \
      .Input("key_func_other_arguments: Tkey_func_other_arguments")                 \
      .Input("reduce_func_other_arguments: Treduce_func_other_arguments")           \
      .Input("window_size_func_other_arguments: Twindow_size_func_other_arguments") \
      .Output("handle: variant")                                                    \
      .Attr("key_func: func")                                                       \
      .Attr("reduce_func: func")                                                    \
      .Attr("window_size_func: func")                                               \
      .Attr("Tkey_func_other_arguments: list(type) >= 0")                           \
      .Attr("Treduce_func_other_arguments: list(type) >= 0")                        \
      .Attr("Twindow_size_func_other_arguments: list(type) >= 0")                   \
      .Attr("output_types: list(type) >= 1")                                        \
      .Attr("output_shapes: list(shape) >= 1")                                      \
      .Shape(ScalarShape)                                                           \
      .Cpu<MakeGroupByWindow>()                                                     \
      .Doc("A dataset of what a function makes of groups of elements with the same key.")
GROUP_BY_WINDOW("GroupByWindowDataset").Attr("metadata: string = ''");
GROUP_BY_WINDOW("ExperimentalGroupByWindowDataset");
#undef GROUP_BY_WINDOW

}  // namespace
}  // namespace millstream
