// SPDX-License-Identifier: Apache-2.0
#include "absl/strings/match.h"
#include "millstream/framework/once_a_step.h"
#include "millstream/framework/op.h"
#include "millstream/ops/queues/staging_area.h"

namespace millstream {
namespace {

using Operation = StagingArea::Operation;

// Ops meet in the area of one name. Areas with keys, with and without order, and areas without keys are apart.
class AreaName {
 public:
  explicit AreaName(KernelInit& init)
      : container_(init.Attr<std::string>("container")), name_(init.Attr<std::string>("shared_name")) {
    if (name_.empty()) name_ = init.node_name();
    const bool ordered = absl::StartsWith(init.op().name, "Ordered");
    const bool keys = ordered || absl::StartsWith(init.op().name, "Map");
    name_ = (ordered ? "ordered_map/" : keys ? "map/" : "staging/") + name_;
    limits_.tuples = init.Attr<int64_t>("capacity");
    limits_.bytes = init.Attr<int64_t>("memory_limit");
  }
  StatusOr<Ref<StagingArea>> Find(const KernelContext& ctx) const {
    return ctx.resources()->LookupOrCreate<StagingArea>(
        container_, name_, [this]() -> StatusOr<Ref<StagingArea>> { return MakeRef<StagingArea>(limits_); });
  }

 private:
  const std::string container_;
  std::string name_;
  StagingArea::Limits limits_;
};

// An operation on an area: Read() says which, Write() sets the outputs from what it found.
class StagingOp : public AsyncOnceAStep {
 public:
  explicit StagingOp(KernelInit& init) : area_(init) {}
  void ComputeFrom(KernelContext& ctx, int64_t* /*progress*/, Done done) override {
    auto operation = std::make_shared<Operation>();
    if (Status status = Read(ctx, operation.get()); !status.ok()) return done(status);
    StatusOr<Ref<StagingArea>> area = area_.Find(ctx);
    if (!area.ok()) return done(area.status());
    (*area)->Submit(operation, ctx.cancellation(), ctx.step().pool,
                    [this, &ctx, operation, done = std::move(done)](Status status) {
                      if (status.ok()) status = Write(ctx, *operation);
                      done(status);
                    });
  }

 protected:
  virtual Status Read(KernelContext& ctx, Operation* operation) const = 0;
  virtual Status Write(KernelContext& ctx, Operation& operation) const = 0;

  // The values found, as outputs from `first` on.
  static Status WriteValues(KernelContext& ctx, Operation& operation, int first) {
    const int expected = ctx.num_outputs() - first;
    if (static_cast<int>(operation.values.size()) != expected) {
      return errors::InvalidArgument("Mismatch stage/unstage: ", operation.values.size(), " vs. ", expected);
    }
    for (int i = 0; i < expected; ++i) {
      if (operation.values[i].dtype() != ctx.output_dtype(first + i)) {
        return errors::InvalidArgument("Mismatch stage/unstage: value ", i, " is ",
                                       DTypeName(operation.values[i].dtype()), ", expected ",
                                       DTypeName(ctx.output_dtype(first + i)));
      }
    }
    for (int i = 0; i < expected; ++i) ctx.set_output(first + i, std::move(operation.values[i]));
    return OkStatus();
  }

 private:
  const AreaName area_;
};

class Stage final : public StagingOp {
 public:
  using StagingOp::StagingOp;

 protected:
  Status Read(KernelContext& ctx, Operation* operation) const override {
    operation->kind = Operation::Kind::kAppend;
    for (int i = 0; i < ctx.num_inputs(); ++i) operation->values.push_back(ctx.TakeInput(i));
    return OkStatus();
  }
  Status Write(KernelContext&, Operation&) const override { return OkStatus(); }
};

class Unstage final : public StagingOp {
 public:
  using StagingOp::StagingOp;

 protected:
  Status Read(KernelContext&, Operation* operation) const override {
    operation->kind = Operation::Kind::kTakeFirst;
    return OkStatus();
  }
  Status Write(KernelContext& ctx, Operation& operation) const override { return WriteValues(ctx, operation, 0); }
};

class StagePeek final : public StagingOp {
 public:
  using StagingOp::StagingOp;

