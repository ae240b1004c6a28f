// SPDX-License-Identifier: Apache-2.0
#include "millstream/framework/once_a_step.h"
#include "millstream/framework/op.h"
#include "millstream/ops/data/dataset.h"
#include "millstream/ops/reader/reader.h"
#include "millstream/ops/resources/handle.h"

namespace millstream {
namespace {

// A file is read for as long as a few records take; on the pool, not on the executor's path.
class ReaderRead final : public AsyncOnceAStep {
 public:
  explicit ReaderRead(KernelInit&) {}
  void ComputeFrom(KernelContext& ctx, int64_t* /*progress*/, Done done) override {
    StatusOr<Ref<Reader>> reader = HandleInput<Reader>(ctx, 0);
    if (!reader.ok()) return done(reader.status());
    StatusOr<Ref<Queue>> queue = HandleInput<Queue>(ctx, 1);
    if (!queue.ok()) return done(queue.status());
    (*reader)->Read(*queue, 1, {ctx.cancellation(), ctx.step().pool},
                    [&ctx, done = std::move(done)](StatusOr<Reader::Records> records) {
                      if (!records.ok()) return done(records.status());
                      ctx.set_output(0, Tensor::Scalar(records->front().first));
                      ctx.set_output(1, Tensor::Scalar(records->front().second));
                      done(OkStatus());
                    });
  }
};

class ReaderReadUpTo final : public AsyncOnceAStep {
 public:
  explicit ReaderReadUpTo(KernelInit&) {}
  void ComputeFrom(KernelContext& ctx, int64_t* /*progress*/, Done done) override {
    StatusOr<Ref<Reader>> reader = HandleInput<Reader>(ctx, 0);
    if (!reader.ok()) return done(reader.status());
    StatusOr<Ref<Queue>> queue = HandleInput<Queue>(ctx, 1);
    if (!queue.ok()) return done(queue.status());
    const StatusOr<int64_t> wanted = ScalarInput<int64_t>(ctx, 2, "num_records");
    if (!wanted.ok()) return done(wanted.status());
    if (*wanted <= 0) return done(errors::InvalidArgument("num_records must be positive, got ", *wanted));
    (*reader)->Read(*queue, *wanted, {ctx.cancellation(), ctx.step().pool},
                    [&ctx, done = std::move(done)](StatusOr<Reader::Records> records) {
                      done(records.ok() ? SetOutputs(ctx, *std::move(records)) : records.status());
                    });
  }

