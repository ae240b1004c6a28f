// SPDX-License-Identifier: Apache-2.0
#include "millstream/distributed/master/peers.h"

#include <algorithm>
#include <thread>

#include "absl/strings/str_join.h"
#include "millstream/base/logging.h"
#include "millstream/base/untrusted_log.h"
#include "millstream/distributed/cluster/cluster_spec.h"
#include "millstream/distributed/wire/device_proto.h"
#include "millstream/distributed/wire/grpc_link.h"
#include "millstream/distributed/wire/protocol.h"
#include "millstream/distributed/wire/task_methods.h"
#include "millstream/proto/task.pb.h"

namespace millstream {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

namespace {

constexpr auto kFirstTell = std::chrono::seconds(10);
constexpr auto kTellEvery = std::chrono::seconds(30);
constexpr auto kAskPatience = std::chrono::seconds(2);
constexpr auto kClosePatience = std::chrono::seconds(10);

milliseconds TimeUntil(steady_clock::time_point deadline) {
  return std::max(milliseconds(1), std::chrono::ceil<milliseconds>(deadline - steady_clock::now()));
}

void AwaitClosed(const std::vector<std::shared_ptr<RemoteTask>>& tasks, milliseconds patience) {
  const auto deadline = steady_clock::now() + patience;
  for (const auto& task : tasks) {
    while (!task->closed() && steady_clock::now() < deadline) std::this_thread::sleep_for(milliseconds(1));
  }
}

// DeadlineExceeded if it does not answer. The question counts as nobody's: it says nothing of this task.
Status AskIfAlive(const RemoteTask& task, milliseconds patience) {
  proto::HelloRequest request;
  proto::HelloResponse response;
  request.set_protocol(kProtocolVersion);
  RpcCallOptions call;
  call.deadline = steady_clock::now() + patience;
  return task.channel()->Call(TaskMethod("Hello"), request, &response, call);
}

}  // namespace

Peers::Peers(PeersOptions options, LinkHub* hub) : options_(std::move(options)), hub_(hub) {}

Peers::~Peers() {
  std::vector<std::shared_ptr<RemoteTask>> tasks;
  {
    MutexLock lock(mu_);
    tasks.swap(kept_);
  }
  // The hub has ended its own links; those over gRPC end now, and call their tasks once more.
  const Status why = errors::Unavailable(options_.task, " is shutting down");
  std::erase_if(tasks, [](const auto& task) { return task->closed() || task->link() == nullptr; });
  for (const auto& task : tasks) task->link()->CloseAfterQueue(why);
  AwaitClosed(tasks, options_.links.linger);
  for (const auto& task : tasks) task->link()->Close(why);  // of those that do not read
  AwaitClosed(tasks, kClosePatience);
}

StatusOr<std::string> Peers::AddressOf(const PeerTask& peer) const {
  if (peer.renamed()) return peer.address;
  auto address = options_.addresses.find(peer.task);
  if (address == options_.addresses.end()) return errors::NotFound("The cluster has no task ", peer.task);
  return address->second;
}

StatusOr<std::shared_ptr<RemoteTask>> Peers::Connect(const PeerTask& peer, milliseconds deadline,
                                                     Cancellation* cancellation) {
  ASSIGN_OR_RETURN(const std::string address, AddressOf(peer));
  const std::string& key = peer.renamed() ? peer.address : peer.task;
  std::shared_ptr<Entry> entry;
  {
    MutexLock lock(mu_);
    std::shared_ptr<Entry>& slot = entries_[key];
    if (slot == nullptr) slot = std::make_shared<Entry>();
    entry = slot;
  }
  MutexLock lock(entry->mu);
  if (entry->task != nullptr && entry->task->alive()) return entry->task;
  StatusOr<std::shared_ptr<RemoteTask>> dialed = Dial(peer, address, *entry, deadline, cancellation);
  if (!dialed.ok()) {
    // Clients may name any number of places where nobody is.
    MutexLock entries_lock(mu_);
    if (peer.renamed()) entries_.erase(key);
    return dialed;
  }
  entry->task = *std::move(dialed);
  Forget();
  return entry->task;
}

// Drops tasks whose links have ended. Never from within a link's call.
void Peers::Forget() {
  std::vector<std::shared_ptr<RemoteTask>> ended;
  MutexLock lock(mu_);
  for (auto& task : kept_) {
    if (task->closed()) ended.push_back(std::move(task));
  }
  kept_.erase(std::remove(kept_.begin(), kept_.end(), nullptr), kept_.end());
}

Status Peers::Hello(const PeerTask& peer, RpcChannel& channel, bool want_endpoint, const RpcCallOptions& call,
                    proto::HelloResponse* response) const {
  proto::HelloRequest request;
  request.set_protocol(kProtocolVersion);
  request.set_job_id(options_.job_id);
  request.set_want_endpoint(want_endpoint);
  // A server that a session has renamed is asked by no task of its own cluster, whatever that server is called.
  if (!peer.renamed()) {
    request.set_task(peer.task);
    request.set_from_task(options_.task);
    request.set_from_incarnation(options_.incarnation);
  }
  const Status status = channel.Call(TaskMethod("Hello"), request, response, call);
  if (!status.ok()) return WithContext(status, absl::StrCat(peer.task, " at ", channel.address()));
  if (peer.renamed() && response->incarnation() == options_.incarnation) {
    return errors::InvalidArgument("ConfigProto.cluster_def: ", peer.task, " at ", channel.address(),
                                   " is the master itself; give it the address of the session's target");
  }
  if (peer.renamed() || !IsPsTask(peer.task)) return OkStatus();
  if (options_.on_ps_answer != nullptr) options_.on_ps_answer(response->job_done());
  if (!response->job_done()) return OkStatus();
  return errors::FailedPrecondition(peer.task, " at ", channel.address(), " says that the job is done: ", options_.task,
                                    " started after its training had finished");
}

StatusOr<std::shared_ptr<RemoteTask>> Peers::Dial(const PeerTask& peer, const std::string& address, Entry& entry,
                                                  milliseconds deadline, Cancellation* cancellation) {
  const auto end = steady_clock::now() + deadline;
  if (entry.channel == nullptr) {
    RpcChannelOptions channel = options_.channel;
    if (!peer.renamed()) channel.server = peer.task;
    ASSIGN_OR_RETURN(entry.channel, RpcChannel::Connect(address, channel));
  }
  proto::HelloResponse response;
  RpcCallOptions call;
  call.deadline = end;
  call.cancellation = cancellation;
  RETURN_IF_ERROR(Hello(peer, *entry.channel, /*want_endpoint=*/true, call, &response));
  RemoteTask::Options options;
  options.name = peer.renamed() ? response.task() : peer.task;
  options.address = address;
  options.incarnation = response.incarnation();
  for (const auto& device : response.device()) options.devices.push_back(DeviceFromProto(device));
  options.channel = entry.channel;
  options.deadline = options_.deadline;
  options.max_tensor_bytes = options_.max_tensor_bytes;
  options.own_task = options_.task;
  options.own_incarnation = options_.incarnation;
  auto remote = std::make_shared<RemoteTask>(std::move(options), *options_.router);
  const LinkEndpoint endpoint = EndpointFromProto(response.endpoint(), remote->name(), response.incarnation());
  const auto left = std::max(milliseconds(1), std::chrono::duration_cast<milliseconds>(end - steady_clock::now()));
  {
    MutexLock lock(mu_);
    kept_.push_back(remote);
  }
  StatusOr<std::shared_ptr<PeerLink>> link = DialLink(endpoint, entry.channel, remote->handler(), left);
  if (!link.ok()) {
    MutexLock lock(mu_);
    kept_.erase(std::find(kept_.begin(), kept_.end(), remote));
    return link.status();
  }
  remote->set_link(*std::move(link));
  return remote;
}

StatusOr<std::shared_ptr<PeerLink>> Peers::DialLink(const LinkEndpoint& endpoint,
                                                    const std::shared_ptr<RpcChannel>& channel, FrameHandler* handler,
                                                    milliseconds deadline) {
  // A firewall that swallows packets must leave time for the other way.
  StatusOr<std::shared_ptr<PeerLink>> link =
      hub_->Dial(endpoint, handler, options_.grpc_links ? deadline / 2 : deadline);
  if (link.ok() || !options_.grpc_links) return link;
  if (!absl::IsUnavailable(link.status()) && !absl::IsDeadlineExceeded(link.status())) return link;
  GrpcLinkHello hello;
  hello.task = options_.task;
  hello.incarnation = options_.incarnation;
  hello.peer = endpoint.task;
  hello.peer_incarnation = endpoint.incarnation;
  hello.ticket = endpoint.ticket;
  return DialGrpcLink(channel, hello, handler, deadline / 2, options_.links);
}

Status Peers::AskWhoHasLeft(const std::vector<std::shared_ptr<RemoteTask>>& tasks, std::set<std::string>* left) const {
  for (const auto& task : tasks) {
    if (task == nullptr || !task->alive() || !IsPsTask(task->name())) continue;
    proto::HelloResponse response;
    RpcCallOptions call;
    call.deadline = steady_clock::now() + kAskPatience;
    const Status status = Hello({task->name(), ""}, *task->channel(), /*want_endpoint=*/false, call, &response);
    if (absl::IsFailedPrecondition(status)) return status;
    if (status.ok()) left->insert(response.left().begin(), response.left().end());
  }
  return OkStatus();
}

Status Peers::TryConnect(const std::vector<PeerTask>& tasks, steady_clock::time_point deadline,
                         Cancellation* cancellation, Found* found) {
  found->missing.clear();
  for (size_t i = 0; i < tasks.size(); ++i) {
    std::shared_ptr<RemoteTask>& slot = found->tasks[i];
    if (found->left.contains(tasks[i].task) || (slot != nullptr && slot->alive())) continue;
    slot = nullptr;
    StatusOr<std::shared_ptr<RemoteTask>> task =
        Connect(tasks[i], std::min<milliseconds>({options_.deadline, kFirstTell, TimeUntil(deadline)}), cancellation);
    if (task.ok()) {
      slot = *std::move(task);
      continue;
    }
    if (cancellation != nullptr && cancellation->IsCancelled()) {
      found->missing.push_back(tasks[i]);
      return OkStatus();
    }
    // Somebody else is at that address, or the job is done: waiting does not help. But a process that does not know the
    // job token has only taken the address of a task that is missing.
    const Status& status = task.status();
    if (!absl::IsUnavailable(status) && !absl::IsDeadlineExceeded(status) && !absl::IsUnauthenticated(status)) {
      return status;
    }
    found->missing.push_back(tasks[i]);
    found->cause = task.status();
  }
  if (found->missing.empty()) return OkStatus();
  // All tasks of a session have been renamed, or none.
  if (!found->missing.front().renamed()) RETURN_IF_ERROR(AskWhoHasLeft(found->tasks, &found->left));
  std::erase_if(found->missing, [&](const PeerTask& peer) { return found->left.contains(peer.task); });
  return OkStatus();
}

std::string Peers::Missing(const Found& found) const {
  std::vector<std::string> list;
  for (const PeerTask& peer : found.missing)
    list.push_back(absl::StrCat(peer.task, " at ", AddressOf(peer).value_or("?")));
  return absl::StrJoin(list, ", ");
}

StatusOr<std::vector<std::shared_ptr<RemoteTask>>> Peers::WaitFor(const std::vector<PeerTask>& tasks,
                                                                  Cancellation* cancellation,
                                                                  steady_clock::time_point deadline) {
  const auto begin = steady_clock::now();
  auto tell = begin + kFirstTell;
  auto pause = milliseconds(20);
  Found found;
  found.tasks.resize(tasks.size());
  for (;;) {
    RETURN_IF_ERROR(TryConnect(tasks, deadline, cancellation != nullptr ? cancellation : options_.stop, &found));
    if (found.missing.empty()) break;
    const auto now = steady_clock::now();
    const double waited = std::chrono::duration<double>(now - begin).count();
    for (const Cancellation* ended : {cancellation, options_.stop}) {
      if (ended != nullptr && ended->IsCancelled()) {
        const Status why = ended->status();
        return Status(why.code(), absl::StrCat(why.message(), " (while it waited for ", Missing(found), ")"));
      }
    }
    if (now >= deadline) {
      return errors::DeadlineExceeded("Waited ", static_cast<int>(waited * 10) / 10.0, " s for ", Missing(found), ": ",
                                      found.cause.message());
    }
    if (now >= tell) {
      LogWarning(absl::StrCat(options_.task, ": waiting for ", Missing(found), " (", static_cast<int>(waited),
                              " s): ", EscapeUntrusted(found.cause.message())));
      tell = now + kTellEvery;
    }
    std::this_thread::sleep_for(std::min<steady_clock::duration>(pause, deadline - now));
    pause = std::min(pause * 2, milliseconds(500));
  }
  std::erase(found.tasks, nullptr);
  if (found.tasks.size() < tasks.size()) {
    LogInfo(absl::StrCat(options_.task, ": a session does without tasks that have left after their training: ",
                         EscapeUntrusted(absl::StrJoin(found.left, ", "))));
  }
  return std::move(found.tasks);
}

StatusOr<std::shared_ptr<PeerLink>> Peers::LinkTo(const PeerTask& peer, uint64_t incarnation) {
  ASSIGN_OR_RETURN(std::shared_ptr<RemoteTask> remote, Connect(peer, options_.deadline));
  if (incarnation != 0 && remote->incarnation() != incarnation) {
    return errors::Aborted(peer.task, " was restarted since the session began");
  }
  return remote->link();
}

std::vector<std::string> Peers::DropSilent(milliseconds patience) {
  std::vector<std::shared_ptr<RemoteTask>> tasks;
  {
    MutexLock lock(mu_);
    for (const auto& task : kept_) {
      if (task->alive() && task->link() != nullptr) tasks.push_back(task);
    }
  }
  std::vector<Status> answers(tasks.size());
  std::vector<std::thread> asking;
  for (size_t i = 0; i < tasks.size(); ++i) {
    asking.emplace_back([&task = *tasks[i], &answer = answers[i], patience] { answer = AskIfAlive(task, patience); });
  }
  for (std::thread& thread : asking) thread.join();
  std::vector<std::string> silent;
  for (size_t i = 0; i < tasks.size(); ++i) {
    if (!absl::IsDeadlineExceeded(answers[i])) continue;
    silent.push_back(absl::StrCat(tasks[i]->name(), " at ", tasks[i]->channel()->address()));
    tasks[i]->link()->Close(errors::Unavailable(silent.back(), " does not answer"));
  }
  return silent;
}

}  // namespace millstream
