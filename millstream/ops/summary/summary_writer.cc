// SPDX-License-Identifier: Apache-2.0
// Event files that graphs write themselves (tf.contrib.summary, tf.summary of TensorFlow 2).
#include "millstream/framework/graph_files.h"
#include "millstream/framework/op.h"
#include "millstream/io/event_writer.h"
#include "millstream/ops/resources/handle.h"
#include "millstream/ops/summary/summary_output.h"
#include "millstream/proto/event.pb.h"
#include "millstream/tensor/dispatch.h"

namespace millstream {
namespace {

constexpr char kTypeName[] = "tensorflow::SummaryWriterInterface";

class SummaryWriter final : public Resource {
 public:
  SummaryWriter(std::string folder, std::string suffix) : writer(std::move(folder), std::move(suffix)) {}
  std::string DebugString() const override { return "SummaryWriter"; }
  EventWriter writer;
};

class WriterHandle final : public Kernel {
 public:
  explicit WriterHandle(KernelInit& init)
      : container_(init.Attr<std::string>("container")), name_(init.Attr<std::string>("shared_name")) {
    if (name_.empty()) name_ = init.node_name();
  }
  Status Compute(KernelContext& ctx) override {
    ctx.set_output(0, MakeHandle(*ctx.device(), container_, name_, kTypeName, nullptr));
    return OkStatus();
  }

