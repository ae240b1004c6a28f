// SPDX-License-Identifier: Apache-2.0
#include "millstream/distributed/master/remote_task.h"

#include <algorithm>

#include "millstream/base/logging.h"
#include "millstream/base/notification.h"
#include "millstream/distributed/wire/protocol.h"
#include "millstream/distributed/wire/task_methods.h"
#include "millstream/distributed/wire/wire_tensor.h"
#include "millstream/distributed/worker/register_part.h"
#include "millstream/proto/step_stats.pb.h"
#include "millstream/proto/task.pb.h"

namespace millstream {
namespace {

constexpr auto kAskAgain = std::chrono::seconds(1);

RpcCallOptions Within(std::chrono::milliseconds deadline) {
  RpcCallOptions options;
  options.deadline = std::chrono::steady_clock::now() + deadline;
  return options;
}

}  // namespace

RemoteTask::RemoteTask(Options options, const FrameRouter& routes)
    : ClusterTask(options.name, options.incarnation, options.devices),
      options_(std::move(options)),
      router_(routes, options_.address) {
  router_.Route({kFetch, kPartDone}, this);
}

RemoteTask::~RemoteTask() = default;

void RemoteTask::set_link(std::shared_ptr<PeerLink> link) { link_ = std::move(link); }

Status RemoteTask::CheckAlive() {
  if (alive()) [[likely]]
    return OkStatus();
  {
    MutexLock lock(mu_);
    if (restarted_) return errors::Aborted(name(), " at ", options_.address, " was restarted: ", lost_.message());
    const auto now = std::chrono::steady_clock::now();
    if (now - asked_ < kAskAgain) return lost_;
    asked_ = now;
  }
  // Somebody else may have taken its place, with none of its state.
  proto::HelloRequest request;
  proto::HelloResponse response;
  request.set_protocol(kProtocolVersion);
  request.set_from_task(options_.own_task);
  request.set_from_incarnation(options_.own_incarnation);
  const bool answers =
      options_.channel->Call(TaskMethod("Hello"), request, &response, Within(std::chrono::milliseconds(500))).ok();
  MutexLock lock(mu_);
  if (!answers) return lost_;
  restarted_ = true;
  return errors::Aborted(name(), " at ", options_.address, " was restarted: ", lost_.message());
}

Status RemoteTask::Call(const char* method, const google::protobuf::Message& request,
                        google::protobuf::Message* response) {
  Status status;
  Notification answered;
  options_.channel->CallAsync(TaskMethod(method), request, response, Within(options_.deadline), [&](Status answer) {
    status = std::move(answer);
    answered.Notify();
  });
  const auto patience = options_.deadline / 3;
  if (!answered.WaitUntil(std::chrono::steady_clock::now() + patience)) {
    LogWarning(absl::StrCat(options_.own_task, ": waiting for ", name(), " at ", options_.address, " to answer ",
                            method, " (", std::chrono::duration_cast<std::chrono::seconds>(patience).count(), " s)"));
    answered.Wait();
  }
  if (status.ok()) return status;
  // An outage, not a deadline of the caller's.
  if (absl::IsDeadlineExceeded(status)) {
    return errors::Unavailable(name(), " at ", options_.address, " did not answer ", method, " within ",
                               options_.deadline.count() / 1000.0, " s");
  }
  return Status(status.code(), absl::StrCat("From ", name(), ":\n", status.message()));
}

void RemoteTask::CallWithoutWaiting(const char* method, const google::protobuf::Message& request,
                                    std::shared_ptr<google::protobuf::Message> response) {
  if (!alive()) return;
  options_.channel->CallAsync(TaskMethod(method), request, response.get(), Within(options_.deadline),
                              [response](Status) {});
}

Status RemoteTask::CreateSession(const TaskSessionSpec& spec) {
  proto::CreateTaskSessionRequest request;
  request.set_session(spec.name);
  request.set_master_task(options_.own_task);
  request.set_master_incarnation(options_.own_incarnation);
  request.set_incarnation(incarnation());
  request.set_isolate_state(spec.isolate_state);
  *request.mutable_config() = spec.config;
  request.set_task(spec.task);
  if (!spec.task.empty()) request.set_session_master(spec.master);
  proto::CreateTaskSessionResponse response;
  return Call("CreateSession", request, &response);
}

void RemoteTask::DeleteSession(const std::string& session) {
  proto::DeleteTaskSessionRequest request;
  request.set_session(session);
  CallWithoutWaiting("DeleteSession", request, std::make_shared<proto::DeleteTaskSessionResponse>());
}

StatusOr<uint32_t> RemoteTask::Register(const std::string& session, GraphPart part,
                                        const std::vector<EdgeTarget>& sends, const std::vector<FromTask>& from) {
  proto::RegisterPartRequest request;
  request.set_session(session);
  RETURN_IF_ERROR(PartToProto(part, &request));
  for (const EdgeTarget& edge : sends) {
    auto* message = request.add_send();
    message->set_id(edge.id);
    message->set_to_task(edge.task);
    message->set_to_incarnation(edge.incarnation);
  }
  for (const FromTask& task : from) {
    for (const uint32_t edge : task.edges) {
      auto* receive = request.add_receive();
      receive->set_id(edge);
      receive->set_from(static_cast<uint32_t>(request.from_task_size()));
    }
    request.add_from_task(task.name);
    request.add_from_incarnation(task.incarnation);
  }
  proto::RegisterPartResponse response;
  RETURN_IF_ERROR(Call("RegisterPart", request, &response));
  return response.part();
}

void RemoteTask::Deregister(const std::string& session, uint32_t part) {
  proto::DeregisterPartRequest request;
  request.set_session(session);
  request.set_part(part);
  CallWithoutWaiting("DeregisterPart", request, std::make_shared<proto::DeregisterPartResponse>());
}

Status RemoteTask::Reset(const std::vector<std::string>& containers) {
  proto::ResetTaskRequest request;
  for (const std::string& container : containers) request.add_container(container);
  proto::ResetTaskResponse response;
  return Call("Reset", request, &response);
}

// Steps.

void RemoteTask::Run(PartRun run, uint64_t index, bool) {
  Frame begin;
  begin.kind = kRunPart;
  begin.step = run.step;
  begin.edge = run.part;
  begin.tag = index;
  const bool numbered = run.identity.client != 0;
  AppendVarint((run.traced ? kRunTraced : 0) | (numbered ? kRunNumbered : 0), &begin.body);
  if (numbered) {
    AppendVarint(run.identity.client, &begin.body);
    AppendVarint(run.identity.number, &begin.body);
  }
  std::vector<Frame> large;
  for (size_t i = 0; i < run.args.size(); ++i) {
    Frame own;
    if (Status s = EncodeNumbered(i, run.args[i], &begin.body, &own.body, &own.payload); !s.ok())
      return run.done(std::move(s), nullptr, nullptr);
    if (!own.payload.IsInitialized()) continue;
    own.kind = kFeed;
    own.may_lend = true;
    own.step = run.step;
    own.edge = static_cast<uint32_t>(i);
    large.push_back(std::move(own));
  }
  Status lost;
  {
    MutexLock lock(mu_);
    lost = lost_;
    if (lost.ok()) pending_.emplace(run.step, Pending{std::move(run.done), {}});
  }
  if (!lost.ok()) return run.done(std::move(lost), nullptr, nullptr);
  for (Frame& frame : large) link_->Send(std::move(frame));
  link_->Send(std::move(begin));
}

void RemoteTask::Cancel(uint64_t step, const Status& why) {
  {
    MutexLock lock(mu_);
    if (!pending_.contains(step)) return;
  }
  Frame frame;
  frame.kind = kCancelStep;
  frame.step = step;
  frame.body = std::string(why.message().substr(0, 1024));
  link_->Send(std::move(frame));
}

void RemoteTask::Fail(uint64_t step, const Status& why) {
  Pending pending;
  {
    MutexLock lock(mu_);
    auto it = pending_.find(step);
    if (it == pending_.end()) return;
    pending = std::move(it->second);
    pending_.erase(it);
  }
  pending.done(why, nullptr, nullptr);
}

StatusOr<Tensor> RemoteTask::Allocate(PeerLink& /*link*/, const Frame& frame, uint64_t bytes) {
  StatusOr<Tensor> memory = AllocatePayload(frame.body, bytes, options_.max_tensor_bytes);
  if (!memory.ok()) Fail(frame.step, memory.status());
  return memory;
}

void RemoteTask::Receive(PeerLink& /*link*/, Frame frame) {
  if (frame.kind == kFetch) return Fetched(frame);
  Answer(frame);
}

void RemoteTask::Fetched(Frame& frame) {
  absl::string_view body = frame.body;
  Tensor value;
  bool dead = false;
  Status status = DecodeTensor(&body, std::move(frame.payload), options_.max_tensor_bytes, &value, &dead);
  if (!status.ok()) return Fail(frame.step, status);
  MutexLock lock(mu_);
  auto it = pending_.find(frame.step);
  if (it != pending_.end()) it->second.fetches.emplace_back(frame.edge, std::move(value));
}

void RemoteTask::Answer(const Frame& frame) {
  Pending pending;
  {
    MutexLock lock(mu_);
    auto it = pending_.find(frame.step);
    if (it == pending_.end()) return;
    pending = std::move(it->second);
    pending_.erase(it);
  }
  const auto malformed = [&] { pending.done(errors::Internal("Malformed answer from ", name()), nullptr, nullptr); };
  absl::string_view body = frame.body, message, stats_bytes;
  uint64_t count = 0;
  if (!ConsumeBytes(&body, &message) || !ConsumeBytes(&body, &stats_bytes) || !ConsumeVarint(&body, &count))
    return malformed();
  std::unique_ptr<proto::StepStats> stats;
  if (!stats_bytes.empty()) {
    stats = std::make_unique<proto::StepStats>();
    if (!stats->ParseFromArray(stats_bytes.data(), static_cast<int>(stats_bytes.size()))) return malformed();
  }
  if (frame.edge != 0) {
    return pending.done(Status(static_cast<absl::StatusCode>(frame.edge), message), nullptr, stats.get());
  }
  std::vector<Tensor> rets;
  constexpr uint64_t kMaxRets = 1 << 22;
  const auto place = [&](uint64_t number, Tensor value) {
    if (number >= kMaxRets) return false;
    if (number >= rets.size()) rets.resize(number + 1);
    rets[number] = std::move(value);
    return true;
  };
  for (auto& [number, value] : pending.fetches) {
    if (!place(number, std::move(value))) return malformed();
  }
  for (uint64_t i = 0; i < count; ++i) {
    uint64_t number = 0;
    Tensor value;
    bool dead = false;
    if (!ConsumeVarint(&body, &number) ||
        !DecodeTensor(&body, Tensor(), options_.max_tensor_bytes, &value, &dead).ok() ||
        !place(number, std::move(value))) {
      return malformed();
    }
  }
  // Numbers may have been left out, and values may be dead.
  const bool whole = std::all_of(rets.begin(), rets.end(), [](const Tensor& value) { return value.IsInitialized(); });
  if (!whole) return malformed();
  pending.done(OkStatus(), &rets, stats.get());
}

void RemoteTask::LinkLost(PeerLink& /*link*/, const Status& why) {
  absl::flat_hash_map<uint64_t, Pending> pending;
  {
    MutexLock lock(mu_);
    lost_ = why;
    pending.swap(pending_);
    alive_.store(false, std::memory_order_release);
  }
  for (auto& [step, call] : pending) call.done(why, nullptr, nullptr);
}

}  // namespace millstream
