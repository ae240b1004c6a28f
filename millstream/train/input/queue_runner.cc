// SPDX-License-Identifier: Apache-2.0
#include "millstream/train/input/queue_runner.h"

#include <algorithm>
#include <map>

namespace millstream {
namespace {

constexpr char kCollection[] = "queue_runners";

Node* AddClose(const Scope& scope, Output queue, bool cancel) {
  const char* type = queue.dtype() == DType::kResource ? "QueueCloseV2" : "QueueClose";
  return scope.WithOpName(QueueOpName(queue, "Close")).Add(type, {queue}, {{"cancel_pending_enqueues", cancel}});
}

// Each runner has a list of its own too: close, cancel, then the enqueue ops.
std::string NodesKey(size_t runner) { return absl::StrCat(kCollection, "/", runner); }

}  // namespace

std::string QueueOpName(Output queue, absl::string_view what) {
  const std::string& name = queue.node->name();
  return absl::StrCat(name.substr(name.rfind('/') + 1), "_", what);
}

struct QueueRunner::State {
  explicit State(Ops o) : ops(std::move(o)) {}
  const Ops ops;
  Mutex mu;
  std::map<const Session*, size_t> running ABSL_GUARDED_BY(mu);  // threads that fill the queue

  // One thread less; true if it was the last of its session.
  bool Ended(const Session& session) {
    MutexLock lock(mu);
    const auto it = running.find(&session);
    if (--it->second > 0) return false;
    running.erase(it);
    return true;
  }
};

QueueRunner::QueueRunner(Ops ops) : state_(std::make_shared<State>(std::move(ops))) {}

StatusOr<QueueRunner> QueueRunner::Make(const Scope& scope, Output queue, const std::vector<Node*>& enqueue_ops) {
  RETURN_IF_ERROR(scope.status());
  if (!queue || enqueue_ops.empty()) return errors::InvalidArgument("Must provide queue and enqueue_ops.");
  Ops ops;
  ops.queue = queue.node->name();
  for (const Node* op : enqueue_ops) {
    if (op == nullptr) return errors::InvalidArgument("An enqueue op of ", ops.queue, " is missing");
    ops.enqueue_ops.push_back(op->name());
  }
  const Node* close = AddClose(scope, queue, false);
  const Node* cancel = AddClose(scope, queue, true);
  RETURN_IF_ERROR(scope.status());
  ops.close_op = close->name();
  ops.cancel_op = cancel->name();
  return QueueRunner(std::move(ops));
}

const QueueRunner::Ops& QueueRunner::ops() const { return state_->ops; }

Status QueueRunner::Enqueue(Session& session, Session::CallableHandle op, Repeats* repeats) {
  RunOptions options;
  if (repeats != nullptr) options.identity = repeats->Current();
  std::vector<Tensor> none;
  RETURN_IF_ERROR(session.RunCallable(op, {}, &none, options));
  if (repeats != nullptr) repeats->Answered();
  return OkStatus();
}

Status QueueRunner::Fill(State& state, const std::string& op, Session& session, const Coordinator& coordinator,
                         Repeats* repeats) {
  Status status;
  const StatusOr<Session::CallableHandle> enqueue = session.MakeCallable({}, {}, {op});
  if (!enqueue.ok()) status = enqueue.status();
  while (status.ok() && !coordinator.ShouldStop()) status = Enqueue(session, *enqueue, repeats);
  const bool last = state.Ended(session);
  const std::vector<absl::StatusCode>& closed = state.ops.closed_codes;
  if (std::find(closed.begin(), closed.end(), status.code()) != closed.end()) {
    // No more to come. The session may be gone by now, so this may fail.
    if (last) session.Run({}, {}, {state.ops.close_op}, nullptr).IgnoreError();
    return OkStatus();
  }
  return coordinator.ShouldStop() && absl::IsCancelled(status) ? OkStatus() : status;
}

void QueueRunner::CreateThreads(Session& session, Coordinator& coordinator, std::shared_ptr<Repeats> repeats) const {
  const Ops& ops = state_->ops;
  {
    MutexLock lock(state_->mu);
    if (!state_->running.emplace(&session, ops.enqueue_ops.size()).second) return;
  }
  const std::string name = absl::StrCat("QueueRunnerThread-", ops.queue, "-");
  constexpr auto kKind = Coordinator::ThreadKind::kQueueRunner;
  for (const std::string& op : ops.enqueue_ops) {
    coordinator.StartThread(
        name + op,
        [state = state_, &op, &session, &coordinator, repeats] {
          return Fill(*state, op, session, coordinator, repeats.get());
        },
        kKind);
  }
  coordinator.StartThread(
      name + "close_on_stop",
      [state = state_, &session, &coordinator] {
        coordinator.WaitForStop();
        std::vector<Tensor> none;
        session.Run({}, {}, {state->ops.cancel_op}, &none).IgnoreError();  // the session may be closed already
        return OkStatus();
      },
      kKind);
}

Status AddQueueRunner(const Scope& scope, const QueueRunner& runner) {
  const QueueRunner::Ops& ops = runner.ops();
  if (ops.closed_codes != QueueRunner::Ops().closed_codes) {
    return errors::InvalidArgument("The queue runner of ", ops.queue,
                                   " does not end by OutOfRange: start it by CreateThreads()");
  }
  const Graph& graph = *scope.graph();
  Node* queue = graph.Find(ops.queue);
  if (queue == nullptr) return errors::NotFound("The queue ", ops.queue, " is not in the graph");
  std::vector<std::string> names = {ops.close_op, ops.cancel_op};
  names.insert(names.end(), ops.enqueue_ops.begin(), ops.enqueue_ops.end());
  for (const std::string& name : names) {
    if (graph.Find(name) == nullptr)
      return errors::NotFound("The node ", name, " of a queue runner is not in the graph");
  }
  scope.AddToCollection(kCollection, queue);
  const std::string key = NodesKey(scope.Collection(kCollection).size() - 1);
  for (const std::string& name : names) scope.AddToCollection(key, graph.Find(name));
  return OkStatus();
}

std::vector<QueueRunner> QueueRunnersOf(const Scope& scope) {
  std::vector<QueueRunner> runners;
  const std::vector<Output>& queues = scope.Collection(kCollection);
  for (size_t i = 0; i < queues.size(); ++i) {
    const std::vector<Output>& nodes = scope.Collection(NodesKey(i));
    QueueRunner::Ops ops;
    ops.queue = queues[i].node->name();
    ops.close_op = nodes[0].node->name();
    ops.cancel_op = nodes[1].node->name();
    for (size_t n = 2; n < nodes.size(); ++n) ops.enqueue_ops.push_back(nodes[n].node->name());
    runners.emplace_back(std::move(ops));
  }
  return runners;
}

void StartQueueRunners(const Scope& scope, Session& session, Coordinator& coordinator) {
  for (const QueueRunner& runner : QueueRunnersOf(scope)) runner.CreateThreads(session, coordinator);
}

}  // namespace millstream
