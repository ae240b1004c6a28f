// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_RUNTIME_SESSION_H_
#define MILLSTREAM_RUNTIME_SESSION_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "millstream/framework/device.h"
#include "millstream/graph/graph.h"
#include "millstream/runtime/session_options.h"
#include "millstream/tensor/tensor.h"

namespace millstream {

namespace proto {
class GraphDef;
class RunMetadata;
}  // namespace proto

// Who asks for a step, and which of its steps it is: whoever repeats a step whose answer was lost gives the same
// identity again, and updates of variables that were applied are not applied twice (docs/adr/0031). client 0: nobody
// repeats it.
struct StepIdentity {
  uint64_t client = 0;
  uint64_t number = 0;
};

// Per-step settings; TensorFlow's RunOptions.
struct RunOptions {
  int64_t timeout_ms = 0;  // 0: the session's
  bool full_trace = false;
  bool partition_graphs = false;  // RunMetadata.partition_graphs: what runs on each task (sessions at clusters)
  class Cancellation* cancellation = nullptr;  // cancels this step from outside; must outlive it
  StepIdentity identity;                       // sessions at clusters
};

// Runs graphs. A session owns a graph that only grows, and the state of its stateful ops. Thread-safe: many threads may
// Run() at once.
//
// Errors are TensorFlow's: InvalidArgument for bad requests, NotFound for unknown names, FailedPrecondition for
// uninitialized variables, DeadlineExceeded, Cancelled, OutOfRange at the end of input; messages name the node.
class Session {
 public:
  using Feeds = std::vector<std::pair<std::string, Tensor>>;
  using CallableHandle = int64_t;

  virtual ~Session() = default;

  // Sets the graph; once. Extend() adds to it; new nodes may use existing ones.
  virtual Status Create(const proto::GraphDef& graph) = 0;
  virtual Status Extend(const proto::GraphDef& graph) = 0;
  // The same from a graph in memory (a Scope's): copies what the session does not have yet. May be called again after
  // the graph has grown.
  virtual Status Extend(const Graph& graph) = 0;

  // One step: computes `fetches` ("node:0" or "node") and runs `targets` ("node"), with the values of `feeds` in place
  // of those outputs. `outputs` gets the fetched values in order.
  virtual Status Run(const RunOptions& options, const Feeds& feeds, const std::vector<std::string>& fetches,
                     const std::vector<std::string>& targets, std::vector<Tensor>* outputs,
                     proto::RunMetadata* metadata) = 0;
  Status Run(const Feeds& feeds, const std::vector<std::string>& fetches, const std::vector<std::string>& targets,
             std::vector<Tensor>* outputs) {
    return Run(RunOptions(), feeds, fetches, targets, outputs, nullptr);
  }

  // A signature looked up once: RunCallable() takes and gives tensors by position, and costs least.
  virtual StatusOr<CallableHandle> MakeCallable(const std::vector<std::string>& feeds,
                                                const std::vector<std::string>& fetches,
                                                const std::vector<std::string>& targets) = 0;
  virtual Status RunCallable(CallableHandle handle, const std::vector<Tensor>& feeds, std::vector<Tensor>* outputs,
                             const RunOptions& options = {}, proto::RunMetadata* metadata = nullptr) = 0;
  virtual Status ReleaseCallable(CallableHandle handle) = 0;

  // A step in parts: names all feeds and fetches first, then feeds and fetches some at a time. The step ends when every
  // fetch was fetched.
  virtual StatusOr<std::string> PartialRunSetup(const std::vector<std::string>& feeds,
                                                const std::vector<std::string>& fetches,
                                                const std::vector<std::string>& targets) = 0;
  virtual Status PartialRun(const std::string& handle, const Feeds& feeds, const std::vector<std::string>& fetches,
                            std::vector<Tensor>* outputs) = 0;

  virtual std::vector<DeviceAttributes> ListDevices() = 0;
  // Cancels running steps; later calls fail with Cancelled.
  virtual Status Close() = 0;
};

// A session at options.target; by default in this process, with its own devices. NotFound if nothing here understands
// the target.
StatusOr<std::unique_ptr<Session>> NewSession(const SessionOptions& options = {});

// Makes NewSession() understand targets "<scheme>://...". Several factories may share a scheme: the last one registered
// is asked first, and leaves a target to those before it by giving null. Thread-safe.
using SessionFactory = std::function<StatusOr<std::unique_ptr<Session>>(const SessionOptions&)>;
void RegisterSessionFactory(const std::string& scheme, SessionFactory factory);

}  // namespace millstream

#endif  // MILLSTREAM_RUNTIME_SESSION_H_
