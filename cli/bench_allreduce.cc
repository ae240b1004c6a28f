// SPDX-License-Identifier: Apache-2.0
// All-reduce between processes of this host: how long one operation takes.
#include <algorithm>
#include <chrono>

#include "cli/bench.h"
#include "cli/bench_allreduce_peers.h"
#include "millstream/collective/group.h"
#include "millstream/distributed/collective/rank_processes.h"

namespace millstream::cli {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kRounds = 7;

std::string SizeName(uint64_t bytes) {
  if (bytes >= (1 << 20) && bytes % (1 << 20) == 0) return absl::StrCat(bytes >> 20, "MB");
  if (bytes >= 1024 && bytes % 1024 == 0) return absl::StrCat(bytes >> 10, "KB");
  return absl::StrCat(bytes, "B");
}

// How many operations fill a round: rank 0 decides.
StatusOr<int64_t> AgreeOnCount(collective::Group& group, double seconds_each, double seconds) {
  int64_t count = std::clamp<int64_t>(static_cast<int64_t>(seconds / kRounds / seconds_each), 1, 1'000'000);
  RETURN_IF_ERROR(group.Broadcast(&count, sizeof(count), 0));
  return count;
}

// Seconds for `count` operations.
StatusOr<double> TimeRound(collective::Group& group, float* data, int64_t elements, int64_t count) {
  RETURN_IF_ERROR(group.Barrier());
  const auto start = Clock::now();
  for (int64_t i = 0; i < count; ++i) {
    RETURN_IF_ERROR(group.AllReduce(data, elements, DType::kFloat, collective::ReduceOp::kSum));
  }
  return std::chrono::duration<double>(Clock::now() - start).count();
}

Status MeasureSize(const BenchOptions& options, collective::Group& group, const std::string& name, uint64_t bytes) {
  const int64_t elements = static_cast<int64_t>(bytes / sizeof(float));
  ASSIGN_OR_RETURN(char* const memory, group.AllocateShared(bytes));
  float* const data = reinterpret_cast<float*>(memory);
  std::fill_n(data, elements, 0.0f);  // sums stay zero, however often they are added
  RETURN_IF_ERROR(TimeRound(group, data, elements, 1).status());
  ASSIGN_OR_RETURN(const double first, TimeRound(group, data, elements, 2));
  ASSIGN_OR_RETURN(int64_t count, AgreeOnCount(group, first / 2, options.seconds / 10));
  ASSIGN_OR_RETURN(const double warm, TimeRound(group, data, elements, count));
  ASSIGN_OR_RETURN(count, AgreeOnCount(group, warm / static_cast<double>(count), options.seconds));
  std::vector<double> rounds;
  for (int i = 0; i < kRounds; ++i) {
    ASSIGN_OR_RETURN(const double took, TimeRound(group, data, elements, count));
    rounds.push_back(took / static_cast<double>(count));
  }
  std::nth_element(rounds.begin(), rounds.begin() + kRounds / 2, rounds.end());
  if (group.rank() == 0) Report(name, rounds[kRounds / 2] * 1e6, "us");
  return OkStatus();
}

std::vector<uint64_t> SizesOf(const BenchOptions& options) {
  if (!options.sizes.empty()) return options.sizes;
  return {1 << 10, 64 << 10, 1 << 20, 16 << 20, 64 << 20, 256 << 20};
}

Status MeasureAll(const BenchOptions& options, collective::Group& group, const std::string& transport) {
  for (const uint64_t bytes : SizesOf(options)) {
    const std::string name = absl::StrCat("allreduce/own/", transport, "/", options.ranks, "_ranks/", SizeName(bytes));
    if (name.find(options.filter) == std::string::npos) continue;
    RETURN_IF_ERROR(MeasureSize(options, group, name, bytes));
  }
  return OkStatus();
}

Status BenchAllReduce(const BenchOptions& options) {
  for (const std::string transport : {"shm", "tcp"}) {
    if (!options.transport.empty() && options.transport != transport) continue;
    if (options.backend != "own") {
      RETURN_IF_ERROR(BenchPeerAllReduce(options, transport, SizesOf(options)));
      continue;
    }
    RankProcessOptions processes = {options.ranks, transport, {}};
    processes.group.name = "bench";
    processes.group.shared_memory = transport == "shm";
    RETURN_IF_ERROR(
        RunRankProcesses(processes, [&](collective::Group& group) { return MeasureAll(options, group, transport); }));
  }
  return OkStatus();
}

const Registration<BenchSuite> kAllReduceSuite({.name = "allreduce",
                                                .help = "sums of arrays over processes of this host",
                                                .run = BenchAllReduce});

}  // namespace
}  // namespace millstream::cli
