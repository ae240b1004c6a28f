// SPDX-License-Identifier: Apache-2.0
// Ops that put all elements of a dataset somewhere else.
#include "millstream/framework/graph_files.h"
#include "millstream/framework/op.h"
#include "millstream/io/record_writer.h"
#include "millstream/ops/data/batch.h"
#include "millstream/ops/data/walk.h"
#include "millstream/ops/lookup/table.h"
#include "millstream/ops/resources/handle.h"

namespace millstream {
namespace {

class DatasetToTFRecord final : public AsyncKernel {
 public:
  explicit DatasetToTFRecord(KernelInit&) {}
  void ComputeAsync(KernelContext& ctx, Done done) override {
    WalkInBackground(ctx, std::move(done), [&ctx](const StepContext& owner) { return Write(ctx, owner); });
  }

 private:
  static Status Write(KernelContext& ctx, const StepContext& owner) {
    ASSIGN_OR_RETURN(Ref<Dataset> input, DatasetInput(ctx, 0));
    ASSIGN_OR_RETURN(const std::string path, ScalarInput<std::string>(ctx, 1, "filename"));
    ASSIGN_OR_RETURN(const std::string packing, ScalarInput<std::string>(ctx, 2, "compression_type"));
    ASSIGN_OR_RETURN(const Compression compression, CompressionFromName(packing));
    if (input->types().size() != 1) {
      return errors::InvalidArgument("ToTFRecordOp currently only support datasets of 1 single column, but got ",
                                     input->types().size());
    }
    if (input->types()[0] != DType::kString) {
      return errors::InvalidArgument("ToTFRecordOp currently only supports DT_STRING dataypes, but got ",
                                     DTypeName(input->types()[0]));
    }
    ASSIGN_OR_RETURN(const std::string confined, ConfinedPath(ctx.resources(), path));
    ASSIGN_OR_RETURN(const std::unique_ptr<RecordWriter> writer, RecordWriter::Create(confined, compression));
    RETURN_IF_ERROR(ForEachElement(*input, owner, [&](Element element) -> Status {
      if (element[0].rank() != 0) {
        return errors::InvalidArgument("ToTFRecordOp currently only supports scalar elements, but got shape: ",
                                       element[0].shape().ToString());
      }
      return writer->Write(element[0].scalar<std::string>());
    }));
    return writer->Close();
  }
};

class InitializeTableFromDataset final : public AsyncKernel {
 public:
  explicit InitializeTableFromDataset(KernelInit&) {}
  void ComputeAsync(KernelContext& ctx, Done done) override {
    WalkInBackground(ctx, std::move(done), [&ctx](const StepContext& owner) { return Fill(ctx, owner); });
  }

 private:
  static Status Check(const Dataset& dataset, const LookupTable& table) {
    const std::vector<DType>& types = dataset.types();
    if (types.size() != 2) return errors::InvalidArgument("Dataset should have two output types only");
    const DType wanted[] = {table.options().key_dtype, table.options().value_dtype};
    for (const size_t i : {0, 1}) {
      const char* const what = i == 0 ? "Key" : "Value";
      if (types[i] != wanted[i]) {
        return errors::InvalidArgument(what, " dtype expected: ", DTypeName(wanted[i]),
                                       " but obtained: ", DTypeName(types[i]), " from the dataset");
      }
      if (!dataset.shapes()[i].IsCompatibleWith(Shape())) {
        return errors::InvalidArgument("Expected scalar for key. Obtained: ", dataset.shapes()[i].ToString());
      }
    }
    return OkStatus();
  }

  static Status Fill(KernelContext& ctx, const StepContext& owner) {
    ASSIGN_OR_RETURN(const Ref<LookupTable> table, HandleInput<LookupTable>(ctx, 0));
    ASSIGN_OR_RETURN(const Ref<Dataset> dataset, DatasetInput(ctx, 1));
    RETURN_IF_ERROR(Check(*dataset, *table));
    std::vector<Element> elements;
    RETURN_IF_ERROR(ForEachElement(*dataset, owner, [&](Element element) -> Status {
      if (element[0].rank() != 0 || element[1].rank() != 0) {
        return errors::InvalidArgument("Keys and values of a table that a dataset fills are scalars");
      }
      elements.push_back(std::move(element));
      return OkStatus();
    }));
    if (elements.empty()) return errors::OutOfRange("The dataset that should fill the table has no elements");
    ASSIGN_OR_RETURN(const Tensor keys, StackComponent(elements, 0));
    ASSIGN_OR_RETURN(const Tensor values, StackComponent(elements, 1));
    return table->Initialize(keys, values);
  }
};

#define DATASET_TO_TFRECORD(Name)        \
  OP(Name)                               \
      .Input("input_dataset: variant")   \
      .Input("filename: string")         \
      .Input("compression_type: string") \
      .Stateful()                        \
      .Shape(NoOutputs)                  \
      .Cpu<DatasetToTFRecord>()          \
      .Doc("Writes the strings of a dataset as the records of a TFRecord file.")
DATASET_TO_TFRECORD("DatasetToTFRecord");
DATASET_TO_TFRECORD("ExperimentalDatasetToTFRecord");
#undef DATASET_TO_TFRECORD
OP("InitializeTableFromDataset")
    .Input("table_handle: resource")
    .Input("dataset: variant")
    .Stateful()
    .Shape(NoOutputs)
    .Cpu<InitializeTableFromDataset>()
    .Doc("Fills a table from a dataset of pairs of a key and a value.");

}  // namespace
}  // namespace millstream
