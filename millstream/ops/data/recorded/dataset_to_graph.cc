// SPDX-License-Identifier: Apache-2.0
#include "millstream/base/logging.h"
#include "millstream/framework/op.h"
#include "millstream/ops/data/recorded/write_graph.h"
#include "millstream/proto/graph.pb.h"

namespace millstream {
namespace {

// What to do with functions that depend on more than their arguments.
enum ExternalState : int64_t { kWarn = 0, kIgnore = 1, kFail = 2 };

class DatasetToGraph final : public Kernel {
 public:
  explicit DatasetToGraph(KernelInit& init) {
    if (init.HasAttr("external_state_policy")) {
      external_state_ = init.Attr<int64_t>("external_state_policy");
      if (external_state_ < kWarn || external_state_ > kFail) {
        init.Fail(errors::InvalidArgument(external_state_, " is no policy for external state."));
      }
    } else {
      external_state_ = init.Attr<bool>("allow_stateful") ? kIgnore : kFail;
    }
    strip_devices_ = init.Attr<bool>("strip_device_assignment");
  }

  Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(const Ref<Dataset> input, DatasetInput(ctx, 0));
    proto::GraphDef def;
    RETURN_IF_ERROR(WriteDatasetGraph(*input, LibraryOf(ctx.step()), &def));
    if (external_state_ != kIgnore) {
      const Status status = CheckNoExternalState(def);
      if (external_state_ == kFail) RETURN_IF_ERROR(status);
      if (!status.ok()) LogWarning(status.message());
    }
    if (strip_devices_) StripDevices(&def);
    std::string bytes;
    if (!def.SerializeToString(&bytes)) return errors::ResourceExhausted("The graph of the dataset is too large.");
    ctx.set_output(0, Tensor::Scalar(bytes));
    return OkStatus();
  }

 private:
  static void StripDevices(proto::GraphDef* def) {
    for (proto::NodeDef& node : *def->mutable_node()) node.clear_device();
    for (proto::FunctionDef& function : *def->mutable_library()->mutable_function()) {
      for (proto::NodeDef& node : *function.mutable_node_def()) node.clear_device();
    }
  }

  int64_t external_state_ = kWarn;
  bool strip_devices_ = false;
};

Status DatasetFingerprintCpu(KernelContext& ctx) {
  ASSIGN_OR_RETURN(const Ref<Dataset> input, DatasetInput(ctx, 0));
  ASSIGN_OR_RETURN(const uint64_t fingerprint, FingerprintOf(*input, LibraryOf(ctx.step())));
  ctx.set_output(0, Tensor::Scalar(fingerprint));
  return OkStatus();
}

OP("DatasetToGraph")
    .Input("input_dataset: variant")
    .Output("graph: string")
    .Attr("stateful_whitelist: list(string) >= 0 = []")
    .Attr("allow_stateful: bool = false")
    .Attr("strip_device_assignment: bool = false")
    .Shape(ScalarShape)
    .Cpu<DatasetToGraph>()
    .Doc("The pipeline that makes a dataset, as a serialized GraphDef.");
OP("DatasetToGraphV2")
    .Input("input_dataset: variant")
    .Output("graph: string")
    .Attr("external_state_policy: int = 0")
    .Attr("strip_device_assignment: bool = false")
    .Shape(ScalarShape)
    .Cpu<DatasetToGraph>()
    .Doc("The pipeline that makes a dataset, as a serialized GraphDef.");
OP("DatasetFingerprint")
    .Input("input_dataset: variant")
    .Output("fingerprint: uint64")
    .Shape(ScalarShape)
    .Cpu(DatasetFingerprintCpu)
    .Doc("A number that equal pipelines share.");

}  // namespace
}  // namespace millstream
