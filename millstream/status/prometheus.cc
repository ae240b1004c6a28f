// SPDX-License-Identifier: Apache-2.0
#include "millstream/status/prometheus.h"

#include <initializer_list>
#include <map>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "millstream/status/json_text.h"

namespace millstream {
namespace {

using Labels = std::vector<std::pair<std::string, std::string>>;

// Samples by family: the format wants all samples of a metric together.
class Exposition {
 public:
  void Declare(const char* name, const char* type, const char* help) {
    families_.push_back({name, type, help, ""});
    by_name_[name] = families_.size() - 1;
  }
  // REQUIRES: `name` was declared. Ignores what is not a number. `suffix`: of the samples of a histogram.
  void Add(const char* name, const Labels& labels, const Json& value, const char* suffix = "") {
    if (!value.is_number()) return;
    std::string& samples = families_[by_name_.at(name)].samples;
    absl::StrAppend(&samples, name, suffix, "{", absl::StrJoin(labels, ",", AppendLabel), "} ");
    absl::StrAppend(&samples, value.dump(), "\n");
  }
  std::string Text() const {
    std::string text;
    for (const Family& f : families_) {
      if (f.samples.empty()) continue;
      absl::StrAppend(&text, "# HELP ", f.name, " ", f.help, "\n# TYPE ", f.name, " ", f.type, "\n", f.samples);
    }
    return text;
  }

