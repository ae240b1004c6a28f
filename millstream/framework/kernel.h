// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_FRAMEWORK_KERNEL_H_
#define MILLSTREAM_FRAMEWORK_KERNEL_H_

#include <atomic>
#include <chrono>
#include <functional>
#include <initializer_list>
#include <string>
#include <vector>

#include "millstream/base/cancellation.h"
#include "millstream/base/thread_pool.h"
#include "millstream/framework/attr_value.h"
#include "millstream/framework/device.h"
#include "millstream/framework/function_runner.h"
#include "millstream/framework/resource_manager.h"
#include "millstream/framework/variable.h"

namespace millstream {

struct OpDef;
class ResourceManager;

// What every kernel of one running step shares.
struct StepContext {
  int64_t step_id = 0;
  ResourceManager* resources = nullptr;       // of the task or session
  ResourceManager* step_resources = nullptr;  // stacks, TensorArrays: gone with the step
  Cancellation* cancellation = nullptr;
  std::chrono::steady_clock::time_point deadline = std::chrono::steady_clock::time_point::max();
  FunctionRunner* functions = nullptr;
  ThreadPool* pool = nullptr;                 // inter-op: for continuations and background work
  class StepStatsCollector* stats = nullptr;  // null unless traced
  class StepExchange* exchange = nullptr;     // where _Send and _Recv meet other tasks; null in one process
};

// What an edge carries: a tensor, or a reference to a variable. `uses` counts the consumers that have not finished.
struct Entry {
  Tensor tensor;
  Ref<Variable> ref;
  std::atomic<int32_t> uses{0};
  bool dead = false;  // on a branch not taken
};

// What a kernel sees when it is made: node name, attributes, types, device. Attr getters record the first error and
// the making fails with it.
class KernelInit {
 public:
  KernelInit(const OpDef& op, const std::string& node_name, const AttrMap& attrs, Device* device,
             ResourceManager* resources, FunctionRunner* functions, std::vector<DType> input_types,
             std::vector<DType> output_types)
      : op_(op),
        node_name_(node_name),
        attrs_(attrs),
        device_(device),
        resources_(resources),
        functions_(functions),
        input_types_(std::move(input_types)),
        output_types_(std::move(output_types)) {}

  const OpDef& op() const { return op_; }
  const std::string& node_name() const { return node_name_; }
  const AttrMap& attrs() const { return attrs_; }
  Device* device() const { return device_; }
  ResourceManager* resources() const { return resources_; }
  FunctionRunner* functions() const { return functions_; }
  const std::vector<DType>& input_types() const { return input_types_; }
  const std::vector<DType>& output_types() const { return output_types_; }

  // T: bool, int, int64_t, float, DType, std::string, PartialShape, Tensor, NameAttrList, or std::vector of those.
  template <typename T>
  T Attr(absl::string_view name) {
    T value{};
    Check(attrs_.Get(name, &value));
    return value;
  }
  bool HasAttr(absl::string_view name) const { return attrs_.Has(name); }
  // The range of single inputs (outputs) that the declared one `name` covers.
  void InputRange(absl::string_view name, int* begin, int* end);
  void OutputRange(absl::string_view name, int* begin, int* end);
  void Fail(Status status) { Check(std::move(status)); }
  void Check(Status status) {
    if (status_.ok()) status_ = std::move(status);
  }
  const Status& status() const { return status_; }

 private:
  const OpDef& op_;
  const std::string& node_name_;
  const AttrMap& attrs_;
  Device* device_;
  ResourceManager* resources_;
  FunctionRunner* functions_;
  std::vector<DType> input_types_;
  std::vector<DType> output_types_;
  Status status_;
};

// One invocation of a kernel: its inputs, where its outputs go, and the step around it. Made by the executor; lives
// until the kernel returns (or, for an AsyncKernel, calls done). Not thread-safe.
class KernelContext {
 public:
  // For executors: pointers into their own arrays.
  struct Frame {
    const StepContext* step;
    Device* device;
    const OpDef* op;
    const std::string* node_name;
    Entry* const* inputs;
    Tensor* derefs;  // snapshots of inputs that are references but are read as values; null if there are none
    int num_inputs;
    Entry* outputs;
    const DType* output_types;
    int num_outputs;
    int64_t frame_iter = 0;  // distinguishes iterations of a loop
    uint64_t tag = 0;        // the same across tasks, and unique in the step; 0 outside loops
    bool dead = false;  // some input is on a branch not taken; seen by transfers alone, other kernels do not run then
  };
  explicit KernelContext(const Frame& frame) : f_(frame) {}

