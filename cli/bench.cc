// SPDX-License-Identifier: Apache-2.0
#include "cli/bench.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <vector>

#include "absl/strings/str_cat.h"
#include "cli/command.h"

namespace millstream::cli {
namespace {

using Clock = std::chrono::steady_clock;

double Seconds(Clock::time_point from) { return std::chrono::duration<double>(Clock::now() - from).count(); }

}  // namespace

void Report(const std::string& name, double value, const std::string& unit) {
  nlohmann::ordered_json line;
  line["name"] = name;
  line["value"] = value;
  line["unit"] = unit;
  std::printf("%s\n", line.dump().c_str());
  std::fflush(stdout);
}

double MedianNanos(double seconds, const std::function<void()>& fn) {
  constexpr int kRounds = 15;
  fn();  // warm up: compile the plan, fill the caches
  int64_t calls = 1;
  for (;;) {  // as many calls as fill a fifteenth of the time
    const auto start = Clock::now();
    for (int64_t i = 0; i < calls; ++i) fn();
    const double took = Seconds(start);
    if (took > seconds / kRounds || calls > (1 << 24)) break;
    calls = took <= 0 ? calls * 10
                      : std::max<int64_t>(calls + 1, static_cast<int64_t>(static_cast<double>(calls) *
                                                                          std::min(10.0, seconds / kRounds / took)));
  }
  std::vector<double> rounds;
  for (int r = 0; r < kRounds; ++r) {
    const auto start = Clock::now();
    for (int64_t i = 0; i < calls; ++i) fn();
    rounds.push_back(Seconds(start) * 1e9 / static_cast<double>(calls));
  }
  std::nth_element(rounds.begin(), rounds.begin() + kRounds / 2, rounds.end());
  return rounds[kRounds / 2];
}

namespace {

void AddAllReduceFlags(CLI::App& app, BenchOptions& options) {
  app.add_option("--ranks", options.ranks, "allreduce: number of processes (default: 2)")->check(CLI::Range(1, 256));
  app.add_option("--sizes", options.sizes, "allreduce: sizes of the array, e.g. 1K,64M (default: 1K to 256M)")
      ->delimiter(',')
      ->transform(CLI::AsSizeValue(/*kb_is_1000=*/false))
      ->check(CLI::Range(uint64_t{4}, uint64_t{1} << 40));
  app.add_option("--backend", options.backend,
                 "allreduce: own (default), or mpi or gloo, whose programs are built where their packages are")
      ->check(CLI::IsMember({"own", "mpi", "gloo"}));
}

void AddScaleFlags(CLI::App& app, ScaleOptions& scale) {
  const auto list = [&](const char* flag, std::vector<int>& values, const char* help) {
    app.add_option(flag, values, help)->delimiter(',')->check(CLI::Range(1, 65536));
  };
  const auto number = [&](const char* flag, double& value, double low, double high, const char* help) {
    app.add_option(flag, value, help)->check(CLI::Range(low, high));
  };
  list("--workers", scale.workers, "scaling: numbers of workers (default: 2,4,...,1024)");
  list("--ps", scale.ps, "scaling: numbers of ps tasks (default: 1,4,16,64)");
  app.add_option("--workers_per_host", scale.workers_per_host, "scaling: workers that share a host (default: 8)")
      ->check(CLI::Range(1, 1024));
  app.add_option("--model_bytes", scale.model_bytes, "scaling: size of the model, e.g. 10M (default)")
      ->transform(CLI::AsSizeValue(/*kb_is_1000=*/true))
      ->check(CLI::Range(uint64_t{4}, uint64_t{1} << 32));
  number("--compute_ms", scale.compute_ms, 0, 1e6, "scaling: time of a worker's step without messages (default: 50)");
  number("--jitter", scale.jitter, 0, 100, "scaling: how much steps differ, as a share (default: 0.1)");
  number("--latency_us", scale.latency_us, 0, 1e7, "scaling: delay of a message between hosts (default: 50)");
  number("--gbit", scale.gbit, 1e-3, 1e4, "scaling: gigabits per second of each host (default: 10)");
  number("--loss", scale.loss, 0, 0.5, "scaling: share of packets that are lost (default: 0)");
  number("--straggler_share", scale.straggler_share, 0, 1, "scaling: share of workers that are slow (default: 0)");
  number("--straggler_factor", scale.straggler_factor, 1, 1000, "scaling: how many times as slow (default: 3)");
  app.add_option("--staleness", scale.staleness, "scaling: bound of ssp (default: 3)")->check(CLI::Range(0, 10000));
  app.add_option("--local_steps", scale.local_steps, "scaling: steps between averages of local-sgd (default: 8)")
      ->check(CLI::Range(1, 10000));
  app.add_option("--steps", scale.steps, "scaling: steps of each worker (default: 8)")->check(CLI::Range(1, 10000));
  app.add_option("--seed", scale.seed, "scaling: of compute times and losses (default: 1)");
  app.add_flag("--calibrate", scale.calibrate, "scaling: measure 2 and 4 processes first, and compare");
  app.add_option("--rows", scale.rows, "embedding: rows of the table (default: 10M,100M)")
      ->delimiter(',')
      ->transform(CLI::AsSizeValue(/*kb_is_1000=*/true))
      ->check(CLI::Range(uint64_t{2}, uint64_t{1} << 40));
  app.add_option("--ids", scale.ids, "embedding: ids of a batch (default: 4096)")->check(CLI::Range(1, 1 << 28));
}

Command::Run AddBenchFlags(CLI::App& app) {
  auto options = std::make_shared<BenchOptions>();
  auto suite = std::make_shared<std::string>();
  std::string suites = "what to measure";
  for (const BenchSuite* one : Registry<BenchSuite>::All()) absl::StrAppend(&suites, "\n", one->name, ": ", one->help);
  app.add_option("suite", *suite, suites)->required()->check(CLI::IsMember(Registry<BenchSuite>::Names()));
  app.add_option("--threads", options->threads, "threads to use (default: all cores)")->check(CLI::Range(0, 1024));
  app.add_option("--seconds", options->seconds, "time per measurement (default: 1)")->check(CLI::Range(0.01, 600.0));
  app.add_option("--filter", options->filter, "only measurements whose name contains this");
  app.add_option("--data_dir", options->data_dir, "folder with MNIST (default: the copy that comes along)");
  app.add_option("--bytes", options->bytes, "step, transfer: size of the largest tensor, e.g. 100M (default)")
      ->transform(CLI::AsSizeValue(/*kb_is_1000=*/true))
      ->check(CLI::Range(uint64_t{1}, uint64_t{1} << 40));
  app.add_option("--transport", options->transport,
                 "step, transfer, allreduce: shm or tcp, for step also grpc (default: all)")
      ->check(CLI::IsMember({"shm", "tcp", "grpc"}));
  AddAllReduceFlags(app, *options);
  AddScaleFlags(app, options->scale);
  app.add_flag_callback(
      "--json", [] {}, "print JSON, which is what all suites do");
  return [options, suite] {
    const StatusOr<const BenchSuite*> chosen = Registry<BenchSuite>::Find(*suite);
    if (!chosen.ok()) return FailFlags(chosen.status());
    const Status result = (*chosen)->run(*options);
    return result.ok() ? 0 : Fail(result);
  };
}

const Registration<Command> kBenchCommand({
    .name = "bench",
    .group = Command::Group::kTools,
    .help = "Measure this machine; prints one JSON object per line (name, value, unit).\n"
            "Example: millstream bench train --threads 2",
    .add_flags = AddBenchFlags,
});

}  // namespace
}  // namespace millstream::cli
