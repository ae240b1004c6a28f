// SPDX-License-Identifier: Apache-2.0
#include "cli/task_calls.h"

#include <thread>

namespace millstream::cli {

std::vector<TaskAnswer> AskAllTasks(const ClusterSpec& cluster, const std::function<void(TaskAnswer*)>& ask) {
  std::vector<TaskAnswer> answers;
  for (const ClusterSpec::Task& task : cluster.all_tasks()) answers.push_back({task, OkStatus(), {}, 0});
  std::vector<std::thread> threads;
  for (TaskAnswer& answer : answers) threads.emplace_back([&ask, &answer] { ask(&answer); });
  for (std::thread& thread : threads) thread.join();
  return answers;
}

}  // namespace millstream::cli
