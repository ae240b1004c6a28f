// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_RUNTIME_SESSIONS_SESSION_GRAPH_H_
#define MILLSTREAM_RUNTIME_SESSIONS_SESSION_GRAPH_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "millstream/base/mutex.h"
#include "millstream/framework/device.h"
#include "millstream/graph/functions/function_library.h"
#include "millstream/graph/prune.h"
#include "millstream/runtime/session_options.h"

namespace millstream {

namespace proto {
class GraphDef;
}  // namespace proto

// The graph of a session: it only grows, every node is placed when it comes (with GraphOptions.place_pruned_graph: when
// it is first part of a signature, and only stateful ones stay there), and signatures cut their part out of it.
// Thread-safe.
class SessionGraph {
 public:
  // `default_device`: where nodes go that say nothing; "": the first of `devices`.
  SessionGraph(const SessionOptions& options, std::vector<DeviceAttributes> devices, std::string default_device = "");

  const std::shared_ptr<FunctionLibrary>& library() const { return library_; }
  std::vector<DeviceAttributes> devices() const;
  // Nodes that come later may be placed there, too.
  void AddDevices(const std::vector<DeviceAttributes>& devices);

  // Sets the graph; AlreadyExists the second time. Extend() adds to it; all or nothing.
  Status Create(const proto::GraphDef& graph);
  Status Extend(const proto::GraphDef& graph);
  Status Extend(const Graph& graph);
  // The same, if this is still version `*version`; Aborted if not. Sets the new version.
  Status ExtendVersion(const proto::GraphDef& graph, int64_t* version);
  int64_t version() const;
  // Calls `visit` for the nodes one after the other, in order of their ids, until it says false. Nobody can use the
  // graph meanwhile.
  void VisitNodes(const std::function<bool(const Node&)>& visit) const;

  // The part of the graph that a signature names, placed. InvalidArgument, NotFound.
  StatusOr<PrunedGraph> PruneFor(const std::vector<std::string>& feeds, const std::vector<std::string>& fetches,
                                 const std::vector<std::string>& targets) const;

 private:
  Status Add(const proto::GraphDef& graph) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  Status Place(int first_node) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  Status PlacePruned(PrunedGraph* pruned) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // `lowers_control_flow`: conditionals that will be taken apart need not be where their variables are.
  Status PlaceAll(Graph* graph, bool lowers_control_flow) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Takes conditionals and loops apart, and places what is new.
  Status Lower(PrunedGraph* pruned) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  const SessionOptions options_;
  const bool place_pruned_;
  const std::string default_device_;
  const std::shared_ptr<FunctionLibrary> library_;
  mutable Mutex mu_;
  std::vector<DeviceAttributes> devices_ ABSL_GUARDED_BY(mu_);
  std::unique_ptr<Graph> graph_ ABSL_GUARDED_BY(mu_);
  bool created_ ABSL_GUARDED_BY(mu_) = false;
  int64_t version_ ABSL_GUARDED_BY(mu_) = 0;
};

}  // namespace millstream

#endif  // MILLSTREAM_RUNTIME_SESSIONS_SESSION_GRAPH_H_
