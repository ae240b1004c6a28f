// SPDX-License-Identifier: Apache-2.0
#include "millstream/distributed/testing/direct_cluster.h"

#include <deque>
#include <map>
#include <thread>

#include "millstream/base/notification.h"
#include "millstream/distributed/task_service.h"
#include "millstream/distributed/testing/direct_call.h"

namespace millstream::testing {

// One end of a link; frames wait in the other end's queue, which a thread empties.
class DirectCluster::Link final : public PeerLink {
 public:
  Link(const std::string& peer, uint64_t incarnation, FrameHandler* handler)
      : PeerLink(peer, incarnation), handler_(handler) {}

  static std::pair<std::shared_ptr<Link>, std::shared_ptr<Link>> Pair(const Worker& a, FrameHandler* a_handler,
                                                                      const Worker& b, FrameHandler* b_handler) {
    auto at_a = std::make_shared<Link>(b.task(), b.incarnation(), a_handler);
    auto at_b = std::make_shared<Link>(a.task(), a.incarnation(), b_handler);
    at_a->other_ = at_b;
    at_b->other_ = at_a;
    for (const auto& link : {at_a, at_b}) {
      link->handler_->Opened(*link);
      link->thread_ = std::thread([link] { link->Main(); });
    }
    return {at_a, at_b};
  }

  void Send(Frame frame) override {
    if (auto other = other_.lock()) other->Push(std::move(frame));
  }
  void Close(Status why) override {
    End(why);
    if (auto other = other_.lock()) other->End(why);
  }
  const char* transport() const override { return "direct"; }
  int64_t last_heard_ns() const override { return 0; }
  void Join() {
    if (thread_.joinable()) thread_.join();
  }
  // What comes waits until it is no longer held.
  void Hold(bool held) {
    MutexLock lock(mu_);
    held_ = held;
    changed_.NotifyAll();
  }
  // This end gives up; returns when its handler has been told.
  void Lose() {
    End(errors::Unavailable("no sign of life"));
    told_.Wait();
  }

 private:
  void Push(Frame frame) {
    MutexLock lock(mu_);
    queue_.push_back(std::move(frame));
    changed_.NotifyAll();
  }
  void End(const Status& why) {
    MutexLock lock(mu_);
    if (ended_) return;
    ended_ = true;
    why_ = why.ok() ? errors::Unavailable("closed") : why;
    changed_.NotifyAll();
  }
  void Main() {
    for (;;) {
      Frame frame;
      {
        MutexLock lock(mu_);
        while ((queue_.empty() || held_) && !ended_) changed_.Wait(mu_);
        if (ended_) break;
        frame = std::move(queue_.front());
        queue_.pop_front();
      }
      handler_->Receive(*this, std::move(frame));
    }
    handler_->Closed(*this, why_);
    told_.Notify();
  }

  FrameHandler* const handler_;
  std::weak_ptr<Link> other_;
  std::thread thread_;
  Mutex mu_;
  CondVar changed_;
  std::deque<Frame> queue_ ABSL_GUARDED_BY(mu_);
  bool held_ ABSL_GUARDED_BY(mu_) = false;
  bool ended_ ABSL_GUARDED_BY(mu_) = false;
  Status why_;
  Notification told_;
};

struct DirectCluster::Node {
  std::string task;
  std::unique_ptr<Worker> worker;
  FrameRouter router;
  std::map<size_t, std::shared_ptr<RemoteTask>> peers;
  std::map<size_t, std::pair<std::shared_ptr<Link>, std::shared_ptr<Link>>> dialed;  // the ends of each link
  std::vector<std::shared_ptr<RemoteTask>> lost;                                     // their links still call them
  std::vector<std::shared_ptr<Link>> links;                                          // both kinds
  std::atomic<bool> dead{false};
  Mutex mu;
};

// Calls the service's functions.
class DirectCluster::Channel final : public RpcChannel {
 public:
  Channel(Node* node) : node_(node) {
    TaskServiceOptions options;
    options.worker = node->worker.get();
    methods_ = TaskServiceMethods(options);
  }
  Status Call(const std::string& path, const google::protobuf::Message& request, google::protobuf::Message* response,
              const RpcCallOptions&) override {
    if (node_->dead) return errors::Unavailable("nobody there");
    for (const RpcMethod& method : methods_) {
      if (method.path != path) continue;
      DirectCall call(method);
      call.request().CopyFrom(request);
      const Status status = call.Run(method);
      response->CopyFrom(call.response());
      return status;
    }
    return errors::Unimplemented(path);
  }
  void CallAsync(const std::string& path, const google::protobuf::Message& request, google::protobuf::Message* response,
                 const RpcCallOptions& options, std::function<void(Status)> done) override {
    done(Call(path, request, response, options));
  }
  Status AwaitServer(const RpcCallOptions&) override {
    return node_->dead ? errors::Unavailable("nobody there") : OkStatus();
  }
  bool connected() override { return !node_->dead; }
  const std::string& address() const override { return node_->task; }

