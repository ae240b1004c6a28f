// SPDX-License-Identifier: Apache-2.0
#include "cli/train/events.h"

#include <array>
#include <nlohmann/json.hpp>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace millstream::cli {
namespace {

using Json = nlohmann::ordered_json;

// In the order of TrainEvent::Kind.
constexpr std::array kKinds = {"started", "data", "restored", "progress", "eval", "saved", "note", "done"};

void Put(Json* json, const char* key, int64_t value) {
  if (value >= 0) (*json)[key] = value;
}
void Put(Json* json, const char* key, double value) {
  if (value != -1) (*json)[key] = value;
}
void Put(Json* json, const char* key, const std::string& value) {
  if (!value.empty()) (*json)[key] = value;
}

void Get(const Json& json, const char* key, int64_t* value) {
  if (json.contains(key) && json[key].is_number_integer()) *value = json[key].get<int64_t>();
}
void Get(const Json& json, const char* key, double* value) {
  if (json.contains(key) && json[key].is_number()) *value = json[key].get<double>();
}
void Get(const Json& json, const char* key, std::string* value) {
  if (json.contains(key) && json[key].is_string()) *value = json[key].get<std::string>();
}

}  // namespace

std::string EventToJson(const TrainEvent& event) {
  Json json;
  json["event"] = kKinds[static_cast<size_t>(event.kind)];
  Put(&json, "task", event.task);
  if (event.pid > 0) json["pid"] = event.pid;
  Put(&json, "target", event.target);
  Put(&json, "status_page", event.status_page);
  Put(&json, "global_step", event.global_step);
  Put(&json, "local_step", event.local_step);
  Put(&json, "steps_per_sec", event.steps_per_sec);
  Put(&json, "loss", event.loss);
  Put(&json, event.classes ? "accuracy" : "r2", event.score);
  Put(&json, "examples", event.examples);
  Put(&json, "path", event.path);
  Put(&json, "text", event.text);
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::optional<TrainEvent> EventFromJson(absl::string_view line) {
  if (!absl::StartsWith(line, "{\"event\":")) return std::nullopt;
  const Json json = Json::parse(line.begin(), line.end(), nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) return std::nullopt;
  std::string kind;
  Get(json, "event", &kind);
  TrainEvent event;
  size_t i = 0;
  while (i < kKinds.size() && kind != kKinds[i]) ++i;
  if (i == kKinds.size()) return std::nullopt;
  event.kind = static_cast<TrainEvent::Kind>(i);
  event.classes = !json.contains("r2");
  Get(json, "task", &event.task);
  Get(json, "pid", &event.pid);
  Get(json, "target", &event.target);
  Get(json, "status_page", &event.status_page);
  Get(json, "global_step", &event.global_step);
  Get(json, "local_step", &event.local_step);
  Get(json, "steps_per_sec", &event.steps_per_sec);
  Get(json, "loss", &event.loss);
  Get(json, event.classes ? "accuracy" : "r2", &event.score);
  Get(json, "examples", &event.examples);
  Get(json, "path", &event.path);
  Get(json, "text", &event.text);
  return event;
}

std::string ScoreText(double score, bool classes) {
  return classes ? absl::StrFormat("accuracy %.2f %%", score * 100) : absl::StrFormat("R2 %.3f", score);
}

std::string EventToText(const TrainEvent& event) {
  switch (event.kind) {
    case TrainEvent::Kind::kStarted:
      return absl::StrCat("Started server with target: ", event.target,
                          event.status_page.empty() ? "" : "\nStatus page: ", event.status_page);
    case TrainEvent::Kind::kData:
      return event.text;
    case TrainEvent::Kind::kRestored:
      return absl::StrCat("Restoring parameters from ", event.path);
    case TrainEvent::Kind::kProgress:
      if (event.loss == -1) return "";
      return absl::StrFormat("step %d  loss %.4f  %s  %.0f steps/s", event.global_step, event.loss,
                             ScoreText(event.score, event.classes), event.steps_per_sec);
    case TrainEvent::Kind::kEval:
      return absl::StrFormat("step %d  test loss %.4f  test %s", event.global_step, event.loss,
                             ScoreText(event.score, event.classes));
    case TrainEvent::Kind::kSaved:
      return absl::StrFormat("Saved checkpoint for step %d: %s", event.global_step, event.path);
    case TrainEvent::Kind::kNote:
      return event.text;
    case TrainEvent::Kind::kDone:
      return absl::StrFormat("Done after %d steps of this task (global step %d)", event.local_step, event.global_step);
  }
  return "";
}

}  // namespace millstream::cli
