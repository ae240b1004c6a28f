// SPDX-License-Identifier: Apache-2.0
// Sparse steps over tables on two ps tasks give what one process gives, though rows travel merged.
#include <gtest/gtest.h>

#include "millstream/distributed/testing/direct_cluster.h"
#include "millstream/graph/scope.h"
#include "millstream/runtime/session.h"

namespace millstream {
namespace {

struct Case {
  bool resource;
  DType ids;
  std::string optimizer;
};

// Training of two tables, rows i % 2 of the whole; ids repeat within a batch.
class Program {
 public:
  Program(const Case& c, bool cluster) : case_(c), cluster_(cluster) {
    ids_ =
        On("worker", 0).WithOpName("ids").Op("Placeholder", {}, {{"dtype", c.ids}, {"shape", PartialShape({-1, -1})}});
    const Scope w = On("worker", 0);
    const Output flat = w.Op("Reshape", {ids_, w.Constant({-1})});
    const Output two = w.Op("Cast", {w.Const(2)}, {{"SrcT", DType::kInt32}, {"DstT", c.ids}});
    const Output table = w.Op("Cast", {w.Op("FloorMod", {flat, two})}, {{"SrcT", c.ids}, {"DstT", DType::kInt32}});
    Node* parts = w.Add("DynamicPartition", {w.Op("FloorDiv", {flat, two}), table}, {{"num_partitions", 2}});
    std::vector<Node*> updates;
    for (int p = 0; p < 2; ++p) updates.push_back(Train(p, Output(parts, p)));
    scope_.WithOpName("train").WithControlDependencies(updates).Add("NoOp", {});
  }

  StatusOr<std::vector<Tensor>> Run(Session* session) {
    RETURN_IF_ERROR(scope_.status());
    RETURN_IF_ERROR(session->Extend(*scope_.graph()));
    std::vector<Tensor> out;
    RETURN_IF_ERROR(session->Run({}, {}, init_, &out));
    const std::vector<std::vector<int64_t>> batches = {{0, 1, 2, 2, 9, 9}, {9, 9, 9, 9, 9, 9}, {1, 3, 5, 7, 8, 6}};
    for (const std::vector<int64_t>& batch : batches) {
      RETURN_IF_ERROR(session->Run({{"ids", Ids(batch)}}, {}, {"train"}, &out));
    }
    RETURN_IF_ERROR(session->Run({}, values_, {}, &out));
    return out;
  }

 private:
  Tensor Ids(const std::vector<int64_t>& numbers) const {
    Tensor ids(case_.ids, Shape({2, 3}));
    for (size_t i = 0; i < numbers.size(); ++i) {
      if (case_.ids == DType::kInt64)
        ids.data<int64_t>()[i] = numbers[i];
      else
        ids.data<int32_t>()[i] = static_cast<int32_t>(numbers[i]);
    }
    return ids;
  }
  Scope On(const char* job, int task) const {
    return cluster_ ? scope_.WithDevice(absl::StrCat("/job:", job, "/task:", task)) : scope_;
  }
  Output Variable(const Scope& ps, const std::string& name, float initial) {
    const PartialShape shape({5, 3});
    Tensor start(DType::kFloat, Shape({5, 3}));
    for (int64_t i = 0; i < 15; ++i) start.data<float>()[i] = initial + (name[0] == 't' ? static_cast<float>(i) : 0);
    const Output value = ps.Const(start);
    Output variable;
    if (case_.resource) {
      variable = ps.WithOpName(name).Op("VarHandleOp", {},
                                        {{"dtype", DType::kFloat}, {"shape", shape}, {"shared_name", name}});
      init_.push_back(ps.Add("AssignVariableOp", {variable, value})->name());
    } else {
      variable = ps.WithOpName(name).Op("VariableV2", {}, {{"dtype", DType::kFloat}, {"shape", shape}});
      init_.push_back(ps.Add("Assign", {variable, value})->name());
    }
    values_.push_back((case_.resource ? ps.Op("ReadVariableOp", {variable}, {{"dtype", DType::kFloat}})
                                      : ps.Op("Identity", {variable}))
                          .name());
    return variable;
  }

  // One step of gradient descent on the sum of squares of the rows.
  Node* Train(int p, Output rows_of) {
    const Scope ps = On("ps", p), w = On("worker", 0);
    const Output table = Variable(ps, absl::StrCat("table", p), 1);
    const Output rows = case_.resource ? ps.Op("ResourceGather", {table, rows_of}, {{"dtype", DType::kFloat}})
                                       : ps.Op("GatherV2", {ps.Op("Identity", {table}), rows_of, ps.Const(0)});
    const Output gradient = w.Op("Mul", {rows, w.Const(2.f)});
    if (case_.optimizer == "sgd") {
      const Output rate = ps.Const(0.125f);
      return case_.resource
                 ? ps.Add("ResourceScatterAdd", {table, rows_of, ps.Op("Mul", {ps.Op("Neg", {gradient}), rate})})
                 : ps.Add("ScatterSub", {table, rows_of, ps.Op("Mul", {gradient, rate})});
    }
    const Output accumulator = Variable(ps, absl::StrCat("accumulator", p), 0.5f);
    Node* unique = ps.Add("Unique", {rows_of});
    const Output shape = ps.Op("Shape", {Output(unique, 0)});
    const Output count =
        ps.Op("StridedSlice", {shape, ps.Constant({0}), ps.Constant({1}), ps.Constant({1})}, {{"shrink_axis_mask", 1}});
    const Output sums = ps.Op("UnsortedSegmentSum", {gradient, Output(unique, 1), count});
    return ps.Add(case_.resource ? "ResourceSparseApplyAdagrad" : "SparseApplyAdagrad",
                  {table, accumulator, ps.Const(0.5f), sums, Output(unique, 0)});
  }

  const Case case_;
  const bool cluster_;
  const Scope scope_ = Scope::Root();
  Output ids_;
  std::vector<std::string> init_, values_;
};

TEST(MergedRowsTest, AClusterGivesWhatOneProcessGives) {
  testing::DirectCluster cluster(
      {"/job:worker/replica:0/task:0", "/job:ps/replica:0/task:0", "/job:ps/replica:0/task:1"});
  for (const bool resource : {false, true}) {
    for (const DType ids : {DType::kInt32, DType::kInt64}) {
      for (const std::string optimizer : {"sgd", "adagrad"}) {
        SCOPED_TRACE(absl::StrCat(resource, " ", DTypeName(ids), " ", optimizer));
        const Case c = {resource, ids, optimizer};
        auto local = NewSession();
        ASSERT_TRUE(local.ok()) << local.status();
        const auto whole = Program(c, false).Run(local->get());
        ASSERT_TRUE(whole.ok()) << whole.status();
        auto session = cluster.NewSession();
        const auto cut = Program(c, true).Run(session.get());
        ASSERT_TRUE(cut.ok()) << cut.status();
        ASSERT_EQ(whole->size(), cut->size());
        for (size_t v = 0; v < whole->size(); ++v) {
          for (int64_t i = 0; i < (*whole)[v].num_elements(); ++i) {
            ASSERT_FLOAT_EQ((*whole)[v].data<float>()[i], (*cut)[v].data<float>()[i]) << v << " " << i;
          }
        }
        ASSERT_TRUE(session->Close().ok());
      }
    }
  }
}

}  // namespace
}  // namespace millstream
