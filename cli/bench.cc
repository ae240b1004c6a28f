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
  app.add_option("--transport", options->transport, "step, transfer: shm or tcp, for step also grpc (default: all)")
      ->check(CLI::IsMember({"shm", "tcp", "grpc"}));
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