 private:
  static Status SetOutputs(KernelContext& ctx, Reader::Records records) {
    const Shape shape({static_cast<int64_t>(records.size())});
    ASSIGN_OR_RETURN(Tensor * keys, ctx.AllocateOutput(0, shape));
    ASSIGN_OR_RETURN(Tensor * values, ctx.AllocateOutput(1, shape));
    for (size_t i = 0; i < records.size(); ++i) {
      keys->data<std::string>()[i] = std::move(records[i].first);
      values->data<std::string>()[i] = std::move(records[i].second);
    }
    return OkStatus();
  }
};

Status NumRecordsCpu(KernelContext& ctx) {
  ASSIGN_OR_RETURN(Ref<Reader> reader, HandleInput<Reader>(ctx, 0));
  ctx.set_output(0, Tensor::Scalar<int64_t>(reader->records_produced()));
  return OkStatus();
}

Status NumUnitsCpu(KernelContext& ctx) {
  ASSIGN_OR_RETURN(Ref<Reader> reader, HandleInput<Reader>(ctx, 0));
  ctx.set_output(0, Tensor::Scalar<int64_t>(reader->units_completed()));
  return OkStatus();
}

Status ResetCpu(KernelContext& ctx) {
  ASSIGN_OR_RETURN(Ref<Reader> reader, HandleInput<Reader>(ctx, 0));
  return reader->Reset();
}

Status SerializeStateCpu(KernelContext& ctx) {
  ASSIGN_OR_RETURN(Ref<Reader> reader, HandleInput<Reader>(ctx, 0));
  ASSIGN_OR_RETURN(const std::string state, reader->SerializeState());
  ctx.set_output(0, Tensor::Scalar(state));
  return OkStatus();
}

Status RestoreStateCpu(KernelContext& ctx) {
  ASSIGN_OR_RETURN(Ref<Reader> reader, HandleInput<Reader>(ctx, 0));
  const Tensor& state = ctx.input(1);
  if (state.rank() != 0) {
    return errors::InvalidArgument("Reader state must be scalar, but had shape: ", state.shape().ToString());
  }
  return reader->RestoreState(state.scalar<std::string>());
}

Status RestoreShape(ShapeContext& c) {
  PartialShape unused;
  return ShapeContext::WithRank(c.input(1), 0, &unused);
}

Status UpToShape(ShapeContext& c) {
  c.set_output(0, PartialShape({-1}));
  c.set_output(1, PartialShape({-1}));
  return OkStatus();
}

// Each op exists with a resource handle, and under its older name with a reference to a handle of strings.
void OnHandle(OpBuilder& op) { op.Input("reader_handle: resource").Stateful().NotDifferentiable(); }
void OnReference(OpBuilder& op) { op.Input("reader_handle: Ref(string)").NotDifferentiable(); }

void ReadOp(OpBuilder& op) {
  op.Output("key: string")
      .Output("value: string")
      .Shape(ScalarShape)
      .Cpu<ReaderRead>()
      .Doc("The next record of a reader, which takes its work from a queue.");
}
OP("ReaderReadV2").With(OnHandle).Input("queue_handle: resource").With(ReadOp);
OP("ReaderRead").With(OnReference).Input("queue_handle: Ref(string)").With(ReadOp);

void ReadUpToOp(OpBuilder& op) {
  op.Input("num_records: int64")
      .Output("keys: string")
      .Output("values: string")
      .Shape(UpToShape)
      .Cpu<ReaderReadUpTo>()
      .Doc("The next records of a reader, at least one and at most so many.");
}
OP("ReaderReadUpToV2").With(OnHandle).Input("queue_handle: resource").With(ReadUpToOp);
OP("ReaderReadUpTo").With(OnReference).Input("queue_handle: Ref(string)").With(ReadUpToOp);

void NumRecordsOp(OpBuilder& op) {
  op.Output("records_produced: int64")
      .Shape(ScalarShape)
      .Cpu(NumRecordsCpu)
      .Doc("How many records a reader has given.");
}
OP("ReaderNumRecordsProducedV2").With(OnHandle).With(NumRecordsOp);
OP("ReaderNumRecordsProduced").With(OnReference).With(NumRecordsOp);

void NumUnitsOp(OpBuilder& op) {
  op.Output("units_completed: int64")
      .Shape(ScalarShape)
      .Cpu(NumUnitsCpu)
      .Doc("How many work units a reader has finished.");
}
OP("ReaderNumWorkUnitsCompletedV2").With(OnHandle).With(NumUnitsOp);
OP("ReaderNumWorkUnitsCompleted").With(OnReference).With(NumUnitsOp);

void SerializeStateOp(OpBuilder& op) {
  op.Output("state: string")
      .Shape(ScalarShape)
      .Cpu(SerializeStateCpu)
      .Doc("What a reader needs to know to go on later.");
}
OP("ReaderSerializeStateV2").With(OnHandle).With(SerializeStateOp);
OP("ReaderSerializeState").With(OnReference).With(SerializeStateOp);

void RestoreStateOp(OpBuilder& op) {
  op.Input("state: string")
      .Shape(RestoreShape)
      .Cpu<OnceAStepFunction<RestoreStateCpu>>()
      .Doc("Puts a reader into a state that ReaderSerializeState gave.");
}
OP("ReaderRestoreStateV2").With(OnHandle).With(RestoreStateOp);
OP("ReaderRestoreState").With(OnReference).With(RestoreStateOp);

void ResetOp(OpBuilder& op) {
  op.Shape(NoOutputs).Cpu<OnceAStepFunction<ResetCpu>>().Doc("Puts a reader back to its beginning.");
}
OP("ReaderResetV2").With(OnHandle).With(ResetOp);
OP("ReaderReset").With(OnReference).With(ResetOp);

}  // namespace
}  // namespace millstream
