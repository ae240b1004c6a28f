// SPDX-License-Identifier: Apache-2.0
#include "millstream/graph/placement/partition.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ctime>

#include "millstream/graph/control_flow/control_flow_builders.h"
#include "millstream/graph/passes/passes.h"

namespace millstream {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Outputs = std::vector<Output>;

std::string Device(int task) { return absl::StrCat("/job:w/replica:0/task:", task, "/device:CPU:0"); }

void PlaceAll(const Scope& s, int task) {
  for (const auto& node : s.graph()->nodes()) node->set_assigned_device(Device(task));
}

void PlaceOn(int task, std::initializer_list<Output> outputs) {
  for (const Output& o : outputs) o.node->set_assigned_device(Device(task));
}

StatusOr<PartitionedGraph> Cut(const Scope& s, const Outputs& feeds, const Outputs& fetches,
                               const std::vector<Node*>& targets = {}) {
  RETURN_IF_ERROR(s.status());
  ASSIGN_OR_RETURN(PrunedGraph pruned, Prune(*s.graph(), feeds, fetches, targets));
  return PartitionByTask(std::move(pruned));
}

std::vector<Node*> NodesOf(const GraphPart& part, absl::string_view type) {
  std::vector<Node*> found;
  for (const auto& node : part.graph.graph->nodes())
    if (node->Is(type)) found.push_back(node.get());
  return found;
}

const GraphPart& PartOf(const PartitionedGraph& cut, int task) {
  for (const GraphPart& part : cut.parts)
    if (part.task == absl::StrCat("/job:w/replica:0/task:", task)) return part;
  ADD_FAILURE() << "no part for task " << task;
  return cut.parts.front();
}

bool MayBeDead(const Node& recv) {
  bool may_be_dead = false;
  return recv.GetAttr("_may_be_dead", &may_be_dead).ok() && may_be_dead;
}

// Transfers of which a receiver may be told that there is nothing.
std::vector<std::string> MayBeDead(const PartitionedGraph& cut) {
  std::vector<std::string> tensors;
  for (const GraphPart& part : cut.parts) {
    for (const Node* recv : NodesOf(part, "_Recv")) {
      int64_t edge = 0;
      EXPECT_TRUE(recv->GetAttr("_edge", &edge).ok());
      if (MayBeDead(*recv)) tensors.push_back(cut.edges[static_cast<size_t>(edge)].tensor);
    }
  }
  return tensors;
}

Output Input(const Scope& s, const char* name) {
  return s.WithOpName(name).Op("Placeholder", {}, {{"dtype", DType::kFloat}, {"shape", Shape()}});
}

TEST(PartitionTest, OneTaskStaysWhole) {
  Scope s = Scope::Root();
  Output x = Input(s, "x");
  Output y = s.Op("Neg", {x});
  PlaceAll(s, 3);
  y.node->set_assigned_device("/job:w/replica:0/task:3/device:CPU:1");
  auto cut = Cut(s, {x}, {y, x});
  ASSERT_TRUE(cut.ok()) << cut.status();
  ASSERT_EQ(cut->parts.size(), 1u);
  EXPECT_EQ(cut->parts[0].task, "/job:w/replica:0/task:3");
  EXPECT_EQ(cut->parts[0].graph.graph->num_nodes(), 2);
  EXPECT_THAT(cut->parts[0].arg_numbers, ElementsAre(0));
  EXPECT_THAT(cut->parts[0].ret_numbers, ElementsAre(0, 1));
  EXPECT_TRUE(cut->edges.empty());
}

TEST(PartitionTest, SendsAValueOncePerTask) {
  Scope s = Scope::Root();
  Output x = Input(s, "x");
  Output a = s.WithOpName("a").Op("Neg", {x});
  Output b = s.WithOpName("b").Op("AddV2", {a, a});
  Output c = s.WithOpName("c").Op("Sub", {b, a});
  Output d = s.WithOpName("d").Op("Neg", {a});
  PlaceAll(s, 0);
  PlaceOn(1, {b, c});
  PlaceOn(2, {d});
  auto cut = Cut(s, {x}, {d, c});
  ASSERT_TRUE(cut.ok()) << cut.status();
  ASSERT_EQ(cut->parts.size(), 3u);
  ASSERT_EQ(cut->edges.size(), 2u);
  EXPECT_EQ(cut->edges[0].tensor, "a:0");
  EXPECT_EQ(cut->edges[0].dtype, DType::kFloat);
  EXPECT_FALSE(cut->edges[0].in_loop);
  EXPECT_THAT(PartOf(*cut, 1).ret_numbers, ElementsAre(1));
  EXPECT_THAT(PartOf(*cut, 2).ret_numbers, ElementsAre(0));
  EXPECT_TRUE(PartOf(*cut, 0).ret_numbers.empty());
  const std::vector<Node*> sends = NodesOf(PartOf(*cut, 0), "_Send");
  EXPECT_THAT(PartOf(*cut, 0).graph.targets, ::testing::ContainerEq(sends));
  const std::vector<Node*> recvs = NodesOf(PartOf(*cut, 1), "_Recv");
  ASSERT_EQ(recvs.size(), 1u);
  std::string from, to, name;
  ASSERT_TRUE(recvs[0]->GetAttr("send_device", &from).ok() && recvs[0]->GetAttr("recv_device", &to).ok() &&
              recvs[0]->GetAttr("tensor_name", &name).ok());
  EXPECT_EQ(from, Device(0));
  EXPECT_EQ(to, Device(1));
  EXPECT_EQ(name, "edge_0_a");
  EXPECT_EQ(recvs[0]->assigned_device(), Device(1));
  EXPECT_THAT(MayBeDead(*cut), ElementsAre());
}

TEST(PartitionTest, ControlEdgesCarryNothing) {
  Scope s = Scope::Root();
  Output x = Input(s, "x");
  Output a = s.WithOpName("a").Op("Neg", {x});
  Output b = s.WithControlDependencies({a.node}).WithOpName("b").Op("Neg", {x});
  Output c = s.WithControlDependencies({a.node}).WithOpName("c").Op("Neg", {x});
  Output d = s.WithControlDependencies({a.node, b.node}).WithOpName("d").Op("AddV2", {a, x});
  PlaceAll(s, 0);
  PlaceOn(1, {b, c});
  PlaceOn(2, {d});
  auto cut = Cut(s, {x}, {b, c, d});
  ASSERT_TRUE(cut.ok()) << cut.status();
  std::vector<std::string> tensors;
  for (const CutEdge& e : cut->edges)
    tensors.push_back(absl::StrCat(e.tensor, ">", cut->parts[e.to].task.back() - '0'));
  // What brings a value to task 2 tells it that `a` is done as well.
  EXPECT_THAT(tensors, ::testing::UnorderedElementsAre("a:0>2", "^a>1", "^b>2"));
  for (const char* name : {"b", "c"}) {
    const Node* node = PartOf(*cut, 1).graph.graph->Find(name);
    ASSERT_EQ(node->control_inputs().size(), 1u);
    EXPECT_EQ(node->control_inputs()[0], NodesOf(PartOf(*cut, 1), "_Recv")[0]);
  }
  EXPECT_THAT(MayBeDead(*cut), ElementsAre());
}

TEST(PartitionTest, RepeatsSmallConstantsAndSendsLargeOnes) {
  Scope s = Scope::Root();
  Output small = s.WithOpName("small").Const(1.f);
  Output large = s.WithOpName("large").Const(Tensor(DType::kFloat, Shape({2000})));
  Output a = s.Op("AddV2", {small, large});
  Output b = s.Op("Neg", {small});
  PlaceAll(s, 0);
  PlaceOn(1, {a});
  PlaceOn(2, {b});
  auto cut = Cut(s, {}, {a, b});
  ASSERT_TRUE(cut.ok()) << cut.status();
  ASSERT_EQ(cut->edges.size(), 1u);
  EXPECT_EQ(cut->edges[0].tensor, "large:0");
  EXPECT_EQ(PartOf(*cut, 0).graph.graph->Find("small"), nullptr);
  EXPECT_NE(PartOf(*cut, 1).graph.graph->Find("small"), nullptr);
  EXPECT_EQ(PartOf(*cut, 2).graph.graph->Find("small")->assigned_device(), Device(2));
  auto constants_only = Cut(s, {}, {b});
  ASSERT_TRUE(constants_only.ok());
  EXPECT_EQ(constants_only->parts.size(), 1u);  // task 0 has nothing left to do
}

TEST(PartitionTest, ArgumentsLiveWithTheirReaders) {
  Scope s = Scope::Root();
  Output x = Input(s, "x"), y = Input(s, "y"), unread = Input(s, "unread");
  Output a = s.Op("AddV2", {x, y});
  Output b = s.Op("Neg", {y});
  PlaceAll(s, 7);
  PlaceOn(0, {a});
  PlaceOn(1, {b});
  auto cut = Cut(s, {unread, x, y}, {a, b, y, unread});
  ASSERT_TRUE(cut.ok()) << cut.status();
  ASSERT_EQ(cut->parts.size(), 2u);
  EXPECT_THAT(PartOf(*cut, 0).arg_numbers, ElementsAre(0, 1, 2));
  EXPECT_THAT(PartOf(*cut, 1).arg_numbers, ElementsAre(2));
  EXPECT_EQ(PartOf(*cut, 0).ret_numbers.size() + PartOf(*cut, 1).ret_numbers.size(), 4u);
  for (size_t i = 0; i < PartOf(*cut, 0).graph.args.size(); ++i) {
    int64_t index = -1;
    ASSERT_TRUE(PartOf(*cut, 0).graph.args[i]->GetAttr("index", &index).ok());
    EXPECT_EQ(index, static_cast<int64_t>(i));
  }
  EXPECT_TRUE(cut->edges.empty());
  auto fed_only = Cut(s, {x}, {x});
  ASSERT_TRUE(fed_only.ok()) << fed_only.status();
  ASSERT_EQ(fed_only->parts.size(), 1u);
  EXPECT_EQ(fed_only->parts[0].task, "/job:w/replica:0/task:7");
}

TEST(PartitionTest, KnowsWhatMayBeDead) {
  Scope s = Scope::Root();
  Output x = Input(s, "x");
  Output pred = s.Op("Less", {x, s.Const(0.f)}), second = s.Op("Less", {x, s.Const(1.f)});
  Output inside, deep;
  const auto other = [&](const Scope& in) { return Outputs{in.Op("Abs", {x})}; };
  Outputs r = Cond(
      s, pred,
      [&](const Scope& in) {
        inside = in.WithOpName("inside").Op("Neg", {x});
        return Cond(
            in, second,
            [&](const Scope& in2) {
              deep = in2.WithOpName("deep").Op("Neg", {inside});
              return Outputs{deep};
            },
            other);
      },
      other);
  ASSERT_TRUE(s.ok()) << s.status();
  Output below = s.WithOpName("below").Op("Neg", {r[0]});
  Output use = s.Op("Neg", {below}), use_inside = s.Op("Neg", {inside}), use_deep = s.Op("Neg", {deep});
  Output use_merged = s.Op("Neg", {Output(r[0].node->input(1).node)});
  PlaceAll(s, 0);
  PlaceOn(1, {use, use_inside, use_deep, use_merged});
  auto cut = Cut(s, {x}, {use, use_inside, use_deep, use_merged});
  ASSERT_TRUE(cut.ok()) << cut.status();
  EXPECT_EQ(cut->edges.size(), 4u);
  // Where the inner branches meet again is still on one side of the outer cond; below both it is always there.
  EXPECT_THAT(MayBeDead(*cut),
              ::testing::UnorderedElementsAre("cond/inside:0", "cond/cond/deep:0", r[0].node->input(1).name()));
}

// x doubled n times on task 1; the loop itself is on task 0.
struct LoopOverTasks {
  Scope s = Scope::Root();
  Output x = Input(s, "x"), step = Input(s, "step");
  Output factor, inner, result;
  LoopOverTasks() {
    factor = s.WithOpName("factor").Op("Neg", {step});
    WhileOptions options;
    options.parallel_iterations = 7;
    Outputs r = WhileLoop(
        s,
        [](const Scope& in, const Outputs& v) {
          return in.Op("Less", {v[0], in.Const(10.f)});
        },
        [&](const Scope& in, const Outputs& v) {
          return Outputs{inner = in.WithOpName("inner").Op("AddV2", {v[0], factor})};
        },
        {x}, options);
    result = s.Op("Neg", r);
    EXPECT_TRUE(s.ok()) << s.status();
    PlaceAll(s, 0);
    PlaceOn(1, {inner});
    PlaceOn(2, {result, r[0]});
  }
};

TEST(PartitionTest, ALoopOverTasksHasAControlLoopOnEach) {
  LoopOverTasks g;
  auto cut = Cut(g.s, {g.x, g.step}, {g.result});
  ASSERT_TRUE(cut.ok()) << cut.status();
  ASSERT_EQ(cut->parts.size(), 3u);
  std::vector<std::string> in_loop, outside;
  for (const CutEdge& e : cut->edges) (e.in_loop ? in_loop : outside).push_back(e.tensor);
  // The constant of the loop goes over once, not in each iteration; so does the result.
  EXPECT_THAT(outside, ::testing::UnorderedElementsAre("factor:0", "while/Exit:0"));
  EXPECT_THAT(in_loop, ::testing::UnorderedElementsAre("while/LoopCond:0", "while/Identity:0", "while/inner:0"));
  EXPECT_TRUE(NodesOf(PartOf(*cut, 2), "Enter").empty());
  EXPECT_TRUE(NodesOf(PartOf(*cut, 0), "_LoopSend").size() == 2 && NodesOf(PartOf(*cut, 1), "_LoopSend").size() == 1);

  const GraphPart& there = PartOf(*cut, 1);
  for (const Node* enter : NodesOf(there, "Enter")) {
    std::string frame;
    int64_t parallel = 0;
    ASSERT_TRUE(enter->GetAttr("frame_name", &frame).ok() && enter->GetAttr("parallel_iterations", &parallel).ok());
    EXPECT_EQ(frame, "while/while_context");
    EXPECT_EQ(parallel, 7);
  }
  ASSERT_EQ(NodesOf(there, "Merge").size(), 1u);
  for (const Node* recv : NodesOf(there, "_Recv")) {
    int64_t edge = 0;
    ASSERT_TRUE(recv->GetAttr("_edge", &edge).ok());
    if (cut->edges[static_cast<size_t>(edge)].in_loop) {
      EXPECT_THAT(recv->control_inputs(), ElementsAre(NodesOf(there, "Merge")[0]));
    } else {
      EXPECT_TRUE(recv->control_inputs().empty());
    }
  }
  // What comes out of a loop is there: task 2 needs no frames.
  EXPECT_FALSE(MayBeDead(*NodesOf(PartOf(*cut, 2), "_Recv")[0]));
}

TEST(PartitionTest, RewritesLeaveTransfersAlone) {
  LoopOverTasks g;
  auto cut = Cut(g.s, {g.x, g.step}, {g.result});
  ASSERT_TRUE(cut.ok()) << cut.status();
  for (GraphPart& part : cut->parts) {
    std::vector<std::string> before, after;
    const auto list = [&](std::vector<std::string>* names) {
      for (const char* type : {"_Send", "_LoopSend", "_Recv", "Merge", "Switch", "NextIteration"}) {
        for (const Node* node : NodesOf(part, type)) names->push_back(node->name());
      }
    };
    list(&before);
    ASSERT_TRUE(RewriteGraph({}, &part.graph).ok());
    list(&after);
    EXPECT_EQ(before, after);
  }
}

TEST(PartitionTest, ReferencesAreReadAcrossTasksButNotHandedOver) {
  Scope s = Scope::Root();
  Output v = s.WithOpName("v").Op("VariableV2", {}, {{"dtype", DType::kFloat}, {"shape", Shape()}});
  Output read = s.Op("Neg", {v});
  Output assign = s.WithOpName("assign").Op("Assign", {v, s.Const(1.f)});
  PlaceAll(s, 0);
  PlaceOn(1, {read, assign});
  auto reading = Cut(s, {}, {read});
  ASSERT_TRUE(reading.ok()) << reading.status();
  ASSERT_EQ(reading->edges.size(), 1u);
  EXPECT_EQ(reading->edges[0].dtype, DType::kFloat);
  auto writing = Cut(s, {}, {assign});
  EXPECT_EQ(writing.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(writing.status().message()), HasSubstr("'assign' uses the reference 'v' of another task"));
}

TEST(PartitionTest, RefusesWhatItCannotCut) {
  Scope s = Scope::Root();
  Output a = s.Op("Neg", {Input(s, "x")});
  EXPECT_EQ(Cut(s, {}, {a}).status().code(), absl::StatusCode::kInvalidArgument);  // on no device
  PlaceAll(s, 0);
  a.node->set_assigned_device("/job:w/device:CPU:0");
  EXPECT_EQ(Cut(s, {}, {a}).status().code(), absl::StatusCode::kInvalidArgument);
  Node* send = s.Add("_Send", {a}, {{"_edge", 0}});
  ASSERT_TRUE(s.ok()) << s.status();
  PlaceAll(s, 0);
  const Status status = Cut(s, {}, {}, {send}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr("a program cannot use op '_Send'"));
}

TEST(PartitionTest, AProgramsOwnArgumentIsANodeLikeOthers) {
  Scope s = Scope::Root();
  Output own = s.Op("_Arg", {}, {{"T", DType::kFloat}, {"index", 0}});
  Output a = s.Op("Neg", {own});
  ASSERT_TRUE(s.ok()) << s.status();
  PlaceAll(s, 0);
  PlaceOn(1, {a});
  auto cut = Cut(s, {}, {a});
  ASSERT_TRUE(cut.ok()) << cut.status();
  EXPECT_EQ(cut->edges.size(), 1u);  // fails when it is compiled: nobody gives it a value
}

// Cuts a program of so many nodes that lie on eight tasks. Returns the processor's time that this took, in seconds.
double SecondsToCut(int num_nodes) {
  Scope s = Scope::Root();
  Graph& graph = *s.graph();
  const OpEntry* add = *OpRegistry::Global().Lookup("AddV2");
  Outputs values = {s.Const(1.f), s.Const(2.f)};
  for (int i = 0; i < num_nodes; ++i) {
    Graph::NodeSpec spec;
    spec.name = absl::StrCat("n", i);
    spec.op = add;
    spec.attrs.Set("T", DType::kFloat);
    spec.inputs = {values[values.size() - 1], values[values.size() * 7 / 8]};
    if (i % 10 == 9) spec.control_inputs = {values[values.size() / 2].node};
    values.emplace_back(*graph.AddNode(std::move(spec)));
  }
  int task = 0;
  for (const auto& node : graph.nodes()) node->set_assigned_device(Device(task++ / 4 % 8));
  auto pruned = Prune(graph, {}, {values.back()}, {});
  EXPECT_TRUE(pruned.ok());
  const std::clock_t begin = std::clock();  // of this process: others may be busy
  auto cut = PartitionByTask(*std::move(pruned));
  const double seconds = static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
  EXPECT_TRUE(cut.ok()) << cut.status();
  EXPECT_EQ(cut->parts.size(), 8u);
  EXPECT_GT(cut->edges.size(), static_cast<size_t>(num_nodes) / 2);
  return seconds;
}

TEST(PartitionTest, IsLinear) {
  const double few = SecondsToCut(10'000), many = SecondsToCut(100'000);
  EXPECT_LT(many, 40 * few) << "ten times the nodes: 10 where it is linear, 100 where it is quadratic";
}

}  // namespace
}  // namespace millstream
