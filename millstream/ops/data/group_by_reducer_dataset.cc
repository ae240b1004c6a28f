// SPDX-License-Identifier: Apache-2.0
#include <map>

#include "millstream/framework/op.h"
#include "millstream/ops/data/captured_function.h"

namespace millstream {
namespace {

struct ReducerFunctions {
  CapturedFunction key, init, reduce, finalize;
};

// One element for each key, by rising key: what is made of all elements with it.
class GroupByReducerDataset final : public DerivedDataset {
 public:
  GroupByReducerDataset(Ref<Dataset> input, ReducerFunctions functions, OutputSignature signature)
      : DerivedDataset(std::move(input), std::move(signature.types), std::move(signature.shapes)),
        functions_(std::move(functions)) {}

  StatusOr<IteratorPtr> NewIterator(const StepContext& owner) const override {
    auto iterator = std::make_unique<Iterator>(owner, functions_, input().types());
    ASSIGN_OR_RETURN(iterator->key, functions_.key.Instantiate(owner, input().types()));
    ASSIGN_OR_RETURN(iterator->init, functions_.init.Instantiate(owner, {DType::kInt64}));
    ASSIGN_OR_RETURN(iterator->input, input().MakeIterator(owner));
    return iterator;
  }

 private:
  class Iterator final : public DatasetIterator {
   public:
    Iterator(const StepContext& owner, ReducerFunctions functions, std::vector<DType> types)
        : owner_(owner), functions_(std::move(functions)), types_(std::move(types)) {}

    Status Next(const StepContext& step, Element* element, bool* end) override {
      while (input != nullptr) {
        RETURN_IF_ERROR(CheckCancelled(step));
        RETURN_IF_ERROR(Collect(step));
      }
      *end = states_.empty();
      if (*end) return OkStatus();
      const Element state = std::move(states_.begin()->second);
      states_.erase(states_.begin());
      ASSIGN_OR_RETURN(const CapturedFunction::Instance finalize,
                       functions_.finalize.Instantiate(owner_, TypesOf(state)));
      return finalize.Run(step, state, element);
    }

    CapturedFunction::Instance key, init;
    IteratorPtr input;  // null once it has ended

   private:
    static std::vector<DType> TypesOf(const Element& state) {
      std::vector<DType> types;
      for (const Tensor& t : state) types.push_back(t.dtype());
      return types;
    }

    Status Collect(const StepContext& step) {
      Element element, answer;
      bool over = false;
      RETURN_IF_ERROR(input->GetNext(step, &element, &over));
      if (over) {
        input.reset();
        return OkStatus();
      }
      RETURN_IF_ERROR(key.Run(step, element, &answer));
      if (answer.size() != 1 || answer[0].dtype() != DType::kInt64 || answer[0].num_elements() != 1) {
        return errors::InvalidArgument("`key_func` must return a scalar int64.");
      }
      const int64_t k = answer[0].scalar<int64_t>();
      if (!states_.contains(k)) {
        Element first;
        RETURN_IF_ERROR(init.Run(step, {Tensor::Scalar<int64_t>(k)}, &first));
        states_[k] = std::move(first);
      }
      Element args = states_[k], next;
      std::vector<DType> types = TypesOf(args);
      types.insert(types.end(), types_.begin(), types_.end());
      if (reduce_types_ != types) {
        ASSIGN_OR_RETURN(reduce_, functions_.reduce.Instantiate(owner_, types));
        reduce_types_ = types;
      }
      args.insert(args.end(), element.begin(), element.end());
      RETURN_IF_ERROR(reduce_.Run(step, args, &next));
      states_[k] = std::move(next);
      return OkStatus();
    }

    const StepContext& owner_;
    const ReducerFunctions functions_;
    const std::vector<DType> types_;
    std::vector<DType> reduce_types_;  // what reduce_ takes: known once there is a state
    CapturedFunction::Instance reduce_;
    std::map<int64_t, Element> states_;
  };

  const ReducerFunctions functions_;
};

class MakeGroupByReducer final : public Kernel {
 public:
  explicit MakeGroupByReducer(KernelInit& init) : signature_(init) {
    for (int i = 0; i < 4; ++i) {
      functions_[i] = init.Attr<NameAttrList>(kNames[i]);
      init.InputRange(absl::StrCat(kNames[i], "_other_arguments"), &begin_[i], &end_[i]);
    }
  }
  Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(Ref<Dataset> input, DatasetInput(ctx, 0));
    ReducerFunctions f;
    CapturedFunction* const to[] = {&f.key, &f.init, &f.reduce, &f.finalize};
    for (int i = 0; i < 4; ++i) {
      ASSIGN_OR_RETURN(*to[i], CapturedFunction::FromInputs(ctx, functions_[i], begin_[i], end_[i]));
    }
    OutputDataset(ctx, MakeRef<GroupByReducerDataset>(std::move(input), std::move(f), signature_));
    return OkStatus();
  }

 private:
  static constexpr const char* kNames[] = {"key_func", "init_func", "reduce_func", "finalize_func"};
  const OutputSignature signature_;
  NameAttrList functions_[4];
  int begin_[4] = {}, end_[4] = {};
};

#define GROUP_BY_REDUCER(Name)                                                \
  OP(Name)                                                                    \
      .Input("input_dataset: variant")                                        \
      .Input("key_func_other_arguments: Tkey_func_other_arguments")           \
      .Input("init_func_other_arguments: Tinit_func_other_arguments")         \
      .Input("reduce_func_other_arguments: Treduce_func_other_arguments")     \
      .Input("finalize_func_other_arguments: Tfinalize_func_other_arguments") \
      .Output("handle: variant")                                              \
      .Attr("key_func: func")                                                 \
      .Attr("init_func: func")                                                \
      .Attr("reduce_func: func")                                              \
      .Attr("finalize_func: func")                                            \
      .Attr("Tkey_func_other_arguments: list(type) >= 0")                     \
      .Attr("Tinit_func_other_arguments: list(type) >= 0")                    \
      .Attr("Treduce_func_other_arguments: list(type) >= 0")                  \
      .Attr("Tfinalize_func_other_arguments: list(type) >= 0")                \
      .Attr("output_types: list(type) >= 1")                                  \
      .Attr("output_shapes: list(shape) >= 1")                                \
      .Stateful()                                                             \
      .Shape(ScalarShape)                                                     \
      .Cpu<MakeGroupByReducer>()                                              \
      .Doc("One element for each key: what functions make of all elements that have it.")
GROUP_BY_REDUCER("GroupByReducerDataset");
GROUP_BY_REDUCER("ExperimentalGroupByReducerDataset");
#undef GROUP_BY_REDUCER

}  // namespace
}  // namespace millstream
