// SPDX-License-Identifier: Apache-2.0
#include "millstream/status/task_status.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>

#include "absl/strings/numbers.h"
#include "absl/strings/strip.h"
#include "millstream/base/version.h"
#include "millstream/framework/monitoring/census.h"
#include "millstream/status/graph_view.h"
#include "millstream/status/json_text.h"
#include "millstream/status/process_memory.h"
#include "millstream/tensor/allocator.h"

namespace millstream {
namespace {

// Over how much of the past rates are taken.
constexpr double kWindow = 5;

double NowSeconds() { return static_cast<double>(NowMillis()) / 1000; }

int64_t SteadyNanos() { return std::chrono::nanoseconds(std::chrono::steady_clock::now().time_since_epoch()).count(); }

// Three digits behind the point are enough for people and keep answers small.
double Rounded(double value) { return std::round(value * 1000) / 1000; }

Json NumberOrNull(int64_t value) { return value < 0 ? Json() : Json(value); }

Json MemoryJson() {
  const ProcessMemory memory = ReadProcessMemory();
  return {{"resident_bytes", memory.resident},
          {"peak_resident_bytes", memory.peak},
          {"tensor_bytes", HostAllocator()->stats().bytes_from_system}};  // in use or kept for the next step
}

Json QueuesJson(Census& census) {
  Json list = Json::array();
  for (const auto& queue : census.Queues()) {
    list.push_back({{"name", queue->name},
                    {"kind", queue->kind},
                    {"device", queue->device},
                    {"size", queue->size.load()},
                    {"capacity", NumberOrNull(queue->capacity)},
                    {"waiting_to_enqueue", queue->waiting_to_enqueue.load()},
                    {"waiting_to_dequeue", queue->waiting_to_dequeue.load()},
                    {"closed", queue->closed.load()}});
  }
  return list;
}

Json AccumulatorsJson(Census& census) {
  Json list = Json::array();
  for (const auto& a : census.Accumulators()) {
    const int64_t dropped = a->dropped.load();
    list.push_back(
        {{"name", a->name},
         {"device", a->device},
         {"pending", a->pending.load()},
         {"applied", a->applied.load()},
         {"dropped", dropped},
         {"taken", a->taken.load()},
         {"waiting_to_take", a->waiting_to_take.load()},
         {"global_step", a->global_step.load()},
         {"mean_steps_late",
          dropped == 0 ? 0 : Rounded(static_cast<double>(a->steps_late.load()) / static_cast<double>(dropped))}});
  }
  return list;
}

Json ClocksJson(Census& census) {
  Json list = Json::array();
  for (const auto& c : census.Clocks()) {
    Json leads = Json::array();
    const auto buckets = static_cast<size_t>(std::min<int64_t>(c->bound + 1, ObservedClock::kBuckets));
    for (size_t i = 0; i < buckets; ++i) leads.push_back(c->leads[i].load());
    list.push_back({{"name", c->name},
                    {"device", c->device},
                    {"bound", c->bound},
                    {"workers", c->workers},
                    {"slowest_step", c->slowest.load()},
                    {"waiting", c->waiting.load()},
                    {"staleness", std::move(leads)}});
  }
  return list;
}

Json ErrorsJson(const RecentErrors& errors) {
  Json list = Json::array();
  for (const RecentErrors::Entry& e : errors.List()) {
    list.push_back({{"time", static_cast<double>(e.last_ms) / 1000},
                    {"first_time", static_cast<double>(e.first_ms) / 1000},
                    {"where", e.where},
                    {"code", e.code},
                    {"message", e.message},
                    {"count", e.count}});
  }
  return list;
}

double PerSecond(uint64_t before, uint64_t now, double seconds) {
  return seconds > 0 && now >= before ? Rounded(static_cast<double>(now - before) / seconds) : 0;
}

}  // namespace

// What changed between the oldest and the newest of recent_.
struct TaskStatus::Rates {
  double steps = 0, parts = 0, sent = 0, received = 0, global_steps = 0;
  double mean_step_seconds = 0;                                                    // 0: none ended
  std::map<std::pair<std::string, std::string>, std::pair<double, double>> links;  // sent, received
};

TaskStatus::TaskStatus(Parts parts) : parts_(std::move(parts)), started_(NowSeconds()) {
  Sample();
  Arm();
}

TaskStatus::~TaskStatus() {
  TimerQueue::Id timer;
  {
    MutexLock lock(timer_mu_);
    stopping_ = true;
    timer = timer_;
  }
  parts_.master->timers().Cancel(timer);
}

void TaskStatus::Arm() {
  MutexLock lock(timer_mu_);
  if (stopping_) return;
  timer_ = parts_.master->timers().Add(std::chrono::steady_clock::now() + kPeriod, [this] {
    Sample();
    Arm();
  });
}

TaskStatus::Point TaskStatus::Look() const {
  Point point;
  point.time = NowSeconds();
  const PartCounters& counters = parts_.worker->counters();
  point.steps = parts_.master->steps().ended.value();
  point.parts = counters.ended.value();
  point.own = counters.own.value();
  point.own_nanos = counters.own_nanos.value();
  point.links = parts_.reports->links.Rows();
  for (const LinkTable::Row& row : point.links) {
    point.bytes_sent += row.bytes_sent;
    point.bytes_received += row.bytes_received;
  }
  point.resident = ReadProcessMemory().resident;
  point.global_step = parts_.worker->GlobalStep().value_or(-1);
  return point;
}

void TaskStatus::Sample() {
  Point point = Look();
  MutexLock lock(mu_);
  const int64_t fetched = NoteScalars(point.time, point.global_step);
  if (point.global_step < 0) point.global_step = fetched;
  recent_.push_back(point);
  // One that is older than the window stays: the window begins there.
  while (recent_.size() > 2 && recent_[1].time <= point.time - kWindow) recent_.pop_front();
  history_.Add(point);
}

// Returns the newest global step that was fetched; -1: none was.
int64_t TaskStatus::NoteScalars(double time, int64_t global_step) {
  const std::vector<FetchedScalars::Entry> fetched = parts_.reports->scalars.List();
  for (const auto& entry : fetched) {
    const bool step = FetchedScalars::IsGlobalStep(entry.name) && entry.value >= 0 && entry.value < 1e18;
    if (step) fetched_step_ = std::max(fetched_step_, static_cast<int64_t>(entry.value));
  }
  const int64_t step = global_step >= 0 ? global_step : fetched_step_;
  for (const auto& entry : fetched) {
    if (FetchedScalars::IsGlobalStep(entry.name)) continue;
    const ScalarCurves::Source source = entry.trains ? ScalarCurves::Source::kFetch : ScalarCurves::Source::kRead;
    curves_.Add({entry.name, source, ""}, entry.count, {time, step, entry.value});
  }
  for (const ObservedScalar& scalar : parts_.worker->census().Scalars())
    curves_.Add({scalar.tag, ScalarCurves::Source::kSummary, ""}, scalar.count, {time, step, scalar.value});
  return fetched_step_;
}

void TaskStatus::AddEvaluation(const EvaluationResult& result) {
  MutexLock lock(mu_);
  curves_.AddNext({result.tag, ScalarCurves::Source::kEvaluation, result.run},
                  {NowSeconds(), result.step, result.value});
}

TaskStatus::Rates TaskStatus::RatesOf() const {
  const Point &from = recent_.front(), &to = recent_.back();
  const double seconds = to.time - from.time;
  Rates rates;
  rates.steps = PerSecond(from.steps, to.steps, seconds);
  rates.parts = PerSecond(from.parts, to.parts, seconds);
  rates.sent = PerSecond(from.bytes_sent, to.bytes_sent, seconds);
  rates.received = PerSecond(from.bytes_received, to.bytes_received, seconds);
  // The variable may have appeared within the window.
  const auto first = std::find_if(recent_.begin(), recent_.end(), [](const Point& p) { return p.global_step >= 0; });
  if (first != recent_.end() && to.global_step >= first->global_step) {
    rates.global_steps = PerSecond(static_cast<uint64_t>(first->global_step), static_cast<uint64_t>(to.global_step),
                                   to.time - first->time);
  }
  if (to.own > from.own) {
    rates.mean_step_seconds =
        static_cast<double>(to.own_nanos - from.own_nanos) / 1e9 / static_cast<double>(to.own - from.own);
  }
  for (const LinkTable::Row& row : to.links) {
    const auto before = std::find_if(from.links.begin(), from.links.end(), [&](const LinkTable::Row& r) {
      return r.peer == row.peer && r.transport == row.transport;
    });
    const bool known = before != from.links.end();
    rates.links[{row.peer, row.transport}] = {
        PerSecond(known ? before->bytes_sent : 0, row.bytes_sent, seconds),
        PerSecond(known ? before->bytes_received : 0, row.bytes_received, seconds)};
  }
  return rates;
}

namespace {

Json LinkJson(const LinkTable::Row& row, const std::pair<double, double>& rates) {
  return {{"peer", row.peer},
          {"transport", row.transport},
          {"open", row.open},
          {"bytes_sent", row.bytes_sent},
          {"bytes_received", row.bytes_received},
          {"frames_sent", row.frames_sent},
          {"frames_received", row.frames_received},
          {"sent_per_second", rates.first},
          {"received_per_second", rates.second},
          {"queued_frames", row.queued_frames},
          {"silent_seconds",
           row.open == 0 ? Json() : Json(Rounded(static_cast<double>(SteadyNanos() - row.last_heard_ns) / 1e9))}};
}

}  // namespace

void TaskStatus::AppendPast(double since, Json* json) const {
  (*json)["scalars"] = curves_.ToJson(since);
  (*json)["history_columns"] = {"time",           "steps",          "parts",      "bytes_sent",
                                "bytes_received", "resident_bytes", "global_step"};
  Json& history = (*json)["history"] = Json::array();
  for (const Totals& p : history_.points()) {
    if (p.time <= since) continue;
    history.push_back(
        {p.time, p.steps, p.parts, p.bytes_sent, p.bytes_received, p.resident, NumberOrNull(p.global_step)});
  }
}

std::string TaskStatus::Describe(double since) const {
  const Point now = Look();
  const PartCounters& counters = parts_.worker->counters();
  const StepCounters& steps = parts_.master->steps();
  Json json = {{"task", task()},
               {"address", parts_.address},
               {"version", kVersion},
               {"pid", getpid()},
               {"incarnation", absl::StrCat(parts_.worker->incarnation())},
               {"time", now.time},
               {"started", started_},
               {"job_done", parts_.job_done != nullptr && parts_.job_done()}};
  for (const DeviceAttributes& device : parts_.worker->devices()) json["devices"].push_back(device.name);
  MutexLock lock(mu_);
  const Rates rates = RatesOf();
  const uint64_t ended = steps.ended.value(), begun = std::max(ended, steps.begun.value());
  json["steps"] = {{"ended", ended},
                   {"failed", steps.failed.value()},
                   {"running", begun - ended},
                   {"per_second", rates.steps},
                   {"mean_seconds", rates.mean_step_seconds > 0 ? Json(rates.mean_step_seconds) : Json()}};
  json["parts"] = {{"ended", counters.ended.value()},
                   {"failed", counters.failed.value()},
                   {"running", parts_.worker->num_running()},
                   {"per_second", rates.parts},
                   {"own_ended", counters.own.value()},
                   {"own_seconds", static_cast<double>(counters.own_nanos.value()) / 1e9}};
  json["sessions"] = {{"master", parts_.master->num_sessions()}, {"worker", parts_.worker->num_sessions()}};
  json["global_step"] = NumberOrNull(now.global_step >= 0 ? now.global_step : fetched_step_);
  json["owns_global_step"] = now.global_step >= 0;
  json["global_steps_per_second"] = rates.global_steps;
  json["sent_per_second"] = rates.sent;
  json["received_per_second"] = rates.received;
  json["memory"] = MemoryJson();
  json["links"] = Json::array();
  for (const LinkTable::Row& row : now.links) {
    const auto rate = rates.links.find({row.peer, row.transport});
    json["links"].push_back(LinkJson(row, rate == rates.links.end() ? std::pair(0.0, 0.0) : rate->second));
  }
  json["queues"] = QueuesJson(parts_.worker->census());
  json["accumulators"] = AccumulatorsJson(parts_.worker->census());
  json["staleness_clocks"] = ClocksJson(parts_.worker->census());
  json["errors_total"] = parts_.reports->errors.total();
  json["errors"] = ErrorsJson(parts_.reports->errors);
  AppendPast(since, &json);
  return ToText(json);
}

StatusOr<std::string> TaskStatus::GraphJson() const { return LargestGraphJson(parts_.master->Sessions()); }

StatusOr<std::string> TaskStatus::Answer(const std::string& question) const {
  if (question == "graph") return GraphJson();
  absl::string_view number = question;
  double since = 0;
  if (!absl::ConsumePrefix(&number, "since=") || !absl::SimpleAtod(number, &since)) {
    return errors::InvalidArgument("no such question");
  }
  return Describe(since);
}

}  // namespace millstream
