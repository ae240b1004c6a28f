// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_RUNTIME_PLAN_H_
#define MILLSTREAM_RUNTIME_PLAN_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "millstream/base/mutex.h"
#include "millstream/base/thread_policy.h"
#include "millstream/framework/kernel.h"
#include "millstream/graph/graph.h"

namespace millstream {

class RecordedSteps;
class RunState;

// What a node is to the executors; anything but kOp appears only in plans with control flow.
enum class NodeKind : uint8_t {
  kOp,
  kSwitch,
  kMerge,
  kEnter,
  kConstantEnter,
  kExit,
  kNextIteration,
  kControlTrigger,
  kSend,
  kRecv
};

// One node, as the executors see it: everything they touch in a step, and nothing else.
struct PlanNode {
  Kernel* kernel = nullptr;
  AsyncKernel* async = nullptr;  // the same kernel, if it may wait
  Device* device = nullptr;
  const Node* node = nullptr;  // names, for errors and traces
  int32_t inputs = 0;          // first index into Plan::inputs
  int32_t outputs = 0;         // first slot
  int32_t consumers = 0;       // first index into Plan::consumers
  uint32_t pending = 0;        // distinct producers that must finish first
  uint16_t num_inputs = 0;
  uint16_t num_outputs = 0;
  int32_t num_consumers = 0;
  NodeKind kind = NodeKind::kOp;
  bool expensive = false;
  bool has_ref_inputs = false;  // some input is a reference that the kernel reads as a value
  bool update = false;          // changes a variable that others read: runs late, so that it need not copy
  bool may_block = false;       // never runs on a borrowed thread
  bool fetched = false;         // some output is a result of the step
  bool commits = false;         // when it has run, the step goes on to its end, cancelled or not
  int32_t frame = 0;            // the loop it is in; 0: none
};

// How a node of a plan with control flow waits within one iteration of its frame.
struct NodeWait {
  int32_t pending = 0;    // inputs yet to arrive; of a Merge: control inputs only
  int16_t live = -1;      // of a Merge: the input that has a value
  int16_t dead_left = 0;  // of a Merge: inputs that must be dead before it is dead itself
  bool any_dead = false;
  bool fired = false;
};

// A static loop of the graph (frames of v1 control flow). Frame 0 is the plan itself.
struct PlanFrame {
  std::string name;
  uint64_t name_hash = 0;  // the same in every process
  int32_t parent = -1;
  int32_t parallel_iterations = 10;
  int32_t num_enters = 0;
  int32_t num_slots = 0;
  std::vector<int32_t> nodes;
  std::vector<int32_t> exits;
  // What nodes wait for when an iteration begins; loop variables come from Enter in the first, NextIteration in later
  // ones.
  std::vector<NodeWait> first_wait;
  std::vector<NodeWait> later_wait;
};

// A data or control edge, for plans with control flow.
struct PlanEdge {
  int32_t target = 0;
  int16_t output = -1;  // of the producer; -1: control edge
  int16_t input = -1;   // of the target
};

// A compiled signature: flat arrays in topological order, shared by all steps that run it. Immutable once made.
class Plan {
 public:
  Plan();
  ~Plan();

  std::vector<PlanNode> nodes;
  // Slot of each input: >= 0 a slot of the step, < 0 constant -1 - i.
  std::vector<int32_t> inputs;
  // By the same index: the input is a reference that the kernel reads as a value.
  std::vector<uint8_t> reads_reference;
  // Indices of nodes that wait for a node; each once.
  std::vector<int32_t> consumers;
  // How many consumers (and fetches) read each slot.
  std::vector<int32_t> slot_uses;
  std::vector<DType> slot_types;
  std::vector<Entry> constants;
  std::vector<int32_t> roots;  // nodes without producers
  int32_t num_slots = 0;

  // Step arguments: slots they are put in (-1: nobody reads it), and their types.
  std::vector<int32_t> arg_slots;
  std::vector<DType> arg_types;
  // Results: a slot, or -1 - i for constant i, or kArgResult + i for argument i itself.
  static constexpr int32_t kArgResult = 1 << 30;
  std::vector<int32_t> ret_slots;
  std::vector<DType> ret_types;

  bool serial = false;  // run in order on the calling thread
  bool has_async = false;
  bool control_flow = false;  // has frames or branches: the arrays below are filled too
  std::vector<PlanFrame> frames;
  std::vector<PlanEdge> edges;         // out-edges, for control flow; grouped by producer
  std::vector<int32_t> edges_begin;    // by node, one more than nodes
  std::vector<int32_t> slot_in_frame;  // by slot: its index in the array of the frame it is read in
  std::vector<int32_t> node_in_frame;  // by node
  std::vector<int32_t> child_frame;    // by node: the frame an Enter opens, else -1

  // Keep alive what the nodes point to.
  std::shared_ptr<const Graph> graph;
  std::vector<std::shared_ptr<Kernel>> kernels;

  // Set if the device part can be recorded; then it runs all steps.
  std::unique_ptr<RecordedSteps> recorded;

  // How long a step that had to wait keeps its thread when it continues.
  mutable UsualTime usual_continuation;

  // Step states, reused so that a step allocates nothing.
  std::unique_ptr<RunState> TakeState() const;
  void ReturnState(std::unique_ptr<RunState> state) const;

 private:
  mutable Mutex mu_;
  mutable std::vector<std::unique_ptr<RunState>> free_states_ ABSL_GUARDED_BY(mu_);
};

}  // namespace millstream

#endif  // MILLSTREAM_RUNTIME_PLAN_H_
