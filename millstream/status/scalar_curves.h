// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_STATUS_SCALAR_CURVES_H_
#define MILLSTREAM_STATUS_SCALAR_CURVES_H_

#include <compare>
#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "millstream/status/history.h"

namespace millstream {

// Numbers of a task over time and steps. The first kMaxCurves are kept, each within a bounded room that still reaches
// back to its beginning. Not thread-safe.
class ScalarCurves {
 public:
  // Who has seen a number; what the page says about it depends on that.
  enum class Source {
    kFetch,       // a step that trains fetched it: it is of a training batch
    kRead,        // a step that writes no variable fetched it
    kSummary,     // a summary op
    kEvaluation,  // an evaluation: of all its data
  };
  struct Name {
    std::string name;
    Source source;
    std::string run;                                // of an evaluation
    auto operator<=>(const Name&) const = default;  // NOLINT(modernize-use-nullptr): Clang 14 errs
  };
  struct Value {
    double time = 0;    // seconds since the epoch
    int64_t step = -1;  // -1: unknown
    double value = 0;
  };

  // `count` is how many values there were so far: one that was seen before is not added again.
  void Add(const Name& name, uint64_t count, const Value& value);
  // Adds one that is certainly new.
  void AddNext(const Name& name, const Value& value);
  // [{"name", "source", "run" (of evaluations), "count", "value", "points": [[time, step or null, value], ...]}, ...]
  // with points after `since`.
  nlohmann::ordered_json ToJson(double since) const;

  static constexpr size_t kMaxCurves = 64;
  static constexpr size_t kMaxPoints = 512;

 private:
  struct Curve {
    uint64_t count = 0;
    History<Value> values{kMaxPoints};
  };
  Curve* Find(const Name& name);  // null: one too many

  std::map<Name, Curve> curves_;
};

}  // namespace millstream

#endif  // MILLSTREAM_STATUS_SCALAR_CURVES_H_