 protected:
  Status Read(KernelContext& ctx, Operation* operation) const override {
    const Tensor& index = ctx.input(0);
    if (index.rank() != 0) return errors::InvalidArgument("index must be scalar");
    operation->kind = Operation::Kind::kPeekAt;
    operation->key = index.scalar<int32_t>();
    if (operation->key < 0) return errors::InvalidArgument("index must not be negative: ", operation->key);
    return OkStatus();
  }
  Status Write(KernelContext& ctx, Operation& operation) const override { return WriteValues(ctx, operation, 0); }
};

Status ReadKey(const Tensor& key, Operation* operation) {
  if (key.num_elements() != 1) return errors::InvalidArgument("key must be an int64 scalar: ", key.shape().ToString());
  operation->key = key.data<int64_t>()[0];
  return OkStatus();
}

Status ReadIndices(const Tensor& indices, Operation* operation) {
  operation->indices.assign(indices.data<int32_t>(), indices.data<int32_t>() + indices.num_elements());
  if (operation->indices.empty()) return errors::InvalidArgument("Indices are empty");
  return OkStatus();
}

class MapStage final : public StagingOp {
 public:
  explicit MapStage(KernelInit& init) : StagingOp(init), types_(init.Attr<std::vector<DType>>("dtypes")) {}

 protected:
  Status Read(KernelContext& ctx, Operation* operation) const override {
    operation->kind = Operation::Kind::kPut;
    operation->width = types_.size();
    RETURN_IF_ERROR(ReadKey(ctx.input(0), operation));
    RETURN_IF_ERROR(ReadIndices(ctx.input(1), operation));
    const size_t values = static_cast<size_t>(ctx.num_inputs()) - 2;
    if (values > types_.size()) {
      return errors::InvalidArgument("Number of inputs: ", values, ", exceeded the number of dtypes: ", types_.size());
    }
    if (values != operation->indices.size()) {
      return errors::InvalidArgument("Number of indices: ", operation->indices.size(),
                                     ", is not the number of values: ", values);
    }
    for (size_t i = 0; i < values; ++i) {
      const int32_t index = operation->indices[i];
      operation->values.push_back(ctx.TakeInput(static_cast<int>(i) + 2));
      if (index < 0 || index >= static_cast<int64_t>(types_.size())) continue;  // the area refuses it
      if (operation->values.back().dtype() != types_[index]) {
        return errors::InvalidArgument("Value ", i, " is ", DTypeName(operation->values.back().dtype()), ", expected ",
                                       DTypeName(types_[index]));
      }
    }
    return OkStatus();
  }
  Status Write(KernelContext&, Operation&) const override { return OkStatus(); }

 private:
  const std::vector<DType> types_;
};

template <Operation::Kind kKind>
class MapFind final : public StagingOp {
 public:
  using StagingOp::StagingOp;

 protected:
  Status Read(KernelContext& ctx, Operation* operation) const override {
    operation->kind = kKind;
    RETURN_IF_ERROR(ReadKey(ctx.input(0), operation));
    return ReadIndices(ctx.input(1), operation);
  }
  Status Write(KernelContext& ctx, Operation& operation) const override { return WriteValues(ctx, operation, 0); }
};
using MapPeek = MapFind<Operation::Kind::kPeek>;
using MapUnstage = MapFind<Operation::Kind::kTake>;

class MapUnstageNoKey final : public StagingOp {
 public:
  using StagingOp::StagingOp;

 protected:
  Status Read(KernelContext& ctx, Operation* operation) const override {
    operation->kind = Operation::Kind::kTakeFirst;
    return ReadIndices(ctx.input(0), operation);
  }
  Status Write(KernelContext& ctx, Operation& operation) const override {
    ctx.set_output(0, Tensor::Scalar(operation.key));
    return WriteValues(ctx, operation, 1);
  }
};

template <int64_t (StagingArea::*kCount)()>
class AreaSize final : public Kernel {
 public:
  explicit AreaSize(KernelInit& init) : area_(init) {}
  Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(Ref<StagingArea> area, area_.Find(ctx));
    ctx.set_output(0, Tensor::Scalar(static_cast<int32_t>(((*area).*kCount)())));
    return OkStatus();
  }

 private:
  const AreaName area_;
};

class AreaClear final : public Kernel, public OnceAStep {
 public:
  explicit AreaClear(KernelInit& init) : area_(init) {}
  Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(Ref<StagingArea> area, area_.Find(ctx));
    area->Clear();
    return OkStatus();
  }

 private:
  const AreaName area_;
};

void LimitAttrs(OpBuilder& op) { op.Attr("capacity: int >= 0 = 0").Attr("memory_limit: int >= 0 = 0"); }
void TypesAttr(OpBuilder& op) { op.Attr("dtypes: list(type) >= 1"); }
void AnyTypesAttr(OpBuilder& op) { op.Attr("dtypes: list(type)"); }
void StatefulWithNames(OpBuilder& op) { op.Attr("container: string = ''").Attr("shared_name: string = ''").Stateful(); }

OP("Stage")
    .Input("values: dtypes")
    .With(LimitAttrs)
    .With(TypesAttr)
    .With(StatefulWithNames)
    .Shape(NoOutputs)
    .Cpu<Stage>()
    .Doc("Puts values into a staging area; waits while it is full.");
