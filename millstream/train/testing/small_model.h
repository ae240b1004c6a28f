// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_TRAIN_TESTING_SMALL_MODEL_H_
#define MILLSTREAM_TRAIN_TESTING_SMALL_MODEL_H_

#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "millstream/base/random.h"
#include "millstream/graph/variables/variable_scope.h"
#include "millstream/runtime/session.h"
#include "millstream/train/variables/global_step.h"

namespace millstream::testing {

// Variables "w" (2 floats, first 1 and 1; a reference) and "r" (a resource, first 5) and the global step; "train" adds
// 1 to all.
struct SmallModel {
  explicit SmallModel(const std::string& variables_at = "") {
    const Scope at = variables_at.empty() ? scope : scope.WithDevice(variables_at);
    const VariableScope variables(at);
    VariableOptions options;
    options.initializer = ConstantInitializer(1);
    w = variables.Get("w", Shape({2}), options);
    options.initializer = ConstantInitializer(5);
    options.resource = true;
    r = variables.Get("r", Shape(), options);
    step = CreateGlobalStep(variables);
    const Output one = scope.Const(1.0f);
    Node* const add_w = scope.Add("AssignAdd", {w.handle, scope.Op("Fill", {scope.Constant({2}), one})});
    Node* const add_r = scope.Add("AssignAddVariableOp", {r.handle, one});
    Node* const add_step =
        scope.WithControlDependencies({add_w, add_r}).Add("AssignAdd", {step.handle, scope.Const<int64_t>(1)});
    scope.WithOpName("train").WithControlDependencies({add_step}).Add("NoOp", {});
    EXPECT_EQ(scope.status(), OkStatus());
  }

  Scope scope = Scope::Root();
  GraphVariable w, r, step;
};

// The value of a float or int64 tensor's first element.
template <typename AnySession>
double Value(AnySession& session, const std::string& tensor) {
  std::vector<Tensor> out;
  const Status status = session.Run({}, {tensor}, {}, &out);
  EXPECT_EQ(status, OkStatus());
  if (!status.ok()) return -1;
  return out[0].dtype() == DType::kInt64 ? static_cast<double>(*out[0].data<int64_t>()) : *out[0].data<float>();
}

template <typename AnySession>
Status Train(AnySession& session) {
  std::vector<Tensor> out;
  return session.Run({}, {}, {"train"}, &out);
}

// A folder that goes with the test.
class TemporaryFolder {
 public:
  TemporaryFolder()
      : path_((std::filesystem::temp_directory_path() / absl::StrCat("train_test_", RandomNumber())).string()) {
    std::filesystem::create_directories(path_);
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  const std::string& path() const { return path_; }
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }

 private:
  const std::string path_;
};

}  // namespace millstream::testing

#endif  // MILLSTREAM_TRAIN_TESTING_SMALL_MODEL_H_