 private:
  const std::string container_;
  std::string name_;
};

StatusOr<std::string> StringInput(const KernelContext& ctx, int i, absl::string_view name) {
  if (ctx.input(i).num_elements() != 1) return errors::InvalidArgument(name, " must be a scalar");
  return ctx.input(i).data<std::string>()[0];
}

StatusOr<int64_t> StepInput(const KernelContext& ctx) {
  if (ctx.input(1).num_elements() != 1) return errors::InvalidArgument("step must be a scalar");
  return ctx.input(1).data<int64_t>()[0];
}

// Nothing if the writer is there already: initializers run once for each session.
Status CreateFileWriterCpu(KernelContext& ctx) {
  if (ctx.input(0).num_elements() != 1) return errors::InvalidArgument("writer must be a scalar");
  const ResourceHandle& handle = ctx.input(0).data<ResourceHandle>()[0];
  ASSIGN_OR_RETURN(const std::string logdir, StringInput(ctx, 1, "logdir"));
  ASSIGN_OR_RETURN(const std::string suffix, StringInput(ctx, 4, "filename_suffix"));
  // The suffix may have slashes, too: the whole name is confined when the file is opened.
  ASSIGN_OR_RETURN(const std::string folder, ConfinedPath(ctx.resources(), logdir.empty() ? "." : logdir));
  return ctx.resources()
      ->LookupOrCreate<SummaryWriter>(
          handle.container, handle.name,
          [&]() -> StatusOr<Ref<SummaryWriter>> { return MakeRef<SummaryWriter>(folder, suffix); })
      .status();
}

Status FlushCpu(KernelContext& ctx) {
  ASSIGN_OR_RETURN(Ref<SummaryWriter> writer, ctx.ResourceInput<SummaryWriter>(0));
  return writer->writer.Flush();
}

Status CloseCpu(KernelContext& ctx) {
  ASSIGN_OR_RETURN(Ref<SummaryWriter> writer, ctx.ResourceInput<SummaryWriter>(0));
  RETURN_IF_ERROR(writer->writer.Close());
  const ResourceHandle& handle = ctx.input(0).data<ResourceHandle>()[0];
  return ctx.resources()->Delete<SummaryWriter>(handle.container, handle.name);
}

Status WriteSummaryCpu(KernelContext& ctx) {
  ASSIGN_OR_RETURN(Ref<SummaryWriter> writer, ctx.ResourceInput<SummaryWriter>(0));
  proto::Event event;
  ASSIGN_OR_RETURN(const int64_t step, StepInput(ctx));
  event.set_step(step);
  proto::Summary::Value* value = event.mutable_summary()->add_value();
  ASSIGN_OR_RETURN(*value->mutable_tag(), StringInput(ctx, 3, "tag"));
  ASSIGN_OR_RETURN(const std::string metadata, StringInput(ctx, 4, "summary_metadata"));
  if (!value->mutable_metadata()->ParseFromString(metadata)) {
    return errors::InvalidArgument("Could not parse serialized metadata.");
  }
  RETURN_IF_ERROR(SetSummaryTensor(ctx.input(2), value));
  return writer->writer.Write(std::move(event));
}

Status WriteRawProtoCpu(KernelContext& ctx) {
  ASSIGN_OR_RETURN(Ref<SummaryWriter> writer, ctx.ResourceInput<SummaryWriter>(0));
  ASSIGN_OR_RETURN(const int64_t step, StepInput(ctx));
  // Each string holds summary values of its own; they become one event.
  proto::Event event;
  event.set_step(step);
  for (const std::string& bytes : ctx.input(2).flat<std::string>()) {
    proto::Summary part;
    if (!part.ParseFromString(bytes)) return errors::InvalidArgument("Failed to deserialize summary");
    event.mutable_summary()->MergeFrom(part);
  }
  return writer->writer.Write(std::move(event));
}

// Writes an event with what `add` puts into its summary, for ops whose inputs begin with writer, step and tag.
template <typename Add>
Status WriteValues(KernelContext& ctx, Add add) {
  ASSIGN_OR_RETURN(Ref<SummaryWriter> writer, ctx.ResourceInput<SummaryWriter>(0));
  proto::Event event;
  ASSIGN_OR_RETURN(const int64_t step, StepInput(ctx));
  event.set_step(step);
  ASSIGN_OR_RETURN(const std::string tag, StringInput(ctx, 2, "tag"));
  RETURN_IF_ERROR(add(tag, event.mutable_summary()));
  return writer->writer.Write(std::move(event));
}

Status WriteScalarCpu(KernelContext& ctx) {
  const Tensor& number = ctx.input(3);
  if (number.num_elements() != 1) return errors::InvalidArgument("value must be a scalar");
  return WriteValues(ctx, [&](const std::string& tag, proto::Summary* summary) {
    proto::Summary::Value* value = summary->add_value();
    value->set_tag(tag);
    DispatchOver(RealTypes{}, number.dtype(), [&](auto type) {
      using T = typename decltype(type)::type;
      value->set_simple_value(static_cast<float>(number.scalar<T>()));
    });
    return OkStatus();
  });
}

Status WriteHistogramCpu(KernelContext& ctx) {
  return WriteValues(ctx, [&](const std::string& tag, proto::Summary* summary) {
    return AddHistogram(tag, ctx.input(3), tag, summary);
  });
}

class WriteImageSummary final : public Kernel {
 public:
  explicit WriteImageSummary(KernelInit& init) : max_images_(init.Attr<int64_t>("max_images")) {
    if (max_images_ >= int64_t{1} << 31) init.Fail(errors::InvalidArgument("max_images must be < 2^31"));
  }
  Status Compute(KernelContext& ctx) override {
    const Tensor& color = ctx.input(4);
    if (color.rank() != 1) {
      return errors::InvalidArgument("bad_color must be a vector, got shape ", color.shape().ToString());
    }
    const auto bytes = color.flat<uint8_t>();
    return WriteValues(ctx, [&](const std::string& tag, proto::Summary* summary) {
      return AddImages(tag, ctx.input(3), max_images_, std::vector<uint8_t>(bytes.begin(), bytes.end()), summary);
    });
  }

 private:
  const int64_t max_images_;
};

class WriteAudioSummary final : public Kernel {
 public:
  explicit WriteAudioSummary(KernelInit& init) : max_outputs_(init.Attr<int64_t>("max_outputs")) {}
  Status Compute(KernelContext& ctx) override {
    const Tensor& rate = ctx.input(4);
    if (rate.num_elements() != 1) return errors::InvalidArgument("sample_rate must be a scalar");
    return WriteValues(ctx, [&](const std::string& tag, proto::Summary* summary) {
      return AddAudio(tag, ctx.input(3), max_outputs_, rate.data<float>()[0], summary);
    });
  }

