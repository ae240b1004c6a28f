// SPDX-License-Identifier: Apache-2.0
#include "millstream/status/cluster_status.h"

#include <algorithm>
#include <atomic>
#include <thread>

#include "absl/strings/str_format.h"
#include "google/protobuf/wrappers.pb.h"
#include "millstream/distributed/wire/task_methods.h"
#include "millstream/proto/task.pb.h"
#include "millstream/runtime/chrome_trace.h"
#include "millstream/status/json_text.h"

namespace millstream {
namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t kMaxAnswer = size_t{64} << 20;

double NowSeconds() { return static_cast<double>(NowMillis()) / 1000; }

// How many updates others make while a step of a task runs, on average: their rate times its duration (Little's law).
// The rate is that of the global step, where some task has it; else every step of another master counts.
void EstimateStaleness(Json* tasks) {
  double updates = 0, all_steps = 0;
  bool known = false;
  for (const Json& task : *tasks) {
    all_steps += NumberOf(MemberOf(task, "steps"), "per_second");
    if (!BoolOf(task, "owns_global_step")) continue;
    known = true;
    updates = std::max(updates, NumberOf(task, "global_steps_per_second"));
  }
  for (Json& task : *tasks) {
    const double own = NumberOf(MemberOf(task, "steps"), "per_second"),
                 seconds = NumberOf(MemberOf(task, "steps"), "mean_seconds");
    if (own <= 0 || seconds <= 0) continue;
    const double others = known ? std::max(0.0, updates - own) : all_steps - own;
    task["staleness"] = std::max(0.0, others * seconds);
  }
}

}  // namespace

ClusterStatus::ClusterStatus(Options options) : options_(std::move(options)) {
  for (const ClusterSpec::Task& task : options_.cluster.all_tasks()) {
    auto peer = std::make_unique<Peer>();
    peer->task = task;
    if (task.name() != options_.own->task()) {
      RpcChannelOptions access = options_.channel;
      access.server = task.name();
      StatusOr<std::shared_ptr<RpcChannel>> channel = RpcChannel::Connect(task.address, access);
      if (channel.ok()) peer->channel = *std::move(channel);
    }
    peers_.push_back(std::move(peer));
  }
}

ClusterStatus::Answer ClusterStatus::Ask(Peer& peer, const std::string& question) {
  Answer answer;
  if (peer.task.name() == options_.own->task()) {
    StatusOr<std::string> text = options_.own->Answer(question);
    answer.status = text.status();
    if (text.ok()) answer.text = *std::move(text);
  } else if (peer.channel == nullptr) {
    answer.status = errors::Unavailable("its address cannot be used");
  } else {
    google::protobuf::StringValue request;
    google::protobuf::BytesValue response;
    request.set_value(question);
    const auto start = Clock::now();
    answer.status = peer.channel->Call(TaskMethod("Status"), request, &response,
                                       {.deadline = start + options_.timeout, .cancellation = options_.stop});
    answer.seconds = std::chrono::duration<double>(Clock::now() - start).count();
    answer.text = std::move(*response.mutable_value());
    if (answer.text.size() > kMaxAnswer)
      answer.status = errors::ResourceExhausted("it answers with ", answer.text.size(), " bytes");
  }
  return answer;
}

std::vector<ClusterStatus::Answer> ClusterStatus::AskAll(const std::string& question) {
  std::vector<Answer> answers(peers_.size());
  std::vector<std::thread> threads;
  std::atomic<size_t> next{0};
  const auto ask = [&] {
    for (size_t i; (i = next.fetch_add(1)) < peers_.size();) answers[i] = Ask(*peers_[i], question);
  };
  // Whoever does not answer holds one of these up for the timeout, not all.
  for (size_t i = 1; i < std::min<size_t>(peers_.size(), 16); ++i) threads.emplace_back(ask);
  ask();
  for (std::thread& thread : threads) thread.join();
  return answers;
}

