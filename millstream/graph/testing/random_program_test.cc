// SPDX-License-Identifier: Apache-2.0
// Fuzzers are worth what their programs are: most must get past import, and every op must be among them.
#include "millstream/graph/testing/random_program.h"

#include <gmock/gmock.h>

#include <random>

#include "millstream/graph/import/import.h"

namespace millstream::testing {
namespace {

std::vector<uint8_t> Bytes(uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<uint8_t> bytes(600);
  for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(random());
  return bytes;
}

TEST(RandomProgram, MostNodesCanBeImported) {
  int made = 0, imported = 0;
  for (uint32_t seed = 0; seed < 2000; ++seed) {
    const std::vector<uint8_t> bytes = Bytes(seed);
    Choices choices(bytes.data(), bytes.size());
    proto::GraphDef def;
    RandomProgram program(&choices, &def);
    program.AddFunctions();
    if (program.AddNode() < 0) continue;
    ++made;
    Graph graph;
    imported += ImportGraph(def, {}, &graph).ok();
  }
  EXPECT_GT(made, 1000);
  EXPECT_GT(imported, made / 2);
}

TEST(RandomProgram, EveryOpIsMade) {
  std::vector<std::string> missing;
  for (const OpEntry* op : HarmlessOps()) {
    bool made = false;
    for (uint32_t seed = 0; seed < 400 && !made; ++seed) {
      const std::vector<uint8_t> bytes = Bytes(seed);
      Choices choices(bytes.data(), bytes.size());
      proto::GraphDef def;
      made = RandomProgram(&choices, &def).AddNode(*op) >= 0;
    }
    if (!made) missing.push_back(op->def.name);
  }
  EXPECT_THAT(missing, ::testing::IsEmpty());
}

TEST(RandomProgram, RepeatedNodesTakeTheirOwnResults) {
  for (const char* op : {"AddV2", "StringJoin"}) {
    bool repeated = false;
    for (uint32_t seed = 0; seed < 400 && !repeated; ++seed) {
      const std::vector<uint8_t> bytes = Bytes(seed);
      Choices choices(bytes.data(), bytes.size());
      proto::GraphDef def;
      RandomProgram program(&choices, &def);
      const int node = program.AddNode(*OpRegistry::Global().Find(op));
      Graph before, after;
      if (node < 0 || def.node(node).input_size() == 0 || !ImportGraph(def, {}, &before).ok()) continue;
      const int first = def.node_size();
      program.Repeat(proto::NodeDef(def.node(node)), 5);
      ASSERT_EQ(def.node_size(), first + 5) << op;
      for (int i = first; i < def.node_size(); ++i) {
        EXPECT_EQ(def.node(i).input(0), i == first ? def.node(node).name() : def.node(i - 1).name());
      }
      EXPECT_TRUE(ImportGraph(def, {}, &after).ok()) << op;
      repeated = true;
    }
    EXPECT_TRUE(repeated) << op;
  }
}

TEST(RandomProgram, NodesUseEachOther) {
  const std::vector<uint8_t> bytes = Bytes(5);
  Choices choices(bytes.data(), bytes.size());
  proto::GraphDef def;
  RandomProgram program(&choices, &def);
  const OpEntry& add = *OpRegistry::Global().Find("AddV2");
  for (int i = 0; i < 20; ++i) program.AddNode(add);
  bool connected = false;
  for (const proto::NodeDef& node : def.node()) {
    for (const std::string& input : node.input()) connected = connected || input.ends_with(":0");
  }
  EXPECT_TRUE(connected);
}

}  // namespace
}  // namespace millstream::testing
