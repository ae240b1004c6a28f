// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_CLI_BENCH_TASKS_H_
#define MILLSTREAM_CLI_BENCH_TASKS_H_

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "millstream/distributed/server.h"
#include "millstream/launch/child_process.h"

namespace millstream::cli {

// A cluster on this host to be measured: task 0 of one job is this process, the others are children that run
// `millstream server`. They are killed with this object.
class BenchTasks {
 public:
  ~BenchTasks();

  // `jobs`: their numbers of tasks. `links`: the links that all tasks may use; "": all.
  Status Start(const std::map<std::string, int>& jobs, const std::string& own_job, const std::string& links = "");
  // Waits for the tasks that have not come up yet.
  StatusOr<std::unique_ptr<Session>> NewSession(const Graph& graph);

 private:
  Status StartChild(const ServerOptions& options, const std::string& job, int task, const std::string& links);

  std::vector<launch::Child> children_;
  std::unique_ptr<Server> server_;
};

}  // namespace millstream::cli

#endif  // MILLSTREAM_CLI_BENCH_TASKS_H_
