// SPDX-License-Identifier: Apache-2.0
// A training step that has run a few times takes no fresh memory: no page fault, and a number of heap allocations that
// does not grow with the number of ops. Counts, not times.
#include <gtest/gtest.h>
#include <malloc.h>
#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <new>

#include "millstream/graph/control_flow/control_flow_builders.h"
#include "millstream/graph/gradients/gradient.h"
#include "millstream/graph/scope.h"
#include "millstream/proto/graph.pb.h"
#include "millstream/runtime/session.h"
#include "millstream/tensor/allocator.h"

namespace {
std::atomic<int64_t> heap_allocations{0};
std::atomic<int64_t> heap_bytes{0};
std::atomic<int64_t> heap_peak{0};

// Of a block, with what malloc keeps beside it.
int64_t BlockBytes(void* p) { return static_cast<int64_t>(malloc_usable_size(p) + sizeof(size_t)); }

void* Count(void* p) {
  if (p == nullptr) throw std::bad_alloc();
  heap_allocations.fetch_add(1, std::memory_order_relaxed);
  const int64_t bytes = BlockBytes(p);
  const int64_t now = heap_bytes.fetch_add(bytes, std::memory_order_relaxed) + bytes;
  if (now > heap_peak.load(std::memory_order_relaxed)) heap_peak.store(now, std::memory_order_relaxed);
  return p;
}
void Free(void* p) {
  if (p != nullptr) heap_bytes.fetch_sub(BlockBytes(p), std::memory_order_relaxed);
  std::free(p);
}
}  // namespace

// Every allocation of the library and of this program comes through here. (Sanitizers bring their own.)
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
void* operator new(size_t bytes) { return Count(std::malloc(bytes)); }
void operator delete(void* p) noexcept { Free(p); }
void operator delete(void* p, size_t) noexcept { Free(p); }
#endif

namespace millstream {
namespace {

// A stack of dense layers with softmax loss and plain gradient descent.
struct Net {
  Scope s = Scope::Root();
  std::string train;

  explicit Net(int layers) {
    constexpr int64_t kWidth = 64;
    Output x = s.WithOpName("x").Op("Placeholder", {}, {{"dtype", DType::kFloat}});
    Output y = s.WithOpName("y").Op("Placeholder", {}, {{"dtype", DType::kFloat}});
    std::vector<Output> variables;
    std::vector<Node*> inits;
    const auto variable = [&](const Shape& shape) {
      Output v = s.Op("VariableV2", {}, {{"shape", PartialShape(shape)}, {"dtype", DType::kFloat}});
      Tensor start(DType::kFloat, shape);
      for (int64_t i = 0; i < start.num_elements(); ++i) start.data<float>()[i] = 0.01f * static_cast<float>(i % 7);
      inits.push_back(s.Add("Assign", {v, s.Const(start)}));
      variables.push_back(v);
      return s.Op("Identity", {v});
    };
    for (int i = 0; i < layers; ++i) {
      x = s.Op("Relu",
               {s.Op("BiasAdd", {s.Op("MatMul", {x, variable(Shape({kWidth, kWidth}))}), variable(Shape({kWidth}))})});
    }
    Output loss = s.Op("Mean", {s.Op("SoftmaxCrossEntropyWithLogits", {x, y}), s.Constant({0})});
    std::vector<Grad> grads;
    const Status added = AddSymbolicGradients(s, {loss}, variables, {}, &grads);
    EXPECT_TRUE(added.ok()) << added;
    std::vector<Node*> updates;
    for (size_t i = 0; i < variables.size(); ++i) {
      updates.push_back(s.Add("ApplyGradientDescent", {variables[i], s.Const(0.1f), grads[i].dense}));
    }
    s.WithOpName("init").WithControlDependencies(inits).Add("NoOp", {});
    s.WithOpName("train").WithControlDependencies(updates).Add("NoOp", {});
    EXPECT_TRUE(s.ok()) << s.status();
  }
};

struct Counts {
  int64_t heap = 0;    // per step
  int64_t faults = 0;  // of all steps, in the best round: a busy system takes pages away and moves them
  int64_t system = 0;  // blocks that the tensor allocator took from the system
};

int64_t FaultsOfProcess() {
  rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_minflt + usage.ru_majflt;
}

Counts CountSteps(int layers, int steps) {
  const Net net(layers);
  auto session = NewSession();
  EXPECT_TRUE((*session)->Extend(*net.s.graph()).ok());
  std::vector<Tensor> out;
  EXPECT_TRUE((*session)->Run({}, {}, {"init"}, &out).ok());
  auto train = (*session)->MakeCallable({"x:0", "y:0"}, {}, {"train"});
  EXPECT_TRUE(train.ok()) << train.status();
  const std::vector<Tensor> args = [] {
    std::vector<Tensor> tensors;
    for (int k = 0; k < 2; ++k) {
      Tensor t(DType::kFloat, Shape({128, 64}));
      for (int64_t i = 0; i < t.num_elements(); ++i) t.data<float>()[i] = k == 0 ? 0.1f : (i % 64 == 0 ? 1.0f : 0.0f);
      tensors.push_back(t);
    }
    return tensors;
  }();
  for (int i = 0; i < 50; ++i) EXPECT_TRUE((*session)->RunCallable(*train, args, &out).ok());
  constexpr int kRounds = 5;
  Counts counts;
  counts.faults = std::numeric_limits<int64_t>::max();
  const int64_t heap = heap_allocations.load();
  const int64_t system = HostAllocator()->stats().system_allocations;
  for (int round = 0; round < kRounds; ++round) {
    const int64_t faults = FaultsOfProcess();
    for (int i = 0; i < steps; ++i) {
      const Status ran = (*session)->RunCallable(*train, args, &out);
      if (!ran.ok()) ADD_FAILURE() << ran;
    }
    counts.faults = std::min(counts.faults, FaultsOfProcess() - faults);
  }
  counts.heap = (heap_allocations.load() - heap) / (kRounds * steps);
  counts.system = HostAllocator()->stats().system_allocations - system;
  return counts;
}

TEST(SteadyStateTest, AStepTakesNoFreshMemory) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "sanitizers allocate on their own";
#endif
  const Counts small = CountSteps(2, 200), large = CountSteps(12, 200);
  EXPECT_EQ(small.system, 0);
  EXPECT_EQ(large.system, 0);
  EXPECT_EQ(large.faults, 0);
  EXPECT_EQ(small.heap, large.heap) << "heap allocations grow with the number of ops";
  EXPECT_LE(large.heap, 8);
}

// A graph of `nodes` sums, of which each uses two others.
proto::GraphDef ManySums(int nodes) {
  proto::GraphDef graph;
  for (int i = 0; i < nodes; ++i) {
    auto* node = graph.add_node();
    node->set_name(absl::StrCat("layer/sum_", i));
    node->set_op(i == 0 ? "Placeholder" : "AddV2");
    (*node->mutable_attr())[i == 0 ? "dtype" : "T"].set_type(proto::DT_FLOAT);
    if (i > 0) node->add_input(absl::StrCat("layer/sum_", i - 1));
    if (i > 0) node->add_input(absl::StrCat("layer/sum_", i / 2));
  }
  return graph;
}

TEST(SteadyStateTest, APlanTakesLittleMemory) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "sanitizers allocate on their own";
#endif
  constexpr int kNodes = 100000;
  const proto::GraphDef graph = ManySums(kNodes);
  auto session = NewSession();
  const auto per_node = [before = heap_bytes.load()](int64_t bytes) {
    return static_cast<double>(bytes - before) / kNodes;
  };
  heap_peak = heap_bytes.load();
  ASSERT_TRUE((*session)->Create(graph).ok());
  const double imported = per_node(heap_bytes), importing = per_node(heap_peak);
  const auto start = std::chrono::steady_clock::now();
  ASSERT_TRUE((*session)->MakeCallable({"layer/sum_0:0"}, {absl::StrCat("layer/sum_", kNodes - 1, ":0")}, {}).ok());
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  std::printf("bytes per node: graph %.0f (at most %.0f), with a plan %.0f (at most %.0f); plan in %.2f s\n", imported,
              importing, per_node(heap_bytes), per_node(heap_peak), took.count());
  EXPECT_LE(per_node(heap_peak), 1024);
}

