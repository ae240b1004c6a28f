// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_DISTRIBUTED_MASTER_MASTER_STEP_H_
#define MILLSTREAM_DISTRIBUTED_MASTER_MASTER_STEP_H_

#include <atomic>
#include <memory>
#include <vector>

#include "millstream/distributed/master/master_session.h"
#include "millstream/proto/cost_graph.pb.h"
#include "millstream/proto/step_stats.pb.h"

namespace millstream {

// One running step. Keeps itself alive until every part has answered.
class MasterSession::Step : public std::enable_shared_from_this<Step>, public RegisteredStep {
 public:
  Step(MasterSession* session, PlanPtr plan, uint64_t id, proto::RunMetadata* metadata, StepDone done)
      : session_(session),
        plan_(std::move(plan)),
        id_(id),
        metadata_(metadata),
        done_(std::move(done)),
        outputs_(plan_->num_fetches),
        left_(plan_->parts.size()),
        costs_(metadata != nullptr && WantsCosts()) {}

  void Run(const RunOptions& options, std::vector<Tensor> args, bool may_block, Ref<PartialExchange> partial) {
    auto self = shared_from_this();
    if (!Enter()) return;
    keep_stats_ = options.full_trace;
    const int64_t runs = plan_->runs.fetch_add(1, std::memory_order_relaxed);
    if (TraceRequests* traces = session_->options_.traces; traces != nullptr && traces->wanted()) [[unlikely]]
      trace_ = traces->Begin([&] { return SignatureWork{plan_->num_nodes, runs}; });
    WatchCaller(options);
    if (plan_->parts.empty()) return Leave();
    for (size_t i = 0; i < plan_->parts.size(); ++i) {
      const MasterPlan::Part& part = plan_->parts[i];
      PartRun run;
      run.step = id_;
      run.part = part.id;
      run.identity = options.identity;
      run.traced = (options.full_trace && metadata_ != nullptr) || costs_ || trace_ != nullptr;
      run.partial = part.task->is_local() ? partial : nullptr;
      run.args.reserve(part.args.size());
      for (const int number : part.args) run.args.push_back(args[number]);
      run.done = [self, i](Status status, std::vector<Tensor>* rets, proto::StepStats* stats) {
        self->PartDone(i, std::move(status), rets, stats);
      };
      part.task->Run(std::move(run), i, may_block);
    }
    // An early failure may have overtaken parts that began after it.
    Status failed;
    {
      MutexLock lock(mu_);
      if (!ended_) failed = status_;
    }
    if (!failed.ok()) CancelParts(failed);
  }

  uint64_t id() const { return id_; }

  // Tells every part that has not answered. The first reason is what the caller gets.
  void Cancel(const Status& why) {
    {
      MutexLock lock(mu_);
      if (!status_.ok() || ended_) return;
      status_ = why;
    }
    CancelParts(why);
  }

 private:
  void CancelParts(const Status& why) {
    TaskAccess& access = *plan_->access;
    {
      MutexLock lock(access.mu);
      if (!access.open) return;
      ++access.cancelling;
    }
    for (const MasterPlan::Part& part : plan_->parts) part.task->Cancel(id_, why);
    MutexLock lock(access.mu);
    if (--access.cancelling == 0) access.none_cancelling.NotifyAll();
  }

  bool Enter() {
    if (Status refused = session_->steps_.Enter(this); !refused.ok()) {
      done_(std::move(refused), {});
      return false;
    }
    if (session_->options_.steps != nullptr) session_->options_.steps->begun.Add();
    return true;
  }

  // A deadline, or somebody who may cancel from outside.
  void WatchCaller(const RunOptions& options) {
    if (const int64_t timeout_ms = session_->TimeoutMs(options); timeout_ms > 0) {
      timer_ = session_->options_.timers->Add(
          std::chrono::steady_clock::now() + std::chrono::milliseconds(timeout_ms), [weak = weak_from_this()] {
            if (auto self = weak.lock()) {
              self->Cancel(errors::DeadlineExceeded("Timed out waiting for the step to finish"));
            }
          });
    }
    caller_ = options.cancellation;
    if (caller_ == nullptr) return;
    const bool registered = caller_->Register(
        [weak = weak_from_this(), caller = caller_] {
          if (auto self = weak.lock()) self->Cancel(caller->status());
        },
        &caller_token_);
    if (registered) return;
    Cancel(caller_->status());
    caller_ = nullptr;
  }

