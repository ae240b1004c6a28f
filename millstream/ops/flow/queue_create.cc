// SPDX-License-Identifier: Apache-2.0
#include "absl/strings/match.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "millstream/framework/op.h"
#include "millstream/ops/flow/handle.h"
#include "millstream/ops/flow/queue.h"

namespace millstream {
namespace {

std::string TypeNames(const std::vector<DType>& types) {
  return absl::StrJoin(types, ", ", [](std::string* out, DType t) { out->append(DTypeName(t)); });
}

std::string ShapeNames(const std::vector<PartialShape>& shapes) {
  return absl::StrCat(
      "[", absl::StrJoin(shapes, ",", [](std::string* out, const PartialShape& s) { out->append(s.ToString()); }), "]");
}

// Finds or makes the queue, and keeps its handle until the container is reset.
// A queue without a shared name belongs to this kernel alone.
class QueueOp final : public Kernel {
 public:
  explicit QueueOp(KernelInit& init)
      : resources_(init.resources()),
        string_handle_(!absl::EndsWith(init.op().name, "V2")),
        container_(init.Attr<std::string>("container")),
        name_(init.Attr<std::string>("shared_name")),
        private_(name_.empty()) {
    if (container_.empty()) container_ = resources_->default_container();
    if (private_) name_ = absl::StrCat(resources_->UniqueName(""), "_", init.node_name());
    options_.kind = std::string(absl::StripSuffix(init.op().name, "V2"));
    options_.name = name_;
    if (init.device() != nullptr) options_.device = init.device()->name();
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

  ~QueueOp() override {
    if (private_) (void)resources_->Delete<Queue>(container_, name_);
  }

  Status Compute(KernelContext& ctx) override {
    MutexLock lock(mu_);
    if (!queue_ || !queue_->alive()) RETURN_IF_ERROR(Find(ctx));
    if (string_handle_)
      ctx.set_output_ref(0, strings_);
    else
      ctx.set_output(0, handle_);
    return OkStatus();
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

  Status Find(KernelContext& ctx) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    ASSIGN_OR_RETURN(queue_,
                     ctx.resources()->LookupOrCreate<Queue>(container_, name_, [this]() -> StatusOr<Ref<Queue>> {
                       return MakeRef<Queue>(options_, MakeStore());
                     }));
    if (Status status = CheckShared(queue_->options()); !status.ok()) {
      queue_ = nullptr;
      return status;
    }
    strings_ = MakeStringHandle(container_, name_);
    handle_ = MakeHandle(*ctx.device(), container_, name_, "N10tensorflow14QueueInterfaceE", queue_);
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
      return errors::InvalidArgument("Shared queue '", name_, "' has capacity ", found.capacity,
                                     " but requested capacity was ", options_.capacity);
    }
    if (found.min_after_dequeue != options_.min_after_dequeue) {
      return errors::InvalidArgument("Shared queue '", name_, "' has min_after_dequeue ", found.min_after_dequeue,
                                     " but requested min_after_dequeue was ", options_.min_after_dequeue, ".");
    }
    const bool seeded = options_.seed != 0 || options_.seed2 != 0;
    if (seeded && (found.seed != options_.seed || found.seed2 != options_.seed2)) {
      return errors::InvalidArgument("Shared queue '", name_, "' has random seeds (", found.seed, ", ", found.seed2,
                                     ") but requested seeds are (", options_.seed, ", ", options_.seed2, ").");
    }
    if (found.types != options_.types) {
      return errors::InvalidArgument("Shared queue '", name_, "' has component types ", TypeNames(found.types),
                                     " but requested component types were ", TypeNames(options_.types));
    }
    if (found.shapes != options_.shapes) {
      return errors::InvalidArgument("Shared queue '", name_, "' has component shapes ", ShapeNames(found.shapes),
                                     " but requested component shapes were ", ShapeNames(options_.shapes));
    }
    return OkStatus();
  }

  ResourceManager* const resources_;
  const bool string_handle_;
  std::string container_;
  std::string name_;
  const bool private_;
  Queue::Options options_;
  Mutex mu_;
  Ref<Queue> queue_ ABSL_GUARDED_BY(mu_);
  Ref<Variable> strings_ ABSL_GUARDED_BY(mu_);
  Tensor handle_ ABSL_GUARDED_BY(mu_);
};

Status StringHandleShape(ShapeContext& c) {
  c.set_output(0, PartialShape({2}));
  return OkStatus();
}

#define QUEUE_NAMES .Attr("container: string = ''").Attr("shared_name: string = ''").Stateful()
#define QUEUE_OPS(Name, attrs, doc)                                                                      \
  OP(Name "V2").Output("handle: resource") attrs QUEUE_NAMES.Shape(ScalarShape).Cpu<QueueOp>().Doc(doc); \
  OP(Name).Output("handle: Ref(string)") attrs QUEUE_NAMES.Shape(StringHandleShape).Cpu<QueueOp>().Doc(doc)

QUEUE_OPS("FIFOQueue",
          .Attr("component_types: list(type) >= 1").Attr("shapes: list(shape) >= 0 = []").Attr("capacity: int = -1"),
          "A queue: first in, first out.");
QUEUE_OPS("PaddingFIFOQueue",
          .Attr("component_types: list(type) >= 1").Attr("shapes: list(shape) >= 0 = []").Attr("capacity: int = -1"),
          "A queue whose elements may differ in size: batches are padded with "
          "zeros.");
QUEUE_OPS("RandomShuffleQueue",
          .Attr("component_types: list(type) >= 1")
              .Attr("shapes: list(shape) >= 0 = []")
              .Attr("capacity: int = -1")
              .Attr("min_after_dequeue: int = 0")
              .Attr("seed: int = 0")
              .Attr("seed2: int = 0"),
          "A queue that gives its elements in random order.");
QUEUE_OPS("PriorityQueue",
          .Attr("component_types: list(type) >= 0 = []").Attr("shapes: list(shape) >= 0").Attr("capacity: int = -1"),
          "A queue that gives the element with the smallest first component first.");
#undef QUEUE_OPS
#undef QUEUE_NAMES

}  // namespace
}  // namespace millstream
