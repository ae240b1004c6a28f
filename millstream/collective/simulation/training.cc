// SPDX-License-Identifier: Apache-2.0
#include "millstream/collective/simulation/training.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <numeric>
#include <utility>

#include "millstream/collective/simulation/parameter_servers.h"
#include "millstream/collective/simulation/replay.h"

namespace millstream::collective {
namespace {

bool UsesPs(TrainingMode mode) { return mode != TrainingMode::kAllReduce && mode != TrainingMode::kLocalSgd; }

Status Check(const TrainingOptions& o) {
  if (o.workers < 1 || o.ps < 1 || o.workers_per_host < 1 || o.steps < 1 || o.local_steps < 1 || o.staleness < 0 ||
      o.model_bytes < 4) {
    return errors::InvalidArgument("A simulated training needs workers, ps, workers per host, steps and a model");
  }
  const SimulatedLink& link = o.network.between_hosts;
  if (!(link.bytes_per_s > 0) || !(link.latency_s >= 0) || !(link.loss >= 0 && link.loss < 1) || !(o.compute_s >= 0)) {
    return errors::InvalidArgument("Rates must be positive, times not negative, and losses in [0, 1)");
  }
  return OkStatus();
}

// Hosts of the workers, then of the ps.
std::vector<int> HostsOf(const TrainingOptions& o) {
  std::vector<int> hosts;
  for (int i = 0; i < o.workers; ++i) hosts.push_back(i / o.workers_per_host);
  const int first = hosts.back() + 1;
  for (int i = 0; UsesPs(o.mode) && i < o.ps; ++i) hosts.push_back(first + i);
  return hosts;
}

// A number in (0, 1] for a worker and a step, whatever else is simulated.
double UniformOf(uint64_t seed, int worker, int step) {
  uint64_t x = seed * 0x9E3779B97F4A7C15u + static_cast<uint64_t>(worker) * 0xBF58476D1CE4E5B9u +
               static_cast<uint64_t>(step) * 0x94D049BB133111EBu;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
  return static_cast<double>(((x ^ (x >> 31)) >> 11) + 1) * 0x1p-53;
}

class Training {
 public:
  explicit Training(const TrainingOptions& options)
      : o_(options), hosts_(HostsOf(options)), network_(options.network, hosts_), made_(hosts_.size(), 0) {
    for (int i = 0; i < o_.workers; ++i) group_of_host_[hosts_[static_cast<size_t>(i)]].push_back(i);
  }

  StatusOr<TrainingResult> Run() {
    RETURN_IF_ERROR(Prepare());
    for (int worker = 0; worker < o_.workers; ++worker) Compute(worker);
    network_.Run();
    TrainingResult result;
    result.step_s = total_s_ / (static_cast<double>(o_.workers) * o_.steps);
    result.steps_per_s = o_.workers / result.step_s;
    result.messages = network_.messages();
    result.bytes_per_step = sent_bytes_ / (static_cast<double>(o_.workers) * o_.steps);
    return result;
  }

 private:
  struct HostGroup {
    std::vector<Schedule> reduce, broadcast;
    std::unique_ptr<Replay> reducing, broadcasting;
  };

  Status Prepare() {
    const std::vector<int> workers = hosts_of_workers();
    if (!UsesPs(o_.mode)) {
      ASSIGN_OR_RETURN(all_reduce_, RecordAllReduce(workers, o_.algorithm, o_.model_bytes));
      std::vector<int> processes(workers.size());
      std::iota(processes.begin(), processes.end(), 0);
      all_ = std::make_unique<Replay>(&network_, &all_reduce_, processes);
      CountBytes(all_reduce_, o_.mode == TrainingMode::kLocalSgd ? o_.steps / o_.local_steps : o_.steps);
      return OkStatus();
    }
    if (o_.mode == TrainingMode::kHierarchical) RETURN_IF_ERROR(PrepareHosts());
    const int clients = o_.mode == TrainingMode::kHierarchical ? static_cast<int>(group_of_host_.size()) : o_.workers;
    sent_bytes_ += 2.0 * static_cast<double>(o_.model_bytes) * clients * o_.steps;
    ps_ = std::make_unique<ParameterServers>(
        &network_, ParameterServers::Options{o_.workers, o_.ps, static_cast<double>(o_.model_bytes), o_.apply_byte_s,
                                             o_.mode == TrainingMode::kSyncPs, clients});
    return OkStatus();
  }

  Status PrepareHosts() {
    for (const auto& [host, ranks] : group_of_host_) {
      HostGroup& group = groups_[host];
      const std::vector<int> one_host(ranks.size(), 0);
      ASSIGN_OR_RETURN(group.reduce, RecordAllReduce(one_host, Algorithm::kAuto, o_.model_bytes));
      ASSIGN_OR_RETURN(group.broadcast, RecordBroadcast(one_host, o_.model_bytes, 0));
      group.reducing = std::make_unique<Replay>(&network_, &group.reduce, ranks);
      group.broadcasting = std::make_unique<Replay>(&network_, &group.broadcast, ranks);
    }
    return OkStatus();
  }