  void PartDone(size_t index, Status status, std::vector<Tensor>* rets, proto::StepStats* stats) {
    const MasterPlan::Part& part = plan_->parts[index];
    if (status.ok() && (rets == nullptr ? 0 : rets->size()) < part.rets.size())
      status = errors::Internal("A result is missing");
    if (!status.ok()) {
      if (!part.task->is_local())
        status = Status(status.code(), absl::StrCat("From ", part.task->name(), ":\n", status.message()));
      Cancel(status);
    } else {
      for (size_t i = 0; i < part.rets.size(); ++i) outputs_[part.rets[i]] = std::move((*rets)[i]);
    }
    if (stats != nullptr) {
      MutexLock lock(mu_);
      if (metadata_ != nullptr) metadata_->mutable_step_stats()->MergeFrom(*stats);
      if (trace_ != nullptr) trace_->stats.MergeFrom(*stats);
    }
    if (left_.fetch_sub(1, std::memory_order_acq_rel) == 1) Leave();
  }

  void Leave() {
    Status status;
    {
      MutexLock lock(mu_);
      ended_ = true;
      status = status_;
    }
    if (timer_ != 0) session_->options_.timers->Cancel(timer_, /*wait=*/false);
    if (caller_ != nullptr) caller_->TryDeregister(caller_token_);
    Report(status);
    if (!status.ok()) outputs_.clear();
    if (costs_) FillCosts();
    if (metadata_ != nullptr && !keep_stats_) metadata_->clear_step_stats();
    if (trace_ != nullptr) TraceRequests::End(*trace_);
    MasterSession* session = session_;
    done_(std::move(status), std::move(outputs_));
    session->steps_.Leave(this);
  }

  void Report(const Status& status) {
    if (StepCounters* steps = session_->options_.steps; steps != nullptr) {
      steps->ended.Add();
      if (!status.ok()) steps->failed.Add();
    }
    if (status.ok()) [[likely]] {
      for (const auto& [number, observer] : plan_->observed) observer->Fetched(outputs_[number]);
    } else if (session_->options_.observer != nullptr) {
      session_->options_.observer->StepFailed(status);
    }
  }

  // GraphOptions.build_cost_model: every so many steps of a signature the caller learns what each node took.
  bool WantsCosts() const {
    const auto& options = session_->options_.config.graph_options();
    if (options.build_cost_model() <= 0) return false;
    const int64_t steps = plan_->steps.fetch_add(1, std::memory_order_relaxed) + 1;
    return steps > options.build_cost_model_after() &&
           (steps - options.build_cost_model_after()) % options.build_cost_model() == 0;
  }

  void FillCosts() {
    proto::CostGraphDef* costs = metadata_->mutable_cost_graph();
    for (const auto& device : metadata_->step_stats().dev_stats()) {
      for (const auto& node : device.node_stats()) {
        proto::CostGraphDef::Node* cost = costs->add_node();
        cost->set_id(costs->node_size() - 1);
        cost->set_name(node.node_name());
        cost->set_device(device.device());
        cost->set_compute_time(node.op_end_rel_micros() - node.op_start_rel_micros());
        cost->set_compute_cost(cost->compute_time());
      }
    }
  }

  MasterSession* const session_;
  const PlanPtr plan_;
  const uint64_t id_;
  proto::RunMetadata* const metadata_;
  StepDone done_;
  std::vector<Tensor> outputs_;  // each written by one part
  std::atomic<size_t> left_;
  const bool costs_;
  bool keep_stats_ = false;
  std::shared_ptr<TraceRequests::Trace> trace_;
  TimerQueue::Id timer_ = 0;
  Cancellation* caller_ = nullptr;
  Cancellation::Token caller_token_ = 0;
  Mutex mu_;
  Status status_ ABSL_GUARDED_BY(mu_);
  bool ended_ ABSL_GUARDED_BY(mu_) = false;
};

}  // namespace millstream

#endif  // MILLSTREAM_DISTRIBUTED_MASTER_MASTER_STEP_H_
