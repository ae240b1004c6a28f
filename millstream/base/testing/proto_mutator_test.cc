// SPDX-License-Identifier: Apache-2.0
#include "millstream/base/testing/proto_mutator.h"

#include <gmock/gmock.h>

#include <set>

#include "millstream/proto/graph.pb.h"

namespace millstream::testing {
namespace {

const std::vector<std::string> kWords = {"MatMul"};

TEST(ProtoMutator, SameSeedMakesSameChanges) {
  proto::TensorShapeProto a, b;
  ProtoMutator x(7, &kWords), y(7, &kWords);
  for (int i = 0; i < 200; ++i) {
    x.Mutate(&a);
    y.Mutate(&b);
  }
  EXPECT_EQ(a.SerializeAsString(), b.SerializeAsString());
  EXPECT_GT(a.dim_size(), 0);
}

TEST(ProtoMutator, WhatItMakesCanBeParsed) {
  ProtoMutator mutator(1, &kWords);
  for (int i = 0; i < 50; ++i) {
    proto::GraphDef graph, again;
    for (int change = 0; change < 100; ++change) mutator.Mutate(&graph);
    EXPECT_TRUE(again.ParseFromString(graph.SerializeAsString())) << i;
  }
}

TEST(ProtoMutator, ReachesNestedFieldsAndWords) {
  ProtoMutator mutator(3, &kWords);
  std::set<std::string> seen;
  for (int i = 0; i < 300; ++i) {
    proto::GraphDef graph;
    for (int change = 0; change < 60; ++change) mutator.Mutate(&graph);
    for (const proto::NodeDef& node : graph.node()) {
      if (node.op() == "MatMul") seen.insert("op");
      if (node.input_size() > 0) seen.insert("input");
      for (const auto& [name, value] : node.attr()) {
        if (value.has_tensor()) seen.insert("tensor");
        if (value.has_list()) seen.insert("list");
      }
    }
    if (graph.library().function_size() > 0) seen.insert("function");
  }
  EXPECT_THAT(seen, ::testing::UnorderedElementsAre("op", "input", "tensor", "list", "function"));
}

TEST(ProtoMutator, TakesPartsOfAnotherMessage) {
  proto::GraphDef other, graph;
  other.add_node()->set_name("from the other");
  bool taken = false;
  for (uint32_t seed = 0; seed < 100 && !taken; ++seed) {
    ProtoMutator(seed, &kWords).Cross(other, &graph);
    for (const proto::NodeDef& node : graph.node()) taken = taken || node.name() == "from the other";
  }
  EXPECT_TRUE(taken);
}

size_t Unchanged(uint8_t*, size_t size, size_t) { return size; }

TEST(MutateMessage, KeepsWithinTheLimit) {
  std::vector<uint8_t> data(40);
  size_t size = 0;
  for (uint32_t seed = 0; seed < 500; ++seed) {
    ProtoMutator mutator(seed, &kWords);
    proto::GraphDef graph;
    size = MutateMessage(data.data(), size, data.size(), &mutator, &graph, nullptr, Unchanged);
    ASSERT_LE(size, data.size());
    ASSERT_TRUE(graph.ParseFromArray(data.data(), static_cast<int>(size)));
  }
  EXPECT_GT(size, 0U);
}

}  // namespace
}  // namespace millstream::testing
