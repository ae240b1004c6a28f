// SPDX-License-Identifier: Apache-2.0
#include "tests/chaos/threads/cluster.h"

#include <sys/select.h>

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "millstream/base/logging.h"
#include "millstream/distributed/link/sockets.h"
#include "tests/chaos/threads/virtual_time.h"

namespace millstream::chaos {
namespace {

Record::Rule RuleOf(Mode mode) {
  return mode == Mode::kAsync  ? Record::Rule::kCounters
         : mode == Mode::kSync ? Record::Rule::kRounds
                               : Record::Rule::kReplicas;
}

}  // namespace

Cluster::Cluster(const Options& options)
    : options_(options),
      checkpoints_(options.saves ? std::make_unique<Checkpoints>() : nullptr),
      record_(options.workers, RuleOf(options.mode)) {
  std::vector<UniqueFd> held;  // so that the ports differ
  std::map<std::string, std::map<int, std::string>> jobs;
  const auto add = [&](const std::string& job, int index) {
    const size_t number = tasks_.size();
    int port = 0;
    held.push_back(std::move(ListenTcp("127.0.0.1", &port)).value());
    tasks_.push_back(TaskName(job, index));
    hosts_.push_back(absl::StrCat("127.0.0.", 10 + number));
    ports_.push_back(port);
    addresses_.push_back(absl::StrCat(hosts_.back(), ":", port));
    jobs[job][index] = addresses_.back();
  };
  for (int i = 0; i < options.ps; ++i) add("ps", i);
  for (int i = 0; i < options.workers; ++i) add("worker", i);
  spec_ = *ClusterSpec::Make({jobs.begin(), jobs.end()});
  held.clear();
  for (size_t i = 0; i < tasks_.size(); ++i) Start(i);
}

Cluster::~Cluster() {
  for (size_t i = tasks_.size(); i-- > 0;) Kill(i);
}

void Cluster::Start(size_t task) {
  if (servers_.contains(task)) return;
  ServerOptions options;
  options.cluster = spec_;
  options.job_name = static_cast<int>(task) < options_.ps ? "ps" : "worker";
  options.task_index = static_cast<int>(task) - (options.job_name == "ps" ? 0 : options_.ps);
  options.bind_address = "127.0.0.1";
  MS_CHECK(options.SetLinks(options_.links).ok());
  const std::set<int> before = ListeningPorts();
  StatusOr<std::unique_ptr<Server>> server = Server::Start(options);
  // Another process of this machine may have the port for a while. That is real time.
  for (int i = 0; i < 400 && !server.ok(); ++i) {
    timeval pause = {0, 50'000};
    select(0, nullptr, nullptr, nullptr, &pause);
    server = Server::Start(options);
  }
  if (!server.ok()) LogError(server.status().message());
  MS_CHECK(server.ok());
  servers_[task] = *std::move(server);
  std::set<int> ports;
  for (const int port : ListeningPorts()) {
    if (!before.contains(port)) ports.insert(port);
  }
  network_.CutOff(tasks_[task], false);
  network_.Serve(tasks_[task], hosts_[task], ports);
  if (options.job_name == "worker") {
    const Trainer::Options trainer = {options_.mode, options.task_index, options_.workers, options_.ps,
                                      checkpoints_.get()};
    trainers_[task] = std::make_unique<Trainer>(servers_[task].get(), trainer, &record_);
  }
}

void Cluster::Kill(size_t task) {
  if (!servers_.contains(task)) return;
  network_.CutOff(tasks_[task], true);
  network_.StopServing(tasks_[task]);
  if (static_cast<int>(task) < num_roots())
    record_.VariablesLost(VirtualTime::now_ns(), checkpoints_ == nullptr ? 0 : checkpoints_->restorable_step());
  trainers_.erase(task);
  servers_.erase(task);
}

std::vector<std::string> Cluster::EndedPrograms() const {
  std::vector<std::string> ended;
  for (const auto& [task, trainer] : trainers_) {
    if (const std::optional<Status> why = trainer->ended())
      ended.push_back(absl::StrCat(tasks_[task], ": ", why->ToString()));
  }
  return ended;
}

}  // namespace millstream::chaos
