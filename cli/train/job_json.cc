// SPDX-License-Identifier: Apache-2.0
#include <nlohmann/json.hpp>

#include "cli/train/job_text.h"

namespace millstream::cli {
namespace {

using Json = nlohmann::ordered_json;

const char* ScoreName(const JobState& job) { return job.classes() ? "accuracy" : "r2"; }

Json Common(const JobState& job, const char* event) {
  Json json;
  json["event"] = event;
  json["seconds"] = job.Elapsed();
  json["global_step"] = job.global_step();
  json["train_steps"] = job.options().train_steps;
  if (job.trained()) json["steps_per_sec"] = job.StepsPerSec();
  if (job.trained()) json["examples_per_sec"] = job.ExamplesPerSec();
  return json;
}

void AddTasks(const JobState& job, Json* json) {
  for (const JobState::Task& task : job.tasks()) {
    Json& one = (*json)["tasks"][task.name];
    one = {{"state", task.state}, {"steps", task.local_step}, {"memory_mb", task.memory_mb}};
    if (task.variable_bytes >= 0) one["variable_bytes"] = task.variable_bytes;
  }
}

}  // namespace

std::string ProgressJson(const JobState& job) {
  Json json = Common(job, "progress");
  const auto [loss, score] = job.LossAndScore();
  if (loss != -1) {
    json["loss"] = loss;
    json[ScoreName(job)] = score;
  }
  AddTasks(job, &json);
  return json.dump();
}

std::string SummaryJson(const JobState& job, JobOutcome outcome) {
  Json json = Common(job, "summary");
  if (const TrainEvent& eval = job.eval(); eval.score != -1) {
    json["loss"] = eval.loss;
    json[ScoreName(job)] = eval.score;
    json["test_examples"] = eval.examples;
  }
  AddTasks(job, &json);
  json["interrupted"] = outcome == JobOutcome::kInterrupted;
  json["failed"] = outcome == JobOutcome::kFailed;
  if (job.nothing_to_do()) json["nothing_to_do"] = true;
  if (job.trained()) json["first_step_secs"] = job.first_step_secs();
  if (job.trained()) json["train_secs"] = job.train_secs();
  if (!job.checkpoint().empty()) json["checkpoint"] = job.checkpoint();
  if (!job.options().no_logdir) json["logdir"] = job.options().logdir;
  return json.dump();
}

}  // namespace millstream::cli