  std::vector<int> hosts_of_workers() const { return {hosts_.begin(), hosts_.begin() + o_.workers}; }

  // Bytes between hosts.
  void CountBytes(const std::vector<Schedule>& schedules, int times) {
    for (size_t rank = 0; rank < schedules.size(); ++rank) {
      for (const ScheduleStep& step : schedules[rank]) {
        if (step.kind != ScheduleStep::Kind::kSend || hosts_[rank] == hosts_[static_cast<size_t>(step.peer)]) continue;
        sent_bytes_ += static_cast<double>(step.bytes) * times;
      }
    }
  }

  double ComputeSeconds(int worker, int step) const {
    const double x = -std::log(UniformOf(o_.seed, worker, step));
    const bool slow = worker < static_cast<int>(std::lround(o_.straggler_share * o_.workers));
    return o_.compute_s * (1 + o_.jitter * x) * (slow ? o_.straggler_factor : 1);
  }

  void Compute(int worker) {
    const double seconds = ComputeSeconds(worker, made_[static_cast<size_t>(worker)]);
    network_.At(network_.now() + seconds, [this, worker] { Exchange(worker); });
  }

  void Exchange(int worker) {
    const auto done = [this, worker] { FinishStep(worker); };
    switch (o_.mode) {
      case TrainingMode::kSyncPs:
      case TrainingMode::kAsyncPs:
      case TrainingMode::kSsp:
        return ps_->Exchange(worker, done);
      case TrainingMode::kAllReduce:
        return all_->Enter(worker, done);
      case TrainingMode::kLocalSgd:
        return (made_[static_cast<size_t>(worker)] + 1) % o_.local_steps == 0 ? all_->Enter(worker, done) : done();
      case TrainingMode::kHierarchical:
        return ExchangeOfHost(worker);
    }
  }

  void ExchangeOfHost(int worker) {
    const int host = hosts_[static_cast<size_t>(worker)];
    const std::vector<int>& ranks = group_of_host_[host];
    const int rank = static_cast<int>(std::find(ranks.begin(), ranks.end(), worker) - ranks.begin());
    HostGroup& group = groups_[host];
    const auto done = [this, worker] { FinishStep(worker); };
    group.reducing->Enter(rank, [this, &group, rank, worker, done] {
      if (rank != 0) return group.broadcasting->Enter(rank, done);
      ps_->Exchange(worker, [&group, done] { group.broadcasting->Enter(0, done); });
    });
  }

  void FinishStep(int worker) {
    if (++made_[static_cast<size_t>(worker)] == o_.steps) total_s_ += network_.now();
    if (o_.mode == TrainingMode::kSsp) return ContinueWithinBound(worker);
    if (made_[static_cast<size_t>(worker)] < o_.steps) Compute(worker);
  }

  // Those who are not too far ahead of the slowest go on; the news takes a message to arrive.
  void ContinueWithinBound(int worker) {
    held_.push_back(worker);
    const int slowest = *std::min_element(made_.begin(), made_.begin() + o_.workers);
    std::vector<int> still;
    for (const int one : held_) {
      const int made = made_[static_cast<size_t>(one)];
      if (made - slowest > o_.staleness) {
        still.push_back(one);
      } else if (made < o_.steps) {
        const double news_s = one == worker ? 0 : o_.network.between_hosts.latency_s + o_.network.message_s;
        network_.At(network_.now() + news_s, [this, one] { Compute(one); });
      }
    }
    held_ = std::move(still);
  }

  const TrainingOptions o_;
  const std::vector<int> hosts_;
  SimulatedNetwork network_;
  std::map<int, std::vector<int>> group_of_host_;
  std::vector<Schedule> all_reduce_;
  std::unique_ptr<Replay> all_;
  std::map<int, HostGroup> groups_;
  std::unique_ptr<ParameterServers> ps_;
  std::vector<int> made_;  // steps, by worker
  std::vector<int> held_;  // kSsp: workers that wait for the slowest
  double total_s_ = 0, sent_bytes_ = 0;
};

}  // namespace

std::string TrainingModeName(TrainingMode mode) {
  constexpr const char* kNames[] = {"sync-ps", "async-ps", "ssp", "allreduce", "hierarchical", "local-sgd"};
  return kNames[static_cast<size_t>(mode)];
}

StatusOr<TrainingResult> SimulateTraining(const TrainingOptions& options) {
  RETURN_IF_ERROR(Check(options));
  return Training(options).Run();
}

}  // namespace millstream::collective
