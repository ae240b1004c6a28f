// SPDX-License-Identifier: Apache-2.0
#include "cli/train/events.h"

#include <array>
#include <nlohmann/json.hpp>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"

namespace millstream::cli {
namespace {

using Json = nlohmann::ordered_json;

// In the order of TrainEvent::Kind.
constexpr std::array kKinds = {"started",       "data",     "variables", "restored", "kept_live_variables",
                               "nothing_to_do", "progress", "eval",      "saved",    "note",
                               "error",         "done"};

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
void Put(Json* json, const char* key, const std::vector<std::string>& values) {
  if (!values.empty()) (*json)[key] = values;
}
void Put(Json* json, const char* key, const std::map<std::string, int64_t>& values) {
  for (const auto& [name, value] : values) (*json)[key][name] = value;
}
void Get(const Json& json, const char* key, std::vector<std::string>* values) {
  if (!json.contains(key) || !json[key].is_array()) return;
  for (const Json& value : json[key]) {
    if (value.is_string()) values->push_back(value.get<std::string>());
  }
}
void Get(const Json& json, const char* key, std::map<std::string, int64_t>* values) {
  if (!json.contains(key) || !json[key].is_object()) return;
  for (const auto& [name, value] : json[key].items()) {
    if (value.is_number_integer()) (*values)[name] = value.get<int64_t>();
  }
}
void Get(const Json& json, const char* key, std::string* value) {
  if (json.contains(key) && json[key].is_string()) *value = json[key].get<std::string>();
}

// "variables: ps:0 12.8 MB, ps:1 12.9 MB (balanced by size)".
std::string VariablesText(const std::map<std::string, int64_t>& bytes) {
  std::vector<std::string> tasks;
  for (const auto& [task, size] : bytes) tasks.push_back(absl::StrCat(task, " ", BytesText(size)));
  return absl::StrCat("variables: ", absl::StrJoin(tasks, ", "), bytes.size() > 1 ? " (balanced by size)" : "");
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
  Put(&json, "label", event.label);
  Put(&json, "categories", event.categories);
  Put(&json, "bytes", event.bytes);
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
  Get(json, "label", &event.label);
  Get(json, "categories", &event.categories);
  Get(json, "bytes", &event.bytes);
  return event;
}

std::string ScoreText(double score, bool classes) {
  return classes ? absl::StrFormat("accuracy %.2f %%", score * 100) : absl::StrFormat("R2 %.3f", score);
}

std::string WithCommas(int64_t number) {
  std::string digits = absl::StrCat(number);
  for (auto i = static_cast<int64_t>(digits.size()) - 3; i > 0; i -= 3) digits.insert(static_cast<size_t>(i), 1, ',');
  return digits;
}

std::string BytesText(int64_t bytes) {
  const auto number = static_cast<double>(bytes);
  if (number < 1e3) return absl::StrFormat("%d B", bytes);
  if (number < 1e6) return absl::StrFormat("%.1f KB", number / 1e3);
  if (number < 1e9) return absl::StrFormat("%.1f MB", number / 1e6);
  return absl::StrFormat("%.1f GB", number / 1e9);
}

std::string EventToText(const TrainEvent& event) {
  switch (event.kind) {
    case TrainEvent::Kind::kStarted:
      return absl::StrCat("Started server with target: ", event.target,
                          event.status_page.empty() ? "" : "\nStatus page: ", event.status_page);
    case TrainEvent::Kind::kData:
      return event.text;
    case TrainEvent::Kind::kRestored:
      return absl::StrCat("restored ", event.path);
    case TrainEvent::Kind::kKept:
      return absl::StrCat("kept the live variables of the parameter servers; ", event.path, " was not restored");
    case TrainEvent::Kind::kNothingToDo:
      return absl::StrCat("nothing to train: ", event.path, " is at step ", WithCommas(event.global_step),
                          " already. Give a larger --train_steps to continue, or another --logdir to start over");
    case TrainEvent::Kind::kVariables:
      return VariablesText(event.bytes);
    case TrainEvent::Kind::kProgress:
      if (event.loss == -1) return "";
      return absl::StrFormat("step %d  loss %.4f  %s  %.0f steps/s", event.global_step, event.loss,
                             ScoreText(event.score, event.classes), event.steps_per_sec);
    case TrainEvent::Kind::kEval:
      return absl::StrFormat("step %d  test loss %.4f  test %s", event.global_step, event.loss,
                             ScoreText(event.score, event.classes));
    case TrainEvent::Kind::kSaved:
      return absl::StrCat("saved ", event.path);
    case TrainEvent::Kind::kNote:
    case TrainEvent::Kind::kError:
      return event.text;
    case TrainEvent::Kind::kDone:
      return absl::StrFormat("Done after %d steps of this task (global step %d)", event.local_step, event.global_step);
  }
  return "";
}

}  // namespace millstream::cli
