// SPDX-License-Identifier: Apache-2.0
// A step that ends amid its reductions has updated no variable, and one that ends after them has updated all.
#include <gtest/gtest.h>

#include "millstream/graph/passes/passes.h"
#include "millstream/graph/scope.h"
#include "millstream/runtime/session.h"

namespace millstream {
namespace {

// Two members of a group, as devices of one process, each with variables of one row of `kWidth` numbers.
class UpdatesAfterReductionsTest : public ::testing::Test {
 protected:
  static constexpr int64_t kWidth = 400;

  Scope Member(int i) const { return root_.WithDevice(absl::StrCat("/cpu:", i)); }
  static Output Row(const Scope& s, float value) {
    Tensor row(DType::kFloat, Shape({1, kWidth}));
    for (float& x : row.flat<float>()) x = value;
    return s.Const(row);
  }
  Output Variable(const Scope& s, const std::string& name) {
    const Output v =
        s.WithOpName(name).Op("VariableV2", {}, {{"dtype", DType::kFloat}, {"shape", PartialShape({1, kWidth})}});
    inits_.push_back(s.Op("Assign", {v, Row(s, 0)}).node->name());
    return v;
  }
  static Output Reduce(const Scope& s, int instance, Output value, float timeout_seconds = 20) {
    return s.Op("CollectiveReduce", {value},
                {{"group_size", int64_t{2}},
                 {"group_key", int64_t{1}},
                 {"instance_key", int64_t{instance}},
                 {"merge_op", "Add"},
                 {"final_op", "Id"},
                 {"subdiv_offsets", std::vector<int64_t>{0}},
                 {"timeout_seconds", timeout_seconds}});
  }
  // What takes some milliseconds, and leaves a row as it is.
  static Output Slowly(const Scope& s, Output row) {
    Tensor identity(DType::kFloat, Shape({kWidth, kWidth}));
    for (float& x : identity.flat<float>()) x = 0;
    for (int64_t i = 0; i < kWidth; ++i) identity.flat<float>()[static_cast<size_t>(i * kWidth + i)] = 1;
    Output value = row;
    for (int i = 0; i < 100; ++i) {
      const Output product = s.Op("MatMul", {s.Const(identity), s.Const(identity)});
      value = s.Op("MatMul", {value, i % 10 == 0 ? product : s.Const(identity)});
    }
    return value;
  }

  Status Run(const std::vector<std::string>& targets) {
    if (session_ == nullptr) {
      EXPECT_EQ(root_.status(), OkStatus());
      SessionOptions options;
      options.device_count = {{"CPU", 2}};
      options.rewrite = RewriteOptions::None();
      session_ = NewSession(options).value();
      EXPECT_EQ(session_->Extend(*root_.graph()), OkStatus());
      EXPECT_EQ(session_->Run({}, {}, inits_, nullptr), OkStatus());
    }
    return session_->Run({}, {}, targets, nullptr);
  }
  float Value(const std::string& variable) {
    std::vector<Tensor> out;
    EXPECT_EQ(session_->Run({}, {variable + ":0"}, {}, &out), OkStatus());
    return out.empty() ? -1 : out[0].flat<float>()[0];
  }

  Scope root_ = Scope::Root();
  std::vector<std::string> inits_;
  std::unique_ptr<Session> session_;
};

TEST_F(UpdatesAfterReductionsTest, NothingIsUpdatedWhenAReductionFails) {
  const Scope first = Member(0), second = Member(1);
  const Output a = Variable(first, "a"), b = Variable(first, "b");
  first.WithOpName("add_a").Add("AssignAdd", {a, Reduce(first, 1, Row(first, 1))});
  // The second member does not enter this one.
  first.WithOpName("add_b").Add("AssignAdd", {b, Reduce(first, 2, Row(first, 1), 0.3f)});
  second.WithOpName("other").Add("Identity", {Reduce(second, 1, Row(second, 1))});
  EXPECT_TRUE(absl::IsDeadlineExceeded(Run({"add_a", "add_b", "other"})));
  EXPECT_EQ(Value("a"), 0);
  EXPECT_EQ(Value("b"), 0);
  EXPECT_EQ(Run({"add_a", "other"}), OkStatus());
  EXPECT_EQ(Value("a"), 2);
}

TEST_F(UpdatesAfterReductionsTest, AllIsUpdatedWhenTheStepFailsAfterThem) {
  const Scope first = Member(0), second = Member(1);
  const Output a = Variable(first, "a"), b = Variable(first, "b"), count = Variable(first, "count");
  const Output ones = Reduce(first, 1, Row(first, 1));
  Node* const add_a = first.WithOpName("add_a").Add("AssignAdd", {a, ones});
  Node* const add_b = first.WithOpName("add_b").Add("AssignAdd", {b, Slowly(first, ones)});
  first.WithControlDependencies({add_a, add_b}).WithOpName("add_count").Add("AssignAdd", {count, Row(first, 1)});
  const Scope after = first.WithControlDependencies({add_a});
  after.WithOpName("fails").Add("Assert", {after.Const(false), after.Const("failed")});
  second.WithOpName("other").Add("Identity", {Reduce(second, 1, Row(second, 1))});
  EXPECT_TRUE(absl::IsInvalidArgument(Run({"add_count", "fails", "other"})));
  EXPECT_EQ(Value("a"), 2);
  EXPECT_EQ(Value("b"), 2);
  EXPECT_EQ(Value("count"), 1);
}

// The mean loss after an update is reduced, too, and updates a variable: it waits for the first update, not the other
// way round.
TEST_F(UpdatesAfterReductionsTest, AReductionAfterAnUpdateHasItsOwnGate) {
  const Scope first = Member(0), second = Member(1);
  const Output a = Variable(first, "a"), mean = Variable(first, "mean");
  Node* const add_a = first.WithOpName("add_a").Add("AssignAdd", {a, Reduce(first, 1, Row(first, 1))});
  const Scope after = first.WithControlDependencies({add_a});
  const Output seen = after.Op("Identity", {a});
  first.WithOpName("set_mean").Add("Assign", {mean, Reduce(first, 2, seen)});
  second.WithOpName("other").Add("Identity", {Reduce(second, 1, Row(second, 1))});
  second.WithOpName("other2").Add("Identity", {Reduce(second, 2, Row(second, 10))});
  EXPECT_EQ(Run({"set_mean", "other", "other2"}), OkStatus());
  EXPECT_EQ(Value("a"), 2);
  EXPECT_EQ(Value("mean"), 12);
}

// With branches, a reduction that is not taken holds up nobody.
TEST_F(UpdatesAfterReductionsTest, ReductionsOnBranches) {
  const Scope first = Member(0), second = Member(1);
  const Output a = Variable(first, "a"), b = Variable(first, "b");
  const Output ones = Row(first, 1);
  Node* const taken = first.Add("Switch", {ones, first.Const(true)});
  const Output reduced = Reduce(first, 2, Output(taken, 0));  // the side that is not taken
  const Output merged = first.Op("Merge", {reduced, Output(taken, 1)});
  first.WithOpName("add_a").Add("AssignAdd", {a, Reduce(first, 1, ones)});
  first.WithOpName("add_b").Add("AssignAdd", {b, merged});
  second.WithOpName("other").Add("Identity", {Reduce(second, 1, Row(second, 1))});
  EXPECT_EQ(Run({"add_a", "add_b", "other"}), OkStatus());
  EXPECT_EQ(Value("a"), 2);
  EXPECT_EQ(Value("b"), 1);
}

}  // namespace
}  // namespace millstream