OP("Unstage")
    .Output("values: dtypes")
    .With(LimitAttrs)
    .With(TypesAttr)
    .With(StatefulWithNames)
    .Shape(UnknownShape)
    .Cpu<Unstage>()
    .Doc("Takes the oldest values out of a staging area; waits while it is empty.");
OP("StagePeek")
    .Input("index: int32")
    .Output("values: dtypes")
    .With(LimitAttrs)
    .With(TypesAttr)
    .With(StatefulWithNames)
    .Shape(UnknownShape)
    .Cpu<StagePeek>()
    .Doc("The values at a place of a staging area, which stay there; waits until there are as many.");
OP("StageSize")
    .Output("size: int32")
    .With(LimitAttrs)
    .With(AnyTypesAttr)
    .With(StatefulWithNames)
    .Shape(ScalarShape)
    .Cpu<AreaSize<&StagingArea::size>>()
    .Doc("The number of tuples in a staging area.");
OP("StageClear")
    .With(LimitAttrs)
    .With(AnyTypesAttr)
    .With(StatefulWithNames)
    .Shape(NoOutputs)
    .Cpu<AreaClear>()
    .Doc("Empties a staging area.");

#define MAP_OPS(Name)                                                                                    \
  OP(Name "Stage")                                                                                       \
      .Input("key: int64")                                                                               \
      .Input("indices: int32")                                                                           \
      .Input("values: fake_dtypes")                                                                      \
      .With(LimitAttrs)                                                                                  \
      .With(AnyTypesAttr)                                                                                \
      .Attr("fake_dtypes: list(type) >= 1")                                                              \
      .With(StatefulWithNames)                                                                           \
      .Shape(NoOutputs)                                                                                  \
      .Cpu<MapStage>()                                                                                   \
      .Doc("Puts values under a key into a staging area, all at once or some; waits while it is full."); \
  OP(Name "Peek")                                                                                        \
      .Input("key: int64")                                                                               \
      .Input("indices: int32")                                                                           \
      .Output("values: dtypes")                                                                          \
      .With(LimitAttrs)                                                                                  \
      .With(TypesAttr)                                                                                   \
      .With(StatefulWithNames)                                                                           \
      .Shape(UnknownShape)                                                                               \
      .Cpu<MapPeek>()                                                                                    \
      .Doc("The values under a key of a staging area, which stay there; waits until the key is there."); \
  OP(Name "Unstage")                                                                                     \
      .Input("key: int64")                                                                               \
      .Input("indices: int32")                                                                           \
      .Output("values: dtypes")                                                                          \
      .With(LimitAttrs)                                                                                  \
      .With(TypesAttr)                                                                                   \
      .With(StatefulWithNames)                                                                           \
      .Shape(UnknownShape)                                                                               \
      .Cpu<MapUnstage>()                                                                                 \
      .Doc("Takes the values under a key out of a staging area; waits until the key is there.");         \
  OP(Name "UnstageNoKey")                                                                                \
      .Input("indices: int32")                                                                           \
      .Output("key: int64")                                                                              \
      .Output("values: dtypes")                                                                          \
      .With(LimitAttrs)                                                                                  \
      .With(TypesAttr)                                                                                   \
      .With(StatefulWithNames)                                                                           \
      .Shape(UnknownShape)                                                                               \
      .Cpu<MapUnstageNoKey>()                                                                            \
      .Doc("Takes the smallest key and its values out of a staging area; waits while it is empty.");     \
  OP(Name "Size")                                                                                        \
      .Output("size: int32")                                                                             \
      .With(LimitAttrs)                                                                                  \
      .With(AnyTypesAttr)                                                                                \
      .With(StatefulWithNames)                                                                           \
      .Shape(ScalarShape)                                                                                \
      .Cpu<AreaSize<&StagingArea::size>>()                                                               \
      .Doc("The number of keys whose tuples are whole.");                                                \
  OP(Name "IncompleteSize")                                                                              \
      .Output("size: int32")                                                                             \
      .With(LimitAttrs)                                                                                  \
      .With(AnyTypesAttr)                                                                                \
      .With(StatefulWithNames)                                                                           \
      .Shape(ScalarShape)                                                                                \
      .Cpu<AreaSize<&StagingArea::incomplete_size>>()                                                    \
      .Doc("The number of keys whose tuples lack values.");                                              \
  OP(Name "Clear")                                                                                       \
      .With(LimitAttrs)                                                                                  \
      .With(AnyTypesAttr)                                                                                \
      .With(StatefulWithNames)                                                                           \
      .Shape(NoOutputs)                                                                                  \
      .Cpu<AreaClear>()                                                                                  \
      .Doc("Empties a staging area with keys.")

MAP_OPS("Map");
MAP_OPS("OrderedMap");

}  // namespace
}  // namespace millstream
