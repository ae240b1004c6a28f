// SPDX-License-Identifier: Apache-2.0
// How the step time of each way to train grows with workers and ps tasks, in a simulated network (docs/scaling.md).
#include <sys/mman.h>

#include <algorithm>
#include <chrono>
#include <limits>

#include "cli/bench.h"
#include "millstream/collective/simulation/calibration.h"
#include "millstream/collective/simulation/training.h"
#include "millstream/distributed/collective/rank_processes.h"

namespace millstream::cli {
namespace {

// Everybody sends everything to everybody: beyond this it takes longer to simulate than anybody would wait for it.
constexpr int kMostFlatRanks = 16;

collective::NetworkOptions NetworkOf(const ScaleOptions& scale) {
  collective::NetworkOptions network;
  network.between_hosts = {scale.latency_us * 1e-6, scale.gbit * 1e9 / 8, scale.loss};
  network.seed = scale.seed;
  return network;
}

collective::TrainingOptions TrainingOf(const ScaleOptions& scale, const collective::NetworkOptions& network) {
  collective::TrainingOptions options;
  options.network = network;
  options.workers_per_host = scale.workers_per_host;
  options.model_bytes = scale.model_bytes;
  options.compute_s = scale.compute_ms / 1000;
  options.jitter = scale.jitter;
  options.straggler_share = scale.straggler_share;
  options.straggler_factor = scale.straggler_factor;
  options.staleness = scale.staleness;
  options.local_steps = scale.local_steps;
  options.steps = std::max(scale.steps, scale.local_steps);
  options.seed = scale.seed;
  return options;
}

Status Simulate(const BenchOptions& bench, const collective::TrainingOptions& options, const std::string& name) {
  if (name.find(bench.filter) == std::string::npos) return OkStatus();
  ASSIGN_OR_RETURN(const collective::TrainingResult result, collective::SimulateTraining(options));
  Report(name, result.step_s * 1000, "ms");
  Report(name + "/bytes_per_step", result.bytes_per_step, "bytes");
  return OkStatus();
}

Status SimulateAllReduces(const BenchOptions& bench, collective::TrainingOptions options) {
  for (const collective::Algorithm algorithm :
       {collective::Algorithm::kFlat, collective::Algorithm::kTree, collective::Algorithm::kRing,
        collective::Algorithm::kHalvingDoubling, collective::Algorithm::kTwoLevel, collective::Algorithm::kAuto}) {
    if (algorithm == collective::Algorithm::kFlat && options.workers > kMostFlatRanks) continue;
    options.mode = collective::TrainingMode::kAllReduce;
    options.algorithm = algorithm;
    const std::string name(collective::AlgorithmName(algorithm));
    RETURN_IF_ERROR(
        Simulate(bench, options, absl::StrCat("scaling/allreduce-", name, "/", options.workers, "_workers")));
  }
  options.mode = collective::TrainingMode::kLocalSgd;
  options.algorithm = collective::Algorithm::kAuto;
  return Simulate(bench, options, absl::StrCat("scaling/local-sgd/", options.workers, "_workers"));
}

Status SimulateWithPs(const BenchOptions& bench, collective::TrainingOptions options) {
  for (const collective::TrainingMode mode :
       {collective::TrainingMode::kSyncPs, collective::TrainingMode::kAsyncPs, collective::TrainingMode::kSsp,
        collective::TrainingMode::kHierarchical}) {
    options.mode = mode;
    RETURN_IF_ERROR(Simulate(bench, options,
                             absl::StrCat("scaling/", collective::TrainingModeName(mode), "/", options.workers,
                                          "_workers/", options.ps, "_ps")));
  }
  return OkStatus();
}

// Seconds of an all-reduce between processes of this host over TCP, at best.
StatusOr<double> MeasureAllReduce(int ranks, uint64_t bytes) {
  RankProcessOptions processes = {ranks, "tcp", {}};
  processes.group.name = "calibration";
  processes.group.shared_memory = false;
  // The processes are children: they leave the result in memory that they share with this one.
  void* const shared = mmap(nullptr, sizeof(double), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED) return errors::ResourceExhausted("mmap of shared memory failed");
  double& result = *static_cast<double*>(shared);
  const Status status = RunRankProcesses(processes, [&](collective::Group& group) {
    std::vector<float> data(bytes / sizeof(float), 0.f);
    const bool small = bytes < (1 << 20);
    const int calls = small ? 4 : 1;                   // one alone may find what it needs already there
    double best = std::numeric_limits<double>::max();  // the others were disturbed by other programs
    for (int round = small ? 300 : 40; round > 0; --round) {
      RETURN_IF_ERROR(group.Barrier());
      const auto start = std::chrono::steady_clock::now();
      for (int i = 0; i < calls; ++i) {
        RETURN_IF_ERROR(
            group.AllReduce(data.data(), static_cast<int64_t>(data.size()), DType::kFloat, collective::ReduceOp::kSum));
      }
      best = std::min(best, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() / calls);
    }
    if (group.rank() == 0) result = best;
    return OkStatus();
  });
  const double seconds = result;
  munmap(shared, sizeof(double));
  RETURN_IF_ERROR(status);
  return seconds;
}

// The costs of messages and bytes on this host, by 2 and 4 processes; what the simulation then says of them. The host
// is its own network: it has no latency of its own, and its cores are shared.
StatusOr<collective::NetworkOptions> CalibrateHere(const collective::NetworkOptions& network) {
  std::vector<collective::MeasuredAllReduce> measured;
  for (const int ranks : {2, 4}) {
    for (const uint64_t bytes : {uint64_t{1} << 10, uint64_t{64} << 10, uint64_t{1} << 20, uint64_t{16} << 20}) {
      ASSIGN_OR_RETURN(const double seconds, MeasureAllReduce(ranks, bytes));
      measured.push_back({ranks, bytes, seconds});
    }
  }
  collective::NetworkOptions here = network;
  here.between_hosts = {0, 1e12, 0};
  ASSIGN_OR_RETURN(here, collective::Calibrate(here, measured));
  Report("scaling/calibration/message", here.message_s * 1e6, "us");
  Report("scaling/calibration/byte", here.byte_s * 1e9, "ns");
  for (const collective::MeasuredAllReduce& one : measured) {
    const std::string name = absl::StrCat("scaling/calibration/", one.ranks, "_processes/", one.bytes, "B");
    ASSIGN_OR_RETURN(const double simulated, collective::SimulatedSeconds(here, one));
    Report(name + "/measured", one.seconds * 1e6, "us");
    Report(name + "/simulated", simulated * 1e6, "us");
  }
  collective::NetworkOptions calibrated = network;
  calibrated.message_s = here.message_s;
  calibrated.byte_s = here.byte_s;
  return calibrated;
}

Status BenchScaling(const BenchOptions& bench) {
  collective::NetworkOptions network = NetworkOf(bench.scale);
  if (bench.scale.calibrate) {
    ASSIGN_OR_RETURN(network, CalibrateHere(network));
  }
  collective::TrainingOptions options = TrainingOf(bench.scale, network);
  for (const int workers : bench.scale.workers) {
    options.workers = workers;
    RETURN_IF_ERROR(SimulateAllReduces(bench, options));
    for (const int ps : bench.scale.ps) {
      options.ps = ps;
      RETURN_IF_ERROR(SimulateWithPs(bench, options));
    }
  }
  return OkStatus();
}

const Registration<BenchSuite> kScalingSuite({.name = "scaling",
                                              .help = "step times of all modes in a simulated network",
                                              .run = BenchScaling});

}  // namespace
}  // namespace millstream::cli