  // Inputs.
  int num_inputs() const { return f_.num_inputs; }
  const Tensor& input(int i) const {
    const Entry* e = f_.inputs[i];
    return e->ref ? f_.derefs[i] : e->tensor;
  }
  DType input_dtype(int i) const { return input(i).dtype(); }
  // REQUIRES: the op declares input i as Ref(..).
  Variable& ref_input(int i) const { return *f_.inputs[i]->ref; }
  bool input_is_ref(int i) const { return static_cast<bool>(f_.inputs[i]->ref); }
  const Ref<Variable>& input_ref(int i) const { return f_.inputs[i]->ref; }

  // Outputs. Each must be set exactly once, by one of these; a kernel that may leave some empty says so by dead
  // branches.
  int num_outputs() const { return f_.num_outputs; }
  DType output_dtype(int i) const { return RemoveRef(f_.output_types[i]); }
  StatusOr<Tensor*> AllocateOutput(int i, const Shape& shape);
  // As AllocateOutput(), but takes over the buffer of the first input in `candidates` that has the same type and size
  // in bytes and that nobody else needs. The result may alias that input: write element k only after reading element k.
  StatusOr<Tensor*> ForwardOrAllocate(std::initializer_list<int> candidates, int i, const Shape& shape);
  void set_output(int i, Tensor tensor) { f_.outputs[i].tensor = std::move(tensor); }
  void set_output_ref(int i, Ref<Variable> ref) { f_.outputs[i].ref = std::move(ref); }
  Tensor* output(int i) { return &f_.outputs[i].tensor; }
  // Output i is on a branch not taken (Switch).
  void set_output_dead(int i) { f_.outputs[i].dead = true; }
  // Input i as a tensor of one's own: moved out where this is the last use, shared otherwise.
  Tensor TakeInput(int i);
  // True if this kernel may write into the buffer of input i.
  bool InputIsExclusive(int i) const;

  // Scratch memory, from the device's cache.
  StatusOr<Tensor> AllocateTemp(DType dtype, const Shape& shape) {
    return Tensor::Make(dtype, shape, f_.device->allocator());
  }

  // Threads: splits [0, total) where it pays; `cost` is nanoseconds per unit.
  ThreadPool* pool() const { return f_.device->pool(); }
  void ParallelFor(int64_t total, double cost, absl::FunctionRef<void(int64_t, int64_t)> body,
                   int64_t align = 1) const {
    f_.device->pool()->ParallelFor(total, cost, body, align);
  }

  const StepContext& step() const { return *f_.step; }
  ResourceManager* resources() const { return f_.step->resources; }
  ResourceManager* step_resources() const { return f_.step->step_resources; }
  Cancellation* cancellation() const { return f_.step->cancellation; }
  Device* device() const { return f_.device; }
  const OpDef& op() const { return *f_.op; }
  const std::string& node_name() const { return *f_.node_name; }
  int64_t frame_iter() const { return f_.frame_iter; }
  uint64_t tag() const { return f_.tag; }
  bool dead() const { return f_.dead; }

  // The resource behind handle input i: straight through its pointer where it has one, by name otherwise.
  // NotFound if it is gone or of another type.
  template <typename T>
  StatusOr<Ref<T>> ResourceInput(int i) const;

 private:
  Frame f_;
};

// The code of a node. Made once per node (per session for stateful ops) and then called by many steps at once:
// Compute() must be thread-safe, so members are constant after construction or locked.
class Kernel {
 public:
  virtual ~Kernel() = default;
  // An error gets the node's name in front from the executor; say what is wrong, not where.
  virtual Status Compute(KernelContext& ctx) = 0;
};

// A kernel that may have to wait. ComputeAsync() never blocks: it parks `done` and returns; `done` is called exactly
// once, on any thread, also when the step is cancelled (register with ctx.cancellation()). `ctx` lives until then.
class AsyncKernel : public Kernel {
 public:
  using Done = std::function<void(Status)>;
  virtual void ComputeAsync(KernelContext& ctx, Done done) = 0;
  Status Compute(KernelContext& ctx) final;  // waits; only for callers that may block
};

template <typename T>
StatusOr<Ref<T>> KernelContext::ResourceInput(int i) const {
  const Tensor& t = input(i);
  if (t.dtype() != DType::kResource || t.num_elements() != 1) {
    return errors::InvalidArgument("input ", i, " must be a scalar resource handle");
  }
  const ResourceHandle& handle = t.data<ResourceHandle>()[0];
  if (handle.resource) {
    auto* typed = dynamic_cast<T*>(handle.resource.get());
    if (typed == nullptr) {
      return errors::InvalidArgument("Trying to access resource ", handle.name, " as a type it does not have");
    }
    if (handle.resource->alive()) return Ref<T>::Share(typed);
  }
  auto found = f_.step->resources->template Lookup<T>(handle.container, handle.name);
  if (!found.ok() && f_.step->step_resources != nullptr) {
    auto in_step = f_.step->step_resources->template Lookup<T>(handle.container, handle.name);
    if (in_step.ok()) return in_step;
  }
  return found;
}

}  // namespace millstream

#endif  // MILLSTREAM_FRAMEWORK_KERNEL_H_
