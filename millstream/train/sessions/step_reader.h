// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_TRAIN_SESSIONS_STEP_READER_H_
#define MILLSTREAM_TRAIN_SESSIONS_STEP_READER_H_

#include <string>

#include "millstream/graph/scope.h"
#include "millstream/runtime/session.h"

namespace millstream {

// The global step as sessions fetch it.
class StepReader {
 public:
  StepReader() = default;  // no step
  // Of the graph's global step; none if it has none. May add a node. InvalidArgument if the step is no scalar of a
  // number type.
  static StatusOr<StepReader> Find(const Scope& scope);
  // The same; FailedPrecondition "Global step should be created to use <who>." if there is none.
  static StatusOr<StepReader> FindFor(const Scope& scope, absl::string_view who);

  explicit operator bool() const { return !tensor_.empty(); }
  const std::string& tensor() const { return tensor_; }      // what to fetch
  const std::string& variable() const { return variable_; }  // the name of the variable
  StatusOr<int64_t> Read(Session& session) const;
  // The number in what was fetched. InvalidArgument if there is none.
  static StatusOr<int64_t> ValueOf(const Tensor& fetched);

 private:
  std::string tensor_, variable_;
};

}  // namespace millstream

#endif  // MILLSTREAM_TRAIN_SESSIONS_STEP_READER_H_