Json ClusterStatus::Health(Peer& peer, const Answer& answer) {
  const double now = NowSeconds();
  Json json = Json::object();
  if (answer.status.ok()) json = ParseJson(answer.text);
  const bool readable = json.is_object();
  const bool someone_else = readable && TextOf(json, "task") != peer.task.name();
  const bool up = answer.status.ok() && readable && !someone_else;
  if (!up) json = Json::object();
  MutexLock lock(peer.mu);
  if (const std::string incarnation = TextOf(json, "incarnation"); !incarnation.empty()) {
    if (!peer.incarnation.empty() && peer.incarnation != incarnation) ++peer.restarts;
    peer.incarnation = incarnation;
  }
  if (up != peer.up || peer.changed == 0) peer.changed = now;
  peer.up = up;
  json["task"] = peer.task.name();
  json["job"] = peer.task.job;
  json["index"] = peer.task.index;
  json["address"] = peer.task.address;
  const bool done = BoolOf(json, "job_done");
  json["health"] = done ? "done" : up ? "up" : peer.incarnation.empty() ? "missing" : "down";
  json["health_since"] = peer.changed;
  json["restarts"] = peer.restarts;
  json["round_trip_seconds"] = answer.seconds;
  json["staleness"] = nullptr;
  json["error"] = nullptr;
  if (!answer.status.ok())
    json["error"] = std::string(answer.status.message());
  else if (someone_else)
    json["error"] = "another task answers at its address";
  else if (!up)
    json["error"] = "its answer cannot be read";
  return json;
}

std::string ClusterStatus::Describe(double since) {
  const std::vector<Answer> answers = AskAll(absl::StrFormat("since=%.3f", since));
  Json tasks = Json::array();
  for (size_t i = 0; i < peers_.size(); ++i) tasks.push_back(Health(*peers_[i], answers[i]));
  EstimateStaleness(&tasks);
  return ToText({{"task", options_.own->task()}, {"time", NowSeconds()}, {"tasks", std::move(tasks)}});
}

std::string ClusterStatus::DescribeEnd(double since) {
  options_.own->Sample();  // what the last steps fetched
  Json tasks = Json::array();
  for (const auto& peer : peers_) {
    if (peer->task.name() != options_.own->task()) continue;
    Json own = Health(*peer, Ask(*peer, absl::StrFormat("since=%.3f", since)));
    own["health"] = "done";
    tasks.push_back(std::move(own));
  }
  return ToText({{"task", options_.own->task()}, {"time", NowSeconds()}, {"ended", true}, {"tasks", std::move(tasks)}});
}

StatusOr<ClusterStatus::Peer*> ClusterStatus::Find(const std::string& task) {
  for (const auto& peer : peers_) {
    if (peer->task.name() == task) return peer.get();
  }
  return errors::NotFound("The cluster has no task '", task, "'");
}

StatusOr<std::string> ClusterStatus::Graph(const std::string& task) {
  if (!task.empty()) {
    ASSIGN_OR_RETURN(Peer * peer, Find(task));
    Answer answer = Ask(*peer, "graph");
    RETURN_IF_ERROR(answer.status);
    return std::move(answer.text);
  }
  for (Answer& answer : AskAll("graph")) {
    if (answer.status.ok()) return std::move(answer.text);
  }
  return errors::NotFound("No session with a graph is open at any task");
}

StatusOr<std::string> ClusterStatus::TraceOwn(std::chrono::milliseconds timeout) {
  ASSIGN_OR_RETURN(const proto::StepStats stats, options_.traces->Next(timeout, options_.stop));
  return ChromeTrace(stats);
}

StatusOr<std::string> ClusterStatus::Trace(const std::string& task, std::chrono::milliseconds timeout) {
  ASSIGN_OR_RETURN(Peer * peer, Find(task));
  if (task == options_.own->task()) return TraceOwn(timeout);
  if (peer->channel == nullptr) return errors::Unavailable("its address cannot be used");
  proto::TraceRequest request;
  proto::TraceResponse response;
  request.set_timeout_ms(timeout.count());
  RETURN_IF_ERROR(
      peer->channel->Call(TaskMethod("Trace"), request, &response,
                          {.deadline = Clock::now() + timeout + options_.timeout, .cancellation = options_.stop}));
  return ChromeTrace(response.step_stats());
}

}  // namespace millstream