 private:
  struct Family {
    const char *name, *type, *help;
    std::string samples;
  };
  static void AppendLabel(std::string* out, const std::pair<std::string, std::string>& label) {
    absl::StrAppend(out, label.first, "=\"",
                    absl::StrReplaceAll(label.second, {{"\\", "\\\\"}, {"\"", "\\\""}, {"\n", "\\n"}}), "\"");
  }
  std::vector<Family> families_;
  std::map<std::string, size_t> by_name_;
};

void DeclareAll(Exposition* e) {
  e->Declare("millstream_up", "gauge", "1 if the task answers, 0 if not.");
  e->Declare("millstream_build_info", "gauge", "1; the version is a label.");
  e->Declare("millstream_start_time_seconds", "gauge", "When the server of the task was started, since the epoch.");
  e->Declare("millstream_steps_total", "counter", "Steps that the task's master has ended.");
  e->Declare("millstream_steps_failed_total", "counter",
             "Steps of the task's master that failed, were cancelled or ended at the end of input.");
  e->Declare("millstream_steps_running", "gauge", "Steps that the task's master runs now.");
  e->Declare("millstream_parts_total", "counter", "Parts of steps that the task has run, for any master.");
  e->Declare("millstream_parts_failed_total", "counter", "Parts of steps that failed.");
  e->Declare("millstream_parts_running", "gauge", "Parts of steps that run now.");
  e->Declare("millstream_step_seconds_sum", "counter",
             "Total time of this task's partitions in the steps of its own master.");
  e->Declare("millstream_step_seconds_count", "counter", "Number of steps in millstream_step_seconds_sum.");
  e->Declare("millstream_global_step", "gauge", "The variable global_step, or the newest that was fetched.");
  e->Declare("millstream_staleness_steps", "gauge", "Estimated updates by others while a step of this task runs.");
  e->Declare("millstream_sessions", "gauge", "Open sessions, of the task's master or kept for any master.");
  e->Declare("millstream_memory_bytes", "gauge", "Memory of the process: resident, or held for tensors.");
  e->Declare("millstream_link_open", "gauge", "Open links to a task.");
  e->Declare("millstream_link_bytes_total", "counter", "Bytes over links to a task.");
  e->Declare("millstream_link_frames_total", "counter", "Frames over links to a task.");
  e->Declare("millstream_link_queued_frames", "gauge", "Frames that wait to be sent to a task.");
  e->Declare("millstream_queue_size", "gauge", "Elements in a queue.");
  e->Declare("millstream_queue_capacity", "gauge", "Elements that fit in a queue.");
  e->Declare("millstream_queue_waiting", "gauge", "Operations that wait for a queue.");
  e->Declare("millstream_gradients_total", "counter",
             "Gradients that an accumulator received: applied, or dropped as stale.");
  e->Declare("millstream_gradients_taken_total", "counter", "How often an accumulator's mean was taken.");
  e->Declare("millstream_gradients_pending", "gauge", "Gradients in an accumulator.");
  e->Declare("millstream_ssp_staleness", "histogram",
             "Steps of a clock's workers, by how many steps the worker was ahead of the slowest one.");
  e->Declare("millstream_ssp_bound", "gauge", "By how many steps a worker may be ahead of the slowest one.");
  e->Declare("millstream_ssp_waiting", "gauge", "Workers that a clock holds back.");
  e->Declare("millstream_scalar", "gauge",
             "The newest value of a number that steps fetch or summarize, or that an evaluation found.");
  e->Declare("millstream_errors_total", "counter", "Errors of steps and links.");
}

void AddLinks(const Json& task, const Labels& who, Exposition* e) {
  for (const Json& link : MemberOf(task, "links")) {
    Labels labels = who;
    labels.emplace_back("peer", TextOf(link, "peer"));
    labels.emplace_back("transport", TextOf(link, "transport"));
    e->Add("millstream_link_open", labels, MemberOf(link, "open"));
    e->Add("millstream_link_queued_frames", labels, MemberOf(link, "queued_frames"));
    for (const char* direction : {"sent", "received"}) {
      Labels way = labels;
      way.emplace_back("direction", direction);
      e->Add("millstream_link_bytes_total", way, MemberOf(link, absl::StrCat("bytes_", direction).c_str()));
      e->Add("millstream_link_frames_total", way, MemberOf(link, absl::StrCat("frames_", direction).c_str()));
    }
  }
}

Labels With(Labels labels, const char* name, std::string value) {
  labels.emplace_back(name, std::move(value));
  return labels;
}

// Leads of workers as a histogram with one bucket for each number of steps.
void AddClock(const Json& clock, const Labels& labels, Exposition* e) {
  int64_t count = 0, sum = 0, steps = 0;
  for (const Json& bucket : MemberOf(clock, "staleness")) {
    if (!bucket.is_number_integer()) return;
    count += bucket.get<int64_t>();
    sum += steps * bucket.get<int64_t>();
    e->Add("millstream_ssp_staleness", With(labels, "le", absl::StrCat(steps++)), count, "_bucket");
  }
  e->Add("millstream_ssp_staleness", With(labels, "le", "+Inf"), count, "_bucket");
  e->Add("millstream_ssp_staleness", labels, sum, "_sum");
  e->Add("millstream_ssp_staleness", labels, count, "_count");
  e->Add("millstream_ssp_bound", labels, MemberOf(clock, "bound"));
  e->Add("millstream_ssp_waiting", labels, MemberOf(clock, "waiting"));
}

void AddResources(const Json& task, const Labels& who, Exposition* e) {
  for (const Json& queue : MemberOf(task, "queues")) {
    const Labels labels = With(who, "queue", TextOf(queue, "name"));
    e->Add("millstream_queue_size", labels, MemberOf(queue, "size"));
    e->Add("millstream_queue_capacity", labels, MemberOf(queue, "capacity"));
    e->Add("millstream_queue_waiting", With(labels, "operation", "enqueue"), MemberOf(queue, "waiting_to_enqueue"));
    e->Add("millstream_queue_waiting", With(labels, "operation", "dequeue"), MemberOf(queue, "waiting_to_dequeue"));
  }
  for (const Json& accumulator : MemberOf(task, "accumulators")) {
    const Labels labels = With(who, "accumulator", TextOf(accumulator, "name"));
    for (const char* result : {"applied", "dropped"}) {
      e->Add("millstream_gradients_total", With(labels, "result", result), MemberOf(accumulator, result));
    }
    e->Add("millstream_gradients_taken_total", labels, MemberOf(accumulator, "taken"));
    e->Add("millstream_gradients_pending", labels, MemberOf(accumulator, "pending"));
  }
  for (const Json& clock : MemberOf(task, "staleness_clocks")) {
    AddClock(clock, With(who, "clock", TextOf(clock, "name")), e);
  }
  for (const Json& scalar : MemberOf(task, "scalars")) {
    Labels labels = With(With(who, "name", TextOf(scalar, "name")), "source", TextOf(scalar, "source"));
    if (std::string run = TextOf(scalar, "run"); !run.empty()) labels.emplace_back("run", std::move(run));
    e->Add("millstream_scalar", labels, MemberOf(scalar, "value"));
  }
}

void AddTask(const Json& task, Exposition* e) {
  const Labels who = {{"task", TextOf(task, "task")}};
  const std::string health = TextOf(task, "health");  // only where others were asked
  const bool up = health.empty() || health == "up" || health == "done";
  e->Add("millstream_up", who, up ? 1 : 0);
  if (!up) return;
  e->Add("millstream_build_info", With(who, "version", TextOf(task, "version")), 1);
  e->Add("millstream_start_time_seconds", who, MemberOf(task, "started"));
  const Json &steps = MemberOf(task, "steps"), &parts = MemberOf(task, "parts"), &sessions = MemberOf(task, "sessions");
  e->Add("millstream_steps_total", who, MemberOf(steps, "ended"));
  e->Add("millstream_steps_failed_total", who, MemberOf(steps, "failed"));
  e->Add("millstream_steps_running", who, MemberOf(steps, "running"));
  e->Add("millstream_parts_total", who, MemberOf(parts, "ended"));
  e->Add("millstream_parts_failed_total", who, MemberOf(parts, "failed"));
  e->Add("millstream_parts_running", who, MemberOf(parts, "running"));
  e->Add("millstream_step_seconds_sum", who, MemberOf(parts, "own_seconds"));
  e->Add("millstream_step_seconds_count", who, MemberOf(parts, "own_ended"));
  e->Add("millstream_global_step", who, MemberOf(task, "global_step"));
  e->Add("millstream_staleness_steps", who, MemberOf(task, "staleness"));
  for (const char* at : {"master", "worker"})
    e->Add("millstream_sessions", With(who, "at", at), MemberOf(sessions, at));
  for (const char* kind : {"resident", "peak_resident", "tensor"}) {
    e->Add("millstream_memory_bytes", With(who, "kind", kind),
           MemberOf(MemberOf(task, "memory"), absl::StrCat(kind, "_bytes").c_str()));
  }
  e->Add("millstream_errors_total", who, MemberOf(task, "errors_total"));
  AddLinks(task, who, e);
  AddResources(task, who, e);
}

}  // namespace

std::string PrometheusText(const std::string& status_json) {
  const Json json = ParseJson(status_json);
  Exposition exposition;
  DeclareAll(&exposition);
  if (json.is_object() && json.contains("tasks")) {
    for (const Json& task : json["tasks"]) AddTask(task, &exposition);
  } else {
    AddTask(json, &exposition);
  }
  return exposition.Text();
}

}  // namespace millstream
