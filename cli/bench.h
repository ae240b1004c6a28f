// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_CLI_BENCH_H_
#define MILLSTREAM_CLI_BENCH_H_

#include <functional>
#include <string>
#include <vector>

#include "cli/registry.h"

namespace millstream::cli {

// Of the suites that simulate a cluster or fill large tables.
struct ScaleOptions {
  std::vector<int> workers = {2, 4, 8, 16, 32, 64, 128, 256, 512, 1024};
  std::vector<int> ps = {1, 4, 16, 64};
  int workers_per_host = 8;
  uint64_t model_bytes = 10'000'000;
  double compute_ms = 50, jitter = 0.1;
  double latency_us = 50, gbit = 10, loss = 0;
  double straggler_share = 0, straggler_factor = 3;
  int staleness = 3, local_steps = 8, steps = 8;
  uint64_t seed = 1;
  bool calibrate = false;
  std::vector<uint64_t> rows = {10'000'000, 100'000'000};  // embedding: of the tables
  int64_t ids = 4096;                                      // embedding: of a batch
};

struct BenchOptions {
  int threads = 0;               // 0: all cores
  double seconds = 1;            // per measurement
  std::string filter;            // only names that contain it
  std::string data_dir;          // "": the data that comes along
  uint64_t bytes = 100'000'000;  // of the largest transfer
  std::string transport;         // "shm", "tcp", for steps also "grpc"; "": all
  int ranks = 2;                 // of collectives
  std::vector<uint64_t> sizes;   // of collectives, in bytes; empty: 1 KB to 256 MB
  std::string backend = "own";   // of collectives: "own", "mpi", "gloo"
  ScaleOptions scale;
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