 private:
  const int64_t max_outputs_;
};

Status WriteGraphCpu(KernelContext& ctx) {
  ASSIGN_OR_RETURN(Ref<SummaryWriter> writer, ctx.ResourceInput<SummaryWriter>(0));
  proto::Event event;
  ASSIGN_OR_RETURN(const int64_t step, StepInput(ctx));
  event.set_step(step);
  ASSIGN_OR_RETURN(*event.mutable_graph_def(), StringInput(ctx, 2, "tensor"));
  return writer->writer.Write(std::move(event));
}

Status ImportEventCpu(KernelContext& ctx) {
  ASSIGN_OR_RETURN(Ref<SummaryWriter> writer, ctx.ResourceInput<SummaryWriter>(0));
  ASSIGN_OR_RETURN(const std::string bytes, StringInput(ctx, 1, "event"));
  proto::Event event;
  if (!event.ParseFromString(bytes))
    return errors::DataLoss("Bad tf.Event binary proto tensor string: ", bytes.size(), " bytes");
  return writer->writer.Write(std::move(event));
}

OP("SummaryWriter")
    .Output("writer: resource")
    .Attr("shared_name: string = ''")
    .Attr("container: string = ''")
    .Stateful()
    .Shape(ScalarShape)
    .NotDifferentiable()
    .Cpu<WriterHandle>()
    .Doc("A handle for a writer of event files.");

void WriterOp(OpBuilder& op) { op.Input("writer: resource").Stateful().Shape(NoOutputs).NotDifferentiable(); }

OP("CreateSummaryFileWriter")
    .With(WriterOp)
    .Input("logdir: string")
    .Input("max_queue: int32")
    .Input("flush_millis: int32")
    .Input("filename_suffix: string")
    .Cpu(CreateFileWriterCpu)
    .Doc("Makes the writer of a handle: events go to a new file in a folder.");
OP("FlushSummaryWriter").With(WriterOp).Cpu(FlushCpu).Doc("Brings what was written to the file.");
OP("CloseSummaryWriter").With(WriterOp).Cpu(CloseCpu).Doc("Flushes and ends a writer.");
OP("WriteSummary")
    .With(WriterOp)
    .Input("step: int64")
    .Input("tensor: T")
    .Input("tag: string")
    .Input("summary_metadata: string")
    .Attr("T: type")
    .Cpu(WriteSummaryCpu)
    .Doc("Writes a tensor as a summary.");
OP("WriteRawProtoSummary")
    .With(WriterOp)
    .Input("step: int64")
    .Input("tensor: string")
    .Cpu(WriteRawProtoCpu)
    .Doc("Writes serialized summaries.");
OP("WriteScalarSummary")
    .With(WriterOp)
    .Input("step: int64")
    .Input("tag: string")
    .Input("value: T")
    .Attr("T: realnumbertype")
    .Cpu(WriteScalarCpu)
    .Doc("Writes a number as a summary.");
OP("WriteHistogramSummary")
    .With(WriterOp)
    .Input("step: int64")
    .Input("tag: string")
    .Input("values: T")
    .Attr(
        "T: {float, double, int32, uint8, int16, int8, int64, bfloat16, uint16, half, uint32, uint64, bool} = "
        "DT_FLOAT")
    .Cpu(WriteHistogramCpu)
    .Doc("Writes the distribution of values as a summary.");
OP("WriteImageSummary")
    .With(WriterOp)
    .Input("step: int64")
    .Input("tag: string")
    .Input("tensor: T")
    .Input("bad_color: uint8")
    .Attr("max_images: int >= 1 = 3")
    .Attr("T: {uint8, double, float, half} = DT_FLOAT")
    .Cpu<WriteImageSummary>()
    .Doc("Writes images as a summary with PNG files.");
OP("WriteAudioSummary")
    .With(WriterOp)
    .Input("step: int64")
    .Input("tag: string")
    .Input("tensor: float")
    .Input("sample_rate: float")
    .Attr("max_outputs: int >= 1 = 3")
    .Cpu<WriteAudioSummary>()
    .Doc("Writes sounds as a summary with WAV files.");
OP("WriteGraphSummary")
    .With(WriterOp)
    .Input("step: int64")
    .Input("tensor: string")
    .Cpu(WriteGraphCpu)
    .Doc("Writes a serialized graph.");
OP("ImportEvent").With(WriterOp).Input("event: string").Cpu(ImportEventCpu).Doc("Writes a serialized event.");

}  // namespace
}  // namespace millstream
