// SPDX-License-Identifier: Apache-2.0
// Loops that fill whatever keeps values: queues, stacks, arrays, lists, tables, barriers, staging areas.
#include <gtest/gtest.h>

#include "millstream/graph/control_flow/control_flow_builders.h"
#include "millstream/runtime/testing/hostile_graph.h"

namespace millstream {
namespace {

using enum absl::StatusCode;
using Vars = std::vector<Output>;

constexpr int kKilobyte = 256;  // floats

// A loop without end that runs what `body` adds in every iteration; `i` counts them. The next value of the
// counter comes after the effect: nothing else makes the loop wait for it.
Status FillInOrder(const Scope& s, const std::function<Node*(const Scope&, Output i)>& body) {
  const Vars out = WhileLoop(
      s, [](const Scope& in, const Vars&) { return in.Const(true); },
      [&](const Scope& in, const Vars& v) {
        Node* const effect = body(in, v[0]);
        const Scope after = effect == nullptr ? in : in.WithControlDependencies({effect});
        return Vars{after.Op("AddV2", {v[0], after.Const<int64_t>(1)})};
      },
      {s.Const<int64_t>(0)});
  return RunOnce(s, out.empty() ? "none" : out[0].name());
}

Output Kilobyte(const Scope& in, Output i) {
  return in.Op("Fill", {in.Constant({kKilobyte}), in.Op("Cast", {i}, {{"DstT", DType::kFloat}})});
}
Output Text(const Scope& in, Output i) { return in.Op("AsString", {i}, {{"width", int64_t{5000}}}); }

struct QueueKind {
  const char* op;
  bool priority;
};

TEST(HostileStateTest, Queues) {
  for (const QueueKind kind : {QueueKind{"FIFOQueueV2", false},
                               {"RandomShuffleQueueV2", false},
                               {"PaddingFIFOQueueV2", false},
                               {"PriorityQueueV2", true}}) {
    for (const bool strings : {false, true}) {
      ExpectSurvives({kResourceExhausted}, [kind, strings] {
        Scope s = Scope::Root();
        const DType type = strings ? DType::kString : DType::kFloat;
        const PartialShape shape = strings ? PartialShape(Shape()) : PartialShape(Shape({kKilobyte}));
        std::vector<DType> types = {type};
        std::vector<PartialShape> shapes = {shape};
        Output queue = s.Op(kind.op, {}, {{"component_types", types}, {"shapes", shapes}, {"capacity", int64_t{-1}}});
        return FillInOrder(s, [&](const Scope& in, Output i) {
          std::vector<Output> components = {queue};
          if (kind.priority) components.push_back(i);
          components.push_back(strings ? Text(in, i) : Kilobyte(in, i));
          return in.Add("QueueEnqueueV2", components, {});
        });
      });
    }
  }
}

// Nothing but the queue grows: every element is the same small tensor.
TEST(HostileStateTest, QueueOfOneValue) {
  ExpectSurvives({kResourceExhausted}, [] {
    Scope s = Scope::Root();
    Output queue =
        s.Op("FIFOQueueV2", {}, {{"component_types", std::vector<DType>{DType::kFloat}}, {"capacity", int64_t{-1}}});
    Output value = s.Const(1.f);
    return FillInOrder(s, [&](const Scope& in, Output) { return in.Add("QueueEnqueueV2", {queue, value}, {}); });
  });
  ExpectSurvives({kResourceExhausted}, [] {
    Scope s = Scope::Root();
    Output queue = s.Op("FIFOQueueV2", {},
                        {{"component_types", std::vector<DType>{DType::kFloat}},
                         {"capacity", int64_t{-1}},
                         {"shapes", std::vector<PartialShape>{PartialShape(Shape())}}});
    Output values = s.Op("Fill", {s.Constant({1 << 20}), s.Const(1.f)});
    return FillInOrder(s, [&](const Scope& in, Output) { return in.Add("QueueEnqueueManyV2", {queue, values}, {}); });
  });
}

TEST(HostileStateTest, Stacks) {
  for (const bool constant : {false, true}) {
    ExpectSurvives({kResourceExhausted}, [constant] {
      Scope s = Scope::Root();
      Output stack = s.Op("StackV2", {s.Const<int32_t>(-1)}, {{"elem_type", DType::kFloat}});
      Output value = s.Const(1.f);
      return FillInOrder(s, [&](const Scope& in, Output i) {
        return in.Add("StackPushV2", {stack, constant ? value : Kilobyte(in, i)}, {});
      });
    });
  }
}

TEST(HostileStateTest, TensorArrays) {
  ExpectSurvives({kResourceExhausted}, [] {
    Scope s = Scope::Root();
    Node* array = s.Add("TensorArrayV3", {s.Const<int32_t>(0)}, {{"dtype", DType::kFloat}, {"dynamic_size", true}});
    return FillInOrder(s, [&](const Scope& in, Output i) {
      return in.Add("TensorArrayWriteV3", {Output(array, 0), in.Op("Cast", {i}, {{"DstT", DType::kInt32}}),
                                           Kilobyte(in, i), Output(array, 1)});
    });
  });
  for (const int32_t index : {1 << 24, 1 << 28, INT32_MAX}) {
    ExpectSurvives({kResourceExhausted, kInvalidArgument, kOk}, [index] {
      Scope s = Scope::Root();
      Node* array = s.Add("TensorArrayV3", {s.Const<int32_t>(0)}, {{"dtype", DType::kFloat}, {"dynamic_size", true}});
      Output flow =
          s.Op("TensorArrayWriteV3", {Output(array, 0), s.Const<int32_t>(index), s.Const(1.f), Output(array, 1)});
      return RunOnce(s, flow.name());
    });
    ExpectSurvives({kResourceExhausted, kInvalidArgument, kOk}, [index] {
      Scope s = Scope::Root();
      Node* array = s.Add("TensorArrayV3", {s.Const<int32_t>(index)},
                          {{"dtype", DType::kFloat}, {"element_shape", PartialShape(Shape({1 << 20}))}});
      Output flow = s.Op("TensorArrayGatherV3", {Output(array, 0), s.Constant({0}), Output(array, 1)},
                         {{"dtype", DType::kFloat}});
      return RunOnce(s, flow.name());
    });
  }
}

TEST(HostileStateTest, ManyTensorArrays) {
  ExpectSurvives({kResourceExhausted}, [] {
    Scope s = Scope::Root();
    return FillInOrder(s, [&](const Scope& in, Output i) {
      return in.Add("TensorArrayV3", {in.Op("Cast", {i}, {{"DstT", DType::kInt32}})}, {{"dtype", DType::kFloat}});
    });
  });
}

TEST(HostileStateTest, Lists) {
  for (const bool nested : {false, true}) {
    ExpectSurvives({kResourceExhausted, kInvalidArgument}, [nested] {
      Scope s = Scope::Root();
      const DType type = nested ? DType::kVariant : DType::kFloat;
      const auto empty = [&](const Scope& in) {
        return in.Op("EmptyTensorList",
                     {nested ? in.Const(Tensor(DType::kInt32, Shape({0}))) : in.Constant({-1}), in.Const<int32_t>(-1)},
                     {{"element_dtype", type}});
      };
      WhileOptions options;
      const Vars out = WhileLoop(
          s, [](const Scope& in, const Vars&) { return in.Const(true); },
          [&](const Scope& in, const Vars& v) {
            // Either one list that grows, or lists in lists in lists.
            Output next = nested ? in.Op("TensorListPushBack", {empty(in), v[0]}, {{"element_dtype", type}})
                                 : in.Op("TensorListPushBack", {v[0], Kilobyte(in, v[1])}, {{"element_dtype", type}});
            return Vars{next, in.Op("AddV2", {v[1], in.Const<int64_t>(1)})};
          },
          {empty(s), s.Const<int64_t>(0)}, options);
      return RunOnce(s, out.empty() ? "none" : out[1].name());
    });
  }
}

TEST(HostileStateTest, ListsOfAnySize) {
  for (const int32_t size : {1 << 24, 1 << 30, INT32_MAX}) {
    ExpectSurvives({kResourceExhausted, kInvalidArgument, kOk}, [size] {
      Scope s = Scope::Root();
      Output list = s.Op("TensorListReserve", {s.Constant({1 << 20}), s.Const<int32_t>(size)},
                         {{"element_dtype", DType::kFloat}});
      return RunOnce(s,
                     s.Op("TensorListStack", {list, s.Constant({1 << 20})}, {{"element_dtype", DType::kFloat}}).name());
    });
    ExpectSurvives({kResourceExhausted, kInvalidArgument, kOk}, [size] {
      Scope s = Scope::Root();
      Output list =
          s.Op("TensorListReserve", {s.Constant({1}), s.Const<int32_t>(0)}, {{"element_dtype", DType::kFloat}});
      return RunOnce(s, s.Op("TensorListResize", {list, s.Const<int32_t>(size)}).name());
    });
  }
}

TEST(HostileStateTest, Tables) {
  for (const char* op : {"MutableHashTableV2", "MutableDenseHashTableV2"}) {
    for (const bool strings : {false, true}) {
      if (strings && std::string(op) == "MutableDenseHashTableV2") continue;
      ExpectSurvives({kResourceExhausted}, [op, strings] {
        Scope s = Scope::Root();
        const DType key = strings ? DType::kString : DType::kInt64;
        Output table = std::string(op) == "MutableDenseHashTableV2"
                           ? s.Op(op, {s.Const<int64_t>(-1), s.Const<int64_t>(-2)}, {{"value_dtype", DType::kInt64}})
                           : s.Op(op, {}, {{"key_dtype", key}, {"value_dtype", DType::kInt64}});
        return FillInOrder(s, [&](const Scope& in, Output i) {
          const Output from = in.Op("Mul", {i, in.Const<int64_t>(10'000)});
          const Output numbers =
              in.Op("Range", {from, in.Op("AddV2", {from, in.Const<int64_t>(10'000)}), in.Const<int64_t>(1)});
          return in.Add("LookupTableInsertV2", {table, strings ? in.Op("AsString", {numbers}) : numbers, numbers}, {});
        });
      });
    }
  }
}

TEST(HostileStateTest, DenseTableOfManyBuckets) {
  for (const int64_t buckets : {int64_t{1} << 30, int64_t{1} << 40, int64_t{1} << 62}) {
    ExpectSurvives({kOk, kResourceExhausted, kInvalidArgument}, [buckets] {
      Scope s = Scope::Root();
      Output table = s.Op("MutableDenseHashTableV2", {s.Const<int64_t>(-1), s.Const<int64_t>(-2)},
                          {{"value_dtype", DType::kInt64}, {"initial_num_buckets", buckets}});
      s.WithOpName("insert").Add("LookupTableInsertV2",
                                 {table, s.Const(Tensor::Vector<int64_t>({1})), s.Const(Tensor::Vector<int64_t>({1}))},
                                 {});
      return RunOnce(s, "", "insert");
    });
  }
}

Output HashEmbedding(const Scope& s, DType keys, int64_t width) {
  return s.Op("HashEmbedding", {}, {{"key_dtype", keys}, {"width", width}, {"container", ""}, {"shared_name", ""}});
}

TEST(HostileStateTest, HashEmbeddings) {
  for (const bool strings : {false, true}) {
    ExpectSurvives({kResourceExhausted}, [strings] {
      Scope s = Scope::Root();
      const Output table = HashEmbedding(s, strings ? DType::kString : DType::kInt64, strings ? 1 : kKilobyte);
      return FillInOrder(s, [&](const Scope& in, Output i) {
        const Output key = in.Op("ExpandDims", {strings ? Text(in, i) : i, in.Const(0)});
        return in.Add("HashEmbeddingLookup", {table, key, in.Const(Tensor::Vector<int64_t>({1})), i});
      });
    });
  }
}

// The table keeps a copy of a key: that of one which takes half of the memory is one too many.
TEST(HostileStateTest, AHashEmbeddingOfOneKey) {
  ExpectSurvives({kResourceExhausted}, [] {
    Scope s = Scope::Root();
    Output key = s.Const(Tensor::Vector<std::string>({std::string(16, 'k')}));
    for (int i = 0; i < 24; ++i) key = s.Op("StringJoin", {key, key});
    const Output rows = s.Op("HashEmbeddingLookup", {HashEmbedding(s, DType::kString, 1), key,
                                                     s.Const(Tensor::Vector<int64_t>({1})), s.Const<int64_t>(0)});
    SessionOptions options;
    options.rewrite = RewriteOptions::None();
    return RunOnce(s, rows.name(), "", options);
  });
}

TEST(HostileStateTest, Barriers) {
  ExpectSurvives({kResourceExhausted}, [] {
    Scope s = Scope::Root();
    Output barrier = s.Op("Barrier", {},
                          {{"component_types", std::vector<DType>{DType::kFloat, DType::kFloat}},
                           {"shapes", std::vector<PartialShape>(2, PartialShape(Shape({kKilobyte})))}});
    return FillInOrder(s, [&](const Scope& in, Output i) {
      const Output key = in.Op("Reshape", {in.Op("AsString", {i}), in.Constant({1})});
      const Output value = in.Op("Reshape", {Kilobyte(in, i), in.Constant({1, kKilobyte})});
      return in.Add("BarrierInsertMany", {barrier, key, value}, {{"component_index", int64_t{0}}});
    });
  });
}

TEST(HostileStateTest, StagingAreas) {
  for (const bool map : {false, true}) {
    ExpectSurvives({kResourceExhausted}, [map] {
      Scope s = Scope::Root();
      return FillInOrder(s, [&](const Scope& in, Output i) {
        if (!map) return in.Add("Stage", {Kilobyte(in, i)}, {{"dtypes", std::vector<DType>{DType::kFloat}}});
        return in.Add(
            "MapStage", {i, in.Constant({0}), Kilobyte(in, i)},
            {{"dtypes", std::vector<DType>{DType::kFloat}}, {"fake_dtypes", std::vector<DType>{DType::kFloat}}});
      });
    });
  }
}

TEST(HostileStateTest, SessionHandles) {
  ExpectSurvives({kResourceExhausted}, [] {
    Scope s = Scope::Root();
    return FillInOrder(s, [&](const Scope& in, Output i) { return in.Add("GetSessionHandleV2", {Kilobyte(in, i)}); });
  });
}

// A loop whose iterations all wait: those that may run at once must not all be held.
TEST(HostileStateTest, IterationsThatWait) {
  ExpectSurvives({kResourceExhausted, kDeadlineExceeded}, [] {
    Scope s = Scope::Root();
    Output queue = s.Op("FIFOQueueV2", {}, {{"component_types", std::vector<DType>{DType::kFloat}}});
    WhileOptions options;
    options.parallel_iterations = int64_t{1} << 40;
    const Vars out = WhileLoop(
        s, [](const Scope& in, const Vars&) { return in.Const(true); },
        [&](const Scope& in, const Vars& v) {
          Node* wait = in.Add("QueueDequeueV2", {queue}, {{"component_types", std::vector<DType>{DType::kFloat}}});
          Output x = Output(wait, 0);
          for (int i = 0; i < 200; ++i) x = in.Op("Neg", {x});
          return Vars{in.Op("AddV2", {v[0], in.Const<int64_t>(1)})};
        },
        {s.Const<int64_t>(0)}, options);
    SessionOptions session;
    session.operation_timeout_ms = 5000;
    return RunOnce(s, out[0].name(), "", session);
  });
}

TEST(HostileStateTest, LoopStateThatGrows) {
  ExpectSurvives({kResourceExhausted}, [] {
    Scope s = Scope::Root();
    WhileOptions options;
    options.shape_invariants = {PartialShape::Unknown()};
    const Vars out = WhileLoop(
        s, [](const Scope& in, const Vars&) { return in.Const(true); },
        [&](const Scope& in, const Vars& v) {
          return Vars{in.Op("ConcatV2", {v[0], v[0], in.Const<int32_t>(0)})};
        },
        {s.Const(Tensor::Vector<float>({1}))}, options);
    return RunOnce(s, out.empty() ? "none" : out[0].name());
  });
}

}  // namespace
}  // namespace millstream
