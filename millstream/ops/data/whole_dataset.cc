// SPDX-License-Identifier: Apache-2.0
// Ops that walk through a dataset themselves, without an iterator that steps share.
#include "millstream/framework/op.h"
#include "millstream/ops/data/captured_function.h"
#include "millstream/ops/data/walk.h"

namespace millstream {
namespace {

Status OutputElement(KernelContext& ctx, const OutputSignature& signature, Element element) {
  std::vector<DType> types;
  std::vector<PartialShape> shapes;
  for (const Tensor& t : element) {
    types.push_back(t.dtype());
    shapes.emplace_back(t.shape());
  }
  RETURN_IF_ERROR(CheckSignature(signature, types, shapes));
  for (int i = 0; i < ctx.num_outputs(); ++i) ctx.set_output(i, std::move(element[static_cast<size_t>(i)]));
  return OkStatus();
}

class ReduceDataset final : public AsyncKernel {
 public:
  explicit ReduceDataset(KernelInit& init)
      : function_(init.Attr<NameAttrList>("f")),
        states_(static_cast<int>(init.Attr<std::vector<DType>>("Tstate").size())),
        signature_(init) {}

  void ComputeAsync(KernelContext& ctx, Done done) override {
    WalkInBackground(ctx, std::move(done), [this, &ctx](const StepContext& owner) { return Reduce(ctx, owner); });
  }

 private:
  Status Reduce(KernelContext& ctx, const StepContext& owner) const {
    ASSIGN_OR_RETURN(Ref<Dataset> input, DatasetInput(ctx, 0));
    ASSIGN_OR_RETURN(const CapturedFunction captured,
                     CapturedFunction::FromInputs(ctx, function_, 1 + states_, ctx.num_inputs()));
    Element state;
    std::vector<DType> types;
    for (int i = 0; i < states_; ++i) {
      state.push_back(ctx.input(1 + i));
      types.push_back(ctx.input_dtype(1 + i));
    }
    types.insert(types.end(), input->types().begin(), input->types().end());
    ASSIGN_OR_RETURN(const CapturedFunction::Instance function, captured.Instantiate(owner, types));
    RETURN_IF_ERROR(ForEachElement(*input, owner, [&](Element element) -> Status {
      Element next;
      state.insert(state.end(), element.begin(), element.end());
      RETURN_IF_ERROR(function.Run(owner, state, &next));
      if (static_cast<int>(next.size()) != states_) {
        return errors::InvalidArgument(
            "The number of components of the initial state and the reduce function output does not match. "
            "(initial_state=",
            states_, ", output=", next.size(), ").");
      }
      state = std::move(next);
      return OkStatus();
    }));
    return OutputElement(ctx, signature_, std::move(state));
  }

  const NameAttrList function_;
  const int states_;
  const OutputSignature signature_;
};

class DatasetToSingleElement final : public AsyncKernel {
 public:
  explicit DatasetToSingleElement(KernelInit& init) : signature_(init) {}
  void ComputeAsync(KernelContext& ctx, Done done) override {
    WalkInBackground(ctx, std::move(done), [this, &ctx](const StepContext& owner) { return Take(ctx, owner); });
  }

 private:
  Status Take(KernelContext& ctx, const StepContext& owner) const {
    ASSIGN_OR_RETURN(Ref<Dataset> input, DatasetInput(ctx, 0));
    ASSIGN_OR_RETURN(const IteratorPtr iterator, input->MakeIterator(owner));
    Element element, more;
    bool end = false;
    RETURN_IF_ERROR(iterator->GetNext(owner, &element, &end));
    if (end) return errors::InvalidArgument("Dataset was empty.");
    RETURN_IF_ERROR(iterator->GetNext(owner, &more, &end));
    if (!end) return errors::InvalidArgument("Dataset had more than one element.");
    return OutputElement(ctx, signature_, std::move(element));
  }

  const OutputSignature signature_;
};

// One element, counted from the front.
class GetElementAtIndex final : public AsyncKernel {
 public:
  explicit GetElementAtIndex(KernelInit& init) : signature_(init) {}
  void ComputeAsync(KernelContext& ctx, Done done) override {
    WalkInBackground(ctx, std::move(done), [this, &ctx](const StepContext& owner) { return Take(ctx, owner); });
  }

 private:
  Status Take(KernelContext& ctx, const StepContext& owner) const {
    ASSIGN_OR_RETURN(Ref<Dataset> input, DatasetInput(ctx, 0));
    ASSIGN_OR_RETURN(const int64_t index, ScalarInput<int64_t>(ctx, 1, "index"));
    const int64_t n = input->Cardinality();
    if (n < 0) {
      return errors::FailedPrecondition("The dataset has ", n == kInfiniteCardinality ? "infinite" : "unknown",
                                        " cardinality, which does not support random access.");
    }
    if (index < 0 || index >= n) return errors::OutOfRange("Index out of range [0, ", n, "):", index);
    ASSIGN_OR_RETURN(const AccessPtr access, input->MakeAccess(owner));
    Element element;
    RETURN_IF_ERROR(access->Get(owner, index, &element));
    return OutputElement(ctx, signature_, std::move(element));
  }

  const OutputSignature signature_;
};

Status CardinalityCpu(KernelContext& ctx) {
  ASSIGN_OR_RETURN(Ref<Dataset> input, DatasetInput(ctx, 0));
  ctx.set_output(0, Tensor::Scalar(input->Cardinality()));
  return OkStatus();
}

OP("ReduceDataset")
    .Input("input_dataset: variant")
    .Input("initial_state: Tstate")
    .Input("other_arguments: Targuments")
    .Output("components: output_types")
    .Attr("f: func")
    .Attr("Tstate: list(type) >= 1")
    .Attr("Targuments: list(type) >= 0")
    .Attr("output_types: list(type) >= 1")
    .Attr("output_shapes: list(shape) >= 1")
    .Attr("use_inter_op_parallelism: bool = true")
    .Attr("metadata: string = ''")
    .Stateful()
    .Shape(ElementShapes)
    .Cpu<ReduceDataset>()
    .Doc("What a function makes of a state and all elements of a dataset, one after the other.");

OP("GetElementAtIndex")
    .Input("dataset: variant")
    .Input("index: int64")
    .Output("components: output_types")
    .Attr("output_types: list(type) >= 1")
    .Attr("output_shapes: list(shape) >= 1")
    .Shape(ElementShapes)
    .Cpu<GetElementAtIndex>()
    .Doc("One element of a dataset whose size is known. OutOfRange where there is none.");

OP("DatasetToSingleElement")
    .Input("dataset: variant")
    .Output("components: output_types")
    .Attr("output_types: list(type) >= 1")
    .Attr("output_shapes: list(shape) >= 1")
    .Attr("metadata: string = ''")
    .Stateful()
    .Shape(ElementShapes)
    .Cpu<DatasetToSingleElement>()
    .Doc("The only element of a dataset. InvalidArgument if it has none or several.");

#define DATASET_CARDINALITY(Name)      \
  OP(Name)                             \
      .Input("input_dataset: variant") \
      .Output("cardinality: int64")    \
      .Shape(ScalarShape)              \
      .Cpu(CardinalityCpu)             \
      .Doc("How many elements a dataset has: -1 without end, -2 if only walking through it would tell.")
DATASET_CARDINALITY("DatasetCardinality").Attr("cardinality_options: string = ''");
DATASET_CARDINALITY("ExperimentalDatasetCardinality");
#undef DATASET_CARDINALITY

}  // namespace
}  // namespace millstream