// Heap allocations of one step that counts to `limit`, in a loop within a loop.
int64_t CountLoop(Session* session, Session::CallableHandle handle, float limit) {
  const std::vector<Tensor> args = {Tensor::Scalar(limit)};
  std::vector<Tensor> out;
  int64_t least = INT64_MAX;
  for (int i = 0; i < 10; ++i) {
    const int64_t before = heap_allocations.load();
    const Status ran = session->RunCallable(handle, args, &out);
    if (!ran.ok()) ADD_FAILURE() << ran;
    least = std::min(least, heap_allocations.load() - before);
    EXPECT_EQ(out[0].scalar<float>(), limit);
  }
  return least;
}

TEST(SteadyStateTest, IterationsTakeNoFreshMemory) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "sanitizers allocate on their own";
#endif
  Scope s = Scope::Root();
  const Output limit = s.WithOpName("limit").Op("Placeholder", {}, {{"dtype", DType::kFloat}});
  const auto below = [](Output bound) {
    return [bound](const Scope& b, const std::vector<Output>& v) { return b.Op("Less", {v[0], bound}); };
  };
  const auto add_one = [](const Scope& b, const std::vector<Output>& v) {
    return std::vector<Output>{b.Op("AddV2", {v[0], b.Const(1.0f)})};
  };
  const std::vector<Output> sum =
      WhileLoop(s, below(limit),
                [&](const Scope& b, const std::vector<Output>& v) {
                  return WhileLoop(b, below(b.Op("AddV2", {v[0], b.Const(4.0f)})), add_one, v);
                },
                {s.Const(0.0f)});
  ASSERT_TRUE(s.ok()) << s.status();
  s.WithOpName("sum").Op("Identity", {sum[0]});
  auto session = NewSession();
  ASSERT_TRUE((*session)->Extend(*s.graph()).ok());
  auto handle = (*session)->MakeCallable({"limit:0"}, {"sum:0"}, {});
  ASSERT_TRUE(handle.ok()) << handle.status();
  const int64_t few = CountLoop(session->get(), *handle, 400), many = CountLoop(session->get(), *handle, 4000);
  EXPECT_LE(many - few, 16) << few << " and " << many;
}

}  // namespace
}  // namespace millstream
