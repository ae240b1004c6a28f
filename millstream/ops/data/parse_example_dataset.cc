// SPDX-License-Identifier: Apache-2.0
#include <map>

#include "millstream/framework/op.h"
#include "millstream/ops/data/dataset.h"
#include "millstream/ops/parsing/example_parser.h"
#include "millstream/ops/ragged/ragged.h"
#include "millstream/ops/variants/tensor_box.h"

namespace millstream {
namespace {

// Batches of serialized Examples as their features. The components are in the order of the keys: tensors, sparse
// tensors as three variants, ragged ones as one.
class ParseExampleDataset final : public DerivedDataset {
 public:
  ParseExampleDataset(Ref<Dataset> input, ExampleSpec spec, OutputSignature signature)
      : DerivedDataset(std::move(input), signature.types, signature.shapes),
        parser_(std::make_shared<const Parser>(std::move(spec), std::move(signature))) {}

  int64_t CountElements() const override { return input().Cardinality(); }
  StatusOr<IteratorPtr> NewIterator(const StepContext& owner) const override {
    ASSIGN_OR_RETURN(IteratorPtr from, input().MakeIterator(owner));
    return std::make_unique<Iterator>(std::move(from), parser_);
  }

 private:
  class Parser {
   public:
    Parser(ExampleSpec spec, OutputSignature signature) : spec_(std::move(spec)), signature_(std::move(signature)) {
      for (const DenseFeature& f : spec_.dense) places_[f.key] = 0;
      for (const SparseFeature& f : spec_.sparse) places_[f.key] = 0;
      for (const RaggedFeature& f : spec_.ragged) places_[f.key] = 0;
      size_t next = 0;
      for (auto& [key, place] : places_) place = next++;
    }

    Status Parse(const Element& batch, Element* element) const {
      std::vector<std::string> serialized;
      for (const Tensor& t : batch) {
        serialized.insert(serialized.end(), t.flat<std::string>().begin(), t.flat<std::string>().end());
      }
      ASSIGN_OR_RETURN(ParsedExamples parsed, ParseExamples(spec_, serialized, {}, false));
      element->resize(places_.size());
      for (size_t i = 0; i < spec_.dense.size(); ++i) {
        (*element)[places_.at(spec_.dense[i].key)] = std::move(parsed.dense_values[i]);
      }
      for (size_t i = 0; i < spec_.sparse.size(); ++i) {
        Tensor boxes(DType::kVariant, Shape({3}));
        boxes.data<Variant>()[0] = Variant(MakeRef<TensorBox>(std::move(parsed.sparse_indices[i])));
        boxes.data<Variant>()[1] = Variant(MakeRef<TensorBox>(std::move(parsed.sparse_values[i])));
        boxes.data<Variant>()[2] = Variant(MakeRef<TensorBox>(std::move(parsed.sparse_shapes[i])));
        (*element)[places_.at(spec_.sparse[i].key)] = std::move(boxes);
      }
      for (size_t i = 0; i < spec_.ragged.size(); ++i) {
        Ref<RaggedVariant> ragged = MakeRef<RaggedVariant>();
        ragged->tensors = {std::move(parsed.ragged_splits[i]), std::move(parsed.ragged_values[i])};
        (*element)[places_.at(spec_.ragged[i].key)] = Tensor::Scalar(Variant(std::move(ragged)));
      }
      return Check(*element);
    }

   private:
    Status Check(const Element& element) const {
      std::vector<DType> types;
      std::vector<PartialShape> shapes;
      for (const Tensor& t : element) {
        types.push_back(t.dtype());
        shapes.emplace_back(t.shape());
      }
      return CheckSignature(signature_, types, shapes);
    }

    const ExampleSpec spec_;
    const OutputSignature signature_;
    std::map<std::string, size_t> places_;  // of keys among the components
  };

  class Iterator final : public DatasetIterator {
   public:
    Iterator(IteratorPtr input, std::shared_ptr<const Parser> parser)
        : input_(std::move(input)), parser_(std::move(parser)) {}
    Status Next(const StepContext& step, Element* element, bool* end) override {
      Element batch;
      RETURN_IF_ERROR(input_->GetNext(step, &batch, end));
      return *end ? OkStatus() : parser_->Parse(batch, element);
    }

   private:
    const IteratorPtr input_;
    const std::shared_ptr<const Parser> parser_;
  };

