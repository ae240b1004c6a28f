// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_CLI_BENCH_H_
#define MILLSTREAM_CLI_BENCH_H_

#include <functional>
#include <string>

#include "cli/registry.h"

namespace millstream::cli {

struct BenchOptions {
  int threads = 0;               // 0: all cores
  double seconds = 1;            // per measurement
  std::string filter;            // only names that contain it
  std::string data_dir;          // "": the data that comes along
  uint64_t bytes = 100'000'000;  // of the largest transfer
  std::string transport;         // "shm", "tcp", for steps also "grpc"; "": all
};

// Prints {"name": ..., "value": ..., "unit": ...} on a line of its own.
void Report(const std::string& name, double value, const std::string& unit);

// Nanoseconds per call of `fn`, the median of several rounds that together take about `seconds`.
double MedianNanos(double seconds, const std::function<void()>& fn);

// Measurements that belong together: a file that registers them (cli/registry.h).
struct BenchSuite {
  static constexpr char kKind[] = "suite";
  std::string name = {};
  std::string help = {};
  Status (*run)(const BenchOptions& options) = nullptr;
};

}  // namespace millstream::cli

#endif  // MILLSTREAM_CLI_BENCH_H_
