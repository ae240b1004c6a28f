// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_RUNTIME_SESSIONS_PLANNED_SESSION_H_
#define MILLSTREAM_RUNTIME_SESSIONS_PLANNED_SESSION_H_

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "millstream/runtime/session.h"
#include "millstream/runtime/sessions/partial_run.h"
#include "millstream/runtime/sessions/session_graph.h"
#include "millstream/runtime/sessions/session_plans.h"

namespace millstream {

// What sessions that hold their graph themselves have in common, wherever its parts run: the graph, the plans made from
// it by signature, callables and partial runs. Derived classes make a plan from a part of the graph and run it.
//
// Plans may point to what a derived class owns: its destructor must call Close() and plans_.Clear().
template <typename PlanPtr>
class PlannedSession : public Session {
 public:
  Status Create(const proto::GraphDef& graph) override { return graph_.Create(graph); }
  Status Extend(const proto::GraphDef& graph) override { return graph_.Extend(graph); }
  Status Extend(const Graph& graph) override { return graph_.Extend(graph); }

  StatusOr<CallableHandle> MakeCallable(const std::vector<std::string>& feeds, const std::vector<std::string>& fetches,
                                        const std::vector<std::string>& targets) override {
    ASSIGN_OR_RETURN(PrunedGraph pruned, graph_.PruneFor(feeds, fetches, targets));
    ASSIGN_OR_RETURN(PlanPtr plan, MakePlan(std::move(pruned)));
    return plans_.AddCallable(std::move(plan));
  }
  Status ReleaseCallable(CallableHandle handle) override { return plans_.ReleaseCallable(handle); }

  StatusOr<std::string> PartialRunSetup(const std::vector<std::string>& feeds, const std::vector<std::string>& fetches,
                                        const std::vector<std::string>& targets) override {
    ASSIGN_OR_RETURN(PrunedGraph pruned, graph_.PruneFor(feeds, fetches, targets));
    auto step = std::make_shared<PartialStep>(feeds, fetches, FeedsOfFetches(pruned));
    RETURN_IF_ERROR(SplitIntoParts(&pruned, default_device_));
    ASSIGN_OR_RETURN(PlanPtr plan, MakePlan(std::move(pruned)));
    RETURN_IF_ERROR(StartPartial(std::move(plan), step.get()));
    return partial_.Add(std::move(step));
  }
  Status PartialRun(const std::string& handle, const Feeds& feeds, const std::vector<std::string>& fetches,
                    std::vector<Tensor>* outputs) override {
    return PartialRun(handle, feeds, fetches, outputs, nullptr);
  }
  // The same; the partial run is given up when `cancellation` (optional) is cancelled.
  Status PartialRun(const std::string& handle, const Feeds& feeds, const std::vector<std::string>& fetches,
                    std::vector<Tensor>* outputs, Cancellation* cancellation) {
    return partial_.Run(handle, feeds, fetches, outputs, cancellation);
  }

  std::vector<DeviceAttributes> ListDevices() override { return graph_.devices(); }

 protected:
  // `default_device`: where nodes go that ask for nothing, and where partial runs are fed and fetched; "": the first of
  // `devices`, and where the values are.
  PlannedSession(const SessionOptions& options, std::vector<DeviceAttributes> devices, std::string default_device = "")
      : operation_timeout_ms_(options.operation_timeout_ms),
        default_device_(default_device),
        graph_(options, std::move(devices), std::move(default_device)) {}

  virtual StatusOr<PlanPtr> MakePlan(PrunedGraph pruned) = 0;
  // Begins a partial run; its end is told to the step's exchange.
  virtual Status StartPartial(PlanPtr plan, PartialStep* step) = 0;
  // A signature is seen for the first time: its plan is about to be made, which may take long.
  virtual void OnNewSignature() {}

  StatusOr<PlanPtr> FindPlan(const Feeds& feeds, const std::vector<std::string>& fetches,
                             const std::vector<std::string>& targets) {
    return plans_.FindOrMake(feeds, fetches, targets,
                             [&](const std::vector<std::string>& feed_names) -> StatusOr<PlanPtr> {
                               OnNewSignature();
                               ASSIGN_OR_RETURN(PrunedGraph pruned, graph_.PruneFor(feed_names, fetches, targets));
                               return MakePlan(std::move(pruned));
                             });
  }

  // What limits a step in time; 0: nothing.
  int64_t TimeoutMs(const RunOptions& options) const {
    return options.timeout_ms > 0 ? options.timeout_ms : operation_timeout_ms_;
  }

  const int64_t operation_timeout_ms_;
  const std::string default_device_;
  SessionGraph graph_;
  SessionPlans<PlanPtr> plans_;
  PartialSteps partial_;
};

}  // namespace millstream

#endif  // MILLSTREAM_RUNTIME_SESSIONS_PLANNED_SESSION_H_