  const std::shared_ptr<const Parser> parser_;
};

// An attribute that the first version of the op does not have.
template <typename T>
std::vector<T> ListOrEmpty(KernelInit& init, const char* attr) {
  return init.HasAttr(attr) ? init.Attr<std::vector<T>>(attr) : std::vector<T>();
}

class MakeParseExample final : public Kernel {
 public:
  explicit MakeParseExample(KernelInit& init) : signature_(init) {
    const auto sparse = init.Attr<std::vector<std::string>>("sparse_keys");
    const auto dense = init.Attr<std::vector<std::string>>("dense_keys");
    const auto ragged = ListOrEmpty<std::string>(init, "ragged_keys");
    const auto sparse_types = init.Attr<std::vector<DType>>("sparse_types");
    const auto dense_types = init.Attr<std::vector<DType>>("Tdense");
    const auto shapes = init.Attr<std::vector<PartialShape>>("dense_shapes");
    const auto ragged_types = ListOrEmpty<DType>(init, "ragged_value_types");
    const auto split_types = ListOrEmpty<DType>(init, "ragged_split_types");
    if (sparse.size() != sparse_types.size() || dense.size() != dense_types.size() || dense.size() != shapes.size() ||
        ragged.size() != ragged_types.size() || ragged.size() != split_types.size()) {
      init.Fail(errors::InvalidArgument("Keys must be as many as their types and shapes"));
      return;
    }
    for (size_t i = 0; i < sparse.size(); ++i) spec_.sparse.push_back({.key = sparse[i], .type = sparse_types[i]});
    for (size_t i = 0; i < dense.size(); ++i) {
      spec_.dense.push_back({.key = dense[i], .type = dense_types[i], .shape = shapes[i], .default_value = Tensor()});
    }
    for (size_t i = 0; i < ragged.size(); ++i) {
      spec_.ragged.push_back({.key = ragged[i], .type = ragged_types[i], .split_type = split_types[i]});
    }
    std::map<std::string, int> seen;
    for (const auto* keys : {&sparse, &dense, &ragged}) {
      for (const std::string& key : *keys) {
        if (seen[key]++ > 0) init.Fail(errors::InvalidArgument("Duplicate key not allowed: ", key));
      }
    }
    if (seen.size() != signature_.types.size()) {
      init.Fail(errors::InvalidArgument("There are ", seen.size(), " keys and ", signature_.types.size(), " outputs"));
    }
  }

  Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(Ref<Dataset> input, DatasetInput(ctx, 0));
    ASSIGN_OR_RETURN(const int64_t calls, ScalarInput<int64_t>(ctx, 1, "num_parallel_calls"));
    if (calls <= 0 && calls != -1) return errors::InvalidArgument("num_parallel_calls must be greater than zero.");
    for (const DType type : input->types()) {
      if (type != DType::kString) {
        return errors::InvalidArgument("Input dataset must be a dataset of vectors of strings, got ", DTypeName(type));
      }
    }
    ExampleSpec spec = spec_;
    for (size_t i = 0; i < spec.dense.size(); ++i) spec.dense[i].default_value = ctx.input(2 + static_cast<int>(i));
    RETURN_IF_ERROR(CheckSpec(spec));
    OutputDataset(ctx, MakeRef<ParseExampleDataset>(std::move(input), std::move(spec), signature_));
    return OkStatus();
  }

 private:
  const OutputSignature signature_;
  ExampleSpec spec_;
};

void ParseBegin(OpBuilder& op) {
  op.Input("input_dataset: variant")
      .Input("num_parallel_calls: int64")
      .Input("dense_defaults: Tdense")
      .Output("handle: variant")
      .Attr("sparse_keys: list(string) >= 0")
      .Attr("dense_keys: list(string) >= 0")
      .Attr("sparse_types: list({float, int64, string}) >= 0")
      .Attr("Tdense: list({float, int64, string}) >= 0")
      .Attr("dense_shapes: list(shape) >= 0")
      .Attr("output_types: list(type) >= 1")
      .Attr("output_shapes: list(shape) >= 1");
}
void ParseRaggedAttrs(OpBuilder& op) {
  op.Attr("ragged_keys: list(string) >= 0 = []")
      .Attr("ragged_value_types: list({float, int64, string}) >= 0 = []")
      .Attr("ragged_split_types: list({int32, int64}) >= 0 = []");
}
void ParseEnd(OpBuilder& op) {
  op.Shape(ScalarShape).Cpu<MakeParseExample>().Doc("A dataset of the features of batches of serialized Examples.");
}

OP("ParseExampleDataset").With(ParseBegin).Attr("sloppy: bool = false").With(ParseRaggedAttrs).With(ParseEnd);
OP("ExperimentalParseExampleDataset").With(ParseBegin).Attr("sloppy: bool = false").With(ParseEnd);
OP("ParseExampleDatasetV2")
    .With(ParseBegin)
    .Attr("deterministic: string = 'default'")
    .With(ParseRaggedAttrs)
    .With(ParseEnd);

}  // namespace
}  // namespace millstream