 private:
  Node* const node_;
  std::vector<RpcMethod> methods_;
};

DirectCluster::DirectCluster(const std::vector<std::string>& tasks, std::chrono::milliseconds ask_after) {
  for (size_t i = 0; i < tasks.size(); ++i) {
    auto node = std::make_unique<Node>();
    node->task = tasks[i];
    WorkerOptions options;
    options.task = tasks[i];
    options.incarnation = i + 1;
    options.session.intra_op_threads = 2;
    options.ask_after = ask_after;
    node->worker = std::make_unique<Worker>(
        options,
        [this, i, tasks](const std::string& task, const std::string&, uint64_t) -> StatusOr<std::shared_ptr<PeerLink>> {
          for (size_t to = 0; to < tasks.size(); ++to) {
            if (tasks[to] == task) return Connect(i, to)->link();
          }
          return errors::NotFound(task);
        });
    node->router.Route(Worker::kFrames, node->worker.get());
    nodes_.push_back(std::move(node));
  }
}

Worker& DirectCluster::worker(size_t i) { return *nodes_[i]->worker; }

DirectCluster::~DirectCluster() {
  for (size_t i = 0; i < nodes_.size(); ++i) Cut(i);
  for (const auto& node : nodes_) {
    for (const auto& link : node->links) link->Join();
  }
  for (const auto& node : nodes_) node->worker.reset();
}

std::shared_ptr<RemoteTask> DirectCluster::Connect(size_t from, size_t to) {
  Node& a = *nodes_[from];
  Node& b = *nodes_[to];
  MutexLock lock(a.mu);
  std::shared_ptr<RemoteTask>& task = a.peers[to];
  if (task != nullptr && task->alive()) return task;
  if (task != nullptr) a.lost.push_back(task);
  RemoteTask::Options options;
  options.name = b.task;
  options.address = "direct";
  options.incarnation = b.worker->incarnation();
  options.devices = b.worker->devices();
  options.channel = std::make_shared<Channel>(&b);
  options.own_task = a.task;
  options.own_incarnation = a.worker->incarnation();
  task = std::make_shared<RemoteTask>(std::move(options), a.router);
  auto [at_a, at_b] = Link::Pair(*a.worker, task->handler(), *b.worker, &b.router);
  task->set_link(at_a);
  a.links.push_back(at_a);
  a.links.push_back(at_b);
  a.dialed[to] = {at_a, at_b};
  return task;
}

std::pair<std::shared_ptr<DirectCluster::Link>, std::shared_ptr<DirectCluster::Link>> DirectCluster::EndsOf(size_t from,
                                                                                                            size_t to) {
  Connect(from, to);
  MutexLock lock(nodes_[from]->mu);
  return nodes_[from]->dialed[to];
}

void DirectCluster::Hold(size_t from, size_t to) { EndsOf(from, to).second->Hold(true); }

void DirectCluster::Release(size_t from, size_t to) { EndsOf(from, to).second->Hold(false); }

void DirectCluster::LoseAtDialer(size_t from, size_t to) { EndsOf(from, to).first->Lose(); }

void DirectCluster::LoseAtAcceptor(size_t from, size_t to) { EndsOf(from, to).second->Lose(); }

void DirectCluster::Lose(size_t from, size_t to) {
  const auto [dialer, acceptor] = EndsOf(from, to);
  acceptor->Lose();
  dialer->Lose();
}

void DirectCluster::Cut(size_t i) {
  nodes_[i]->dead = true;
  std::vector<std::shared_ptr<Link>> links;
  for (size_t from = 0; from < nodes_.size(); ++from) {
    MutexLock lock(nodes_[from]->mu);
    for (const auto& link : nodes_[from]->links) {
      if (from == i || link->peer() == nodes_[i]->task) links.push_back(link);
    }
  }
  for (const auto& link : links) link->Close(errors::Unavailable("cut"));
}

std::unique_ptr<MasterSession> DirectCluster::NewSession(const proto::ConfigProto& config) {
  MasterSessionOptions options;
  options.handle = absl::StrCat("session", next_session_++);
  options.config = config;
  options.session = SessionOptions::FromProto(config).value();
  options.tasks.push_back(std::make_shared<LocalTask>(nodes_[0]->worker.get()));
  for (size_t i = 1; i < nodes_.size(); ++i) options.tasks.push_back(Connect(0, i));
  options.timers = &timers_;
  options.next_step = &next_step_;
  return std::make_unique<MasterSession>(std::move(options));
}

}  // namespace millstream::testing
