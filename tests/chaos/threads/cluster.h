// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_TESTS_CHAOS_THREADS_CLUSTER_H_
#define MILLSTREAM_TESTS_CHAOS_THREADS_CLUSTER_H_

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "millstream/distributed/server.h"
#include "tests/chaos/threads/checkpoints.h"
#include "tests/chaos/threads/network.h"
#include "tests/chaos/threads/record.h"
#include "tests/chaos/threads/trainer.h"

namespace millstream::chaos {

// A training job in this process: real servers, each behind its address in a network that can fail, and a program for
// each worker. Not thread-safe.
class Cluster {
 public:
  struct Options {
    Mode mode = Mode::kAsync;
    int ps = 2, workers = 2;  // no ps for kAllReduce
    std::string links;        // as MILLSTREAM_LINKS: "tcp" or "grpc"
    bool saves = false;       // checkpoints, in a folder of the job's own
  };
  explicit Cluster(const Options& options);
  ~Cluster();

  const std::vector<std::string>& tasks() const { return tasks_; }  // ps tasks first
  int num_ps() const { return options_.ps; }
  // Tasks with variables that others depend on: the ps tasks, or the worker whose variables all others get.
  int num_roots() const { return options_.ps > 0 ? options_.ps : 1; }
  Checkpoints* checkpoints() { return checkpoints_.get(); }  // null: the job saves none
  Network& network() { return network_; }
  Record& record() { return record_; }
  // The address at which others know a task: "127.0.0.10:4000".
  const std::string& address(size_t task) const { return addresses_[task]; }

  // From the outside as if its process were killed: all its connections end at once, and then it is no more. Nothing if
  // it is gone.
  void Kill(size_t task);
  // Nothing if it is there.
  void Start(size_t task);
  // Programs of workers that have ended by themselves.
  std::vector<std::string> EndedPrograms() const;

 private:
  Options options_;
  ClusterSpec spec_;
  std::vector<std::string> tasks_, hosts_, addresses_;
  std::vector<int> ports_;
  Network network_;
  const std::unique_ptr<Checkpoints> checkpoints_;
  Record record_;
  std::map<size_t, std::unique_ptr<Server>> servers_;
  std::map<size_t, std::unique_ptr<Trainer>> trainers_;
};

}  // namespace millstream::chaos

#endif  // MILLSTREAM_TESTS_CHAOS_THREADS_CLUSTER_H_
