// SPDX-License-Identifier: Apache-2.0
#include "absl/strings/strip.h"
#include "millstream/framework/op.h"
#include "millstream/ops/queues/queue.h"
#include "millstream/ops/resources/named_resource.h"

namespace millstream {
namespace {

class QueueOp final : public Kernel {
 public:
  explicit QueueOp(KernelInit& init) : queue_(init, "N10tensorflow14QueueInterfaceE") {
    options_.kind = std::string(absl::StripSuffix(init.op().name, "V2"));
    options_.name = queue_.name();
    if (init.device() != nullptr) options_.device = init.device()->name();
    options_.census = Census::Of(init.resources());
    options_.types = init.Attr<std::vector<DType>>("component_types");
    options_.shapes = init.Attr<std::vector<PartialShape>>("shapes");
    options_.capacity = init.Attr<int64_t>("capacity");
    options_.pad = options_.kind == "PaddingFIFOQueue";
    if (options_.kind == "PriorityQueue") {
      options_.types.insert(options_.types.begin(), DType::kInt64);
      if (!options_.shapes.empty()) options_.shapes.insert(options_.shapes.begin(), PartialShape(Shape()));
    }
    if (options_.kind == "RandomShuffleQueue") {
      options_.min_after_dequeue = init.Attr<int64_t>("min_after_dequeue");
      options_.seed = init.Attr<int64_t>("seed");
      options_.seed2 = init.Attr<int64_t>("seed2");
    }
    init.Check(CheckOptions());
  }

  Status Compute(KernelContext& ctx) override {
    return queue_.Output(
        ctx, [this] { return MakeRef<Queue>(options_, MakeStore()); },
        [this](const Queue& found) { return CheckShared(found.options()); });
  }

 private:
  Status CheckOptions() const {
    const size_t types = options_.types.size(), shapes = options_.shapes.size();
    if (shapes != types && (options_.pad || shapes != 0)) {
      return errors::InvalidArgument("Shapes must be provided for all components, but received ", types, " dtypes and ",
                                     shapes, " shapes.");
    }
    for (const PartialShape& shape : options_.shapes) {
      if (!options_.pad && !shape.IsFullyDefined()) {
        return errors::InvalidArgument("component shapes must be fully defined: ", shape.ToString());
      }
      if (options_.pad && !shape.rank_known())
        return errors::InvalidArgument("component shapes must have a known rank");
    }
    if (options_.min_after_dequeue < 0) {
      return errors::InvalidArgument("min_after_dequeue ", options_.min_after_dequeue, " must be >= 0");
    }
    if (options_.capacity >= 0 && options_.min_after_dequeue >= options_.capacity && options_.min_after_dequeue > 0) {
      return errors::InvalidArgument("min_after_dequeue ", options_.min_after_dequeue, " must be less than capacity ",
                                     options_.capacity);
    }
    return OkStatus();
  }

  std::unique_ptr<QueueStore> MakeStore() const {
    if (options_.kind == "RandomShuffleQueue") return std::make_unique<ShuffleStore>(options_.seed, options_.seed2);
    if (options_.kind == "PriorityQueue") return std::make_unique<PriorityStore>();
    return std::make_unique<FifoStore>();
  }

  Status CheckShared(const Queue::Options& found) const {
    if (found.kind != options_.kind) return errors::InvalidArgument("Expected ", options_.kind, ", found ", found.kind);
    if (found.capacity != options_.capacity) {
      return errors::InvalidArgument("Shared queue '", options_.name, "' has capacity ", found.capacity,
                                     " but requested capacity was ", options_.capacity);
    }
    if (found.min_after_dequeue != options_.min_after_dequeue) {
      return errors::InvalidArgument("Shared queue '", options_.name, "' has min_after_dequeue ",
                                     found.min_after_dequeue, " but requested min_after_dequeue was ",
                                     options_.min_after_dequeue, ".");
    }
    const bool seeded = options_.seed != 0 || options_.seed2 != 0;
    if (seeded && (found.seed != options_.seed || found.seed2 != options_.seed2)) {
      return errors::InvalidArgument("Shared queue '", options_.name, "' has random seeds (", found.seed, ", ",
                                     found.seed2, ") but requested seeds are (", options_.seed, ", ", options_.seed2,
                                     ").");
    }
    if (found.types != options_.types) {
      return errors::InvalidArgument("Shared queue '", options_.name, "' has component types ", TypeNames(found.types),
                                     " but requested component types were ", TypeNames(options_.types));
    }
    if (found.shapes != options_.shapes) {
      return errors::InvalidArgument("Shared queue '", options_.name, "' has component shapes ",
                                     ShapeNames(found.shapes), " but requested component shapes were ",
                                     ShapeNames(options_.shapes));
    }
    return OkStatus();
  }

  Queue::Options options_;
  NamedResource<Queue> queue_;
};

// Each op exists with a resource handle, and under its older name with a reference to a handle of strings.
void MakesHandle(OpBuilder& op) { op.Output("handle: resource").Shape(ScalarShape); }
void MakesReference(OpBuilder& op) { op.Output("handle: Ref(string)").Shape(StringHandleShape); }

void QueueEnd(OpBuilder& op) {
  op.Attr("container: string = ''").Attr("shared_name: string = ''").Stateful().Cpu<QueueOp>();
}
void FifoAttrs(OpBuilder& op) {
  op.Attr("component_types: list(type) >= 1").Attr("shapes: list(shape) >= 0 = []").Attr("capacity: int = -1");
}

void FifoQueueOp(OpBuilder& op) { op.With(FifoAttrs).With(QueueEnd).Doc("A queue: first in, first out."); }
OP("FIFOQueueV2").With(MakesHandle).With(FifoQueueOp);
OP("FIFOQueue").With(MakesReference).With(FifoQueueOp);

void PaddingFifoQueueOp(OpBuilder& op) {
  op.With(FifoAttrs).With(QueueEnd).Doc("A queue whose elements may differ in size: batches are padded with zeros.");
}
OP("PaddingFIFOQueueV2").With(MakesHandle).With(PaddingFifoQueueOp);
OP("PaddingFIFOQueue").With(MakesReference).With(PaddingFifoQueueOp);

void RandomShuffleQueueOp(OpBuilder& op) {
  op.With(FifoAttrs)
      .Attr("min_after_dequeue: int = 0")
      .Attr("seed: int = 0")
      .Attr("seed2: int = 0")
      .With(QueueEnd)
      .Doc("A queue that gives its elements in random order.");
}
OP("RandomShuffleQueueV2").With(MakesHandle).With(RandomShuffleQueueOp);
OP("RandomShuffleQueue").With(MakesReference).With(RandomShuffleQueueOp);

void PriorityQueueOp(OpBuilder& op) {
  op.Attr("component_types: list(type) >= 0 = []")
      .Attr("shapes: list(shape) >= 0")
      .Attr("capacity: int = -1")
      .With(QueueEnd)
      .Doc("A queue that gives the element with the smallest first component first.");
}
OP("PriorityQueueV2").With(MakesHandle).With(PriorityQueueOp);
OP("PriorityQueue").With(MakesReference).With(PriorityQueueOp);

}  // namespace
}  // namespace millstream
