// SPDX-License-Identifier: Apache-2.0
#include "millstream/status/scalar_curves.h"

#include "millstream/status/json_text.h"

namespace millstream {
namespace {

const char* SourceName(ScalarCurves::Source source) {
  switch (source) {
    case ScalarCurves::Source::kFetch:
      return "fetch";
    case ScalarCurves::Source::kRead:
      return "read";
    case ScalarCurves::Source::kSummary:
      return "summary";
    case ScalarCurves::Source::kEvaluation:
      return "evaluation";
  }
  return "";
}

}  // namespace

ScalarCurves::Curve* ScalarCurves::Find(const Name& name) {
  auto found = curves_.find(name);
  if (found == curves_.end()) {
    if (curves_.size() >= kMaxCurves) return nullptr;
    found = curves_.try_emplace(name).first;
  }
  return &found->second;
}

void ScalarCurves::Add(const Name& name, uint64_t count, const Value& value) {
  Curve* curve = Find(name);
  if (curve == nullptr || curve->count == count) return;
  curve->count = count;
  curve->values.Add(value);
}

void ScalarCurves::AddNext(const Name& name, const Value& value) {
  Curve* curve = Find(name);
  if (curve == nullptr) return;
  ++curve->count;
  curve->values.Add(value);
}

Json ScalarCurves::ToJson(double since) const {
  Json list = Json::array();
  for (const auto& [name, curve] : curves_) {
    if (curve.values.points().empty()) continue;
    Json points = Json::array();
    for (const Value& v : curve.values.points()) {
      if (v.time > since) points.push_back({v.time, v.step < 0 ? Json() : Json(v.step), v.value});
    }
    Json& entry = list.emplace_back(Json{{"name", name.name}, {"source", SourceName(name.source)}});
    if (!name.run.empty()) entry["run"] = name.run;
    entry["count"] = curve.count;
    entry["value"] = curve.values.points().back().value;
    entry["points"] = std::move(points);
  }
  return list;
}

}  // namespace millstream
