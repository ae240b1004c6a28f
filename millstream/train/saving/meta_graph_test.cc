// SPDX-License-Identifier: Apache-2.0
#include "millstream/train/saving/meta_graph.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "millstream/graph/variables/save_slice.h"
#include "millstream/proto/meta_graph.pb.h"
#include "millstream/train/input/input.h"
#include "millstream/train/input/queue_runner.h"
#include "millstream/train/optimizers/adam.h"
#include "millstream/train/testing/small_model.h"
#include "millstream/train/testing/steps.h"
#include "millstream/train/variables/variables.h"

namespace millstream {
namespace {

using ::testing::ElementsAre;
using testing::SmallModel;
using testing::TemporaryFolder;
using testing::Train;
using testing::Value;

std::vector<std::string> NamesIn(const Scope& s, const std::string& collection) {
  std::vector<std::string> names;
  for (const Output& o : s.Collection(collection)) names.push_back(o.node->name());
  return names;
}

// A program that knows nothing but the files goes on where the first one stopped.
TEST(MetaGraphTest, GoesOnFromFilesAlone) {
  const TemporaryFolder folder;
  std::string checkpoint;
  {
    const SmallModel model;
    model.scope.AddToCollection("mine", model.w.value);
    const auto saver = Saver::Make(model.scope);
    ASSERT_TRUE(saver.ok()) << saver.status();
    const auto session = SessionOf(model.scope, GlobalVariablesInitializer(model.scope));
    ASSERT_TRUE(Train(*session).ok());
    SaveOptions options;
    options.write_meta_graph = false;
    const StatusOr<std::string> saved = (*saver)->Save(*session, folder / "model", options);
    ASSERT_TRUE(saved.ok()) << saved.status();
    checkpoint = *saved;
    const Status written = WriteMetaGraph(model.scope, saver->get(), folder / "graph.meta", {.collections = {"mine"}});
    ASSERT_TRUE(written.ok()) << written;
  }
  const Scope s = Scope::Root();
  const StatusOr<std::shared_ptr<Saver>> saver = ImportMetaGraph(s, folder / "graph.meta");
  ASSERT_TRUE(saver.ok()) << saver.status();
  ASSERT_NE(*saver, nullptr);
  EXPECT_THAT(NamesIn(s, "variables"), ElementsAre("w", "r", "global_step"));
  EXPECT_THAT(NamesIn(s, "global_step"), ElementsAre("global_step"));
  EXPECT_THAT(NamesIn(s, "mine"), ElementsAre("w/read"));
  // New nodes get along with those that came.
  EXPECT_EQ(s.NameScope("save").name_prefix(), "save_1/");
  const Output doubled = s.Op("Mul", {s.Collection("mine")[0], s.Const(2.0f)});
  const auto session = SessionOf(s);
  ASSERT_TRUE((*saver)->Restore(*session, checkpoint).ok());
  EXPECT_EQ(Value(*session, "w/read:0"), 2);
  ASSERT_TRUE(Train(*session).ok());
  EXPECT_EQ(Value(*session, doubled.name()), 6);
  EXPECT_EQ(Value(*session, "global_step:0"), 2);
}

TEST(MetaGraphTest, ImportScope) {
  const SmallModel model;
  const auto saver = Saver::Make(model.scope);
  ASSERT_TRUE(saver.ok()) << saver.status();
  proto::MetaGraphDef def;
  ASSERT_TRUE(ExportMetaGraph(model.scope, saver->get(), {.tags = {"train"}}, &def).ok());
  EXPECT_EQ(def.meta_info_def().tags(0), "train");
  const Scope s = Scope::Root();
  s.WithOpName("w").Const(1.0f);
  const StatusOr<std::shared_ptr<Saver>> imported = ImportMetaGraph(s, def, {.import_scope = "copy"});
  ASSERT_TRUE(imported.ok()) << imported.status();
  EXPECT_THAT(NamesIn(s, "variables"), ElementsAre("copy/w", "copy/r", "copy/global_step"));
  EXPECT_NE(s.graph()->Find("copy/save/restore_all"), nullptr);
  Node* init = GlobalVariablesInitializer(s);
  const auto session = SessionOf(s, init);
  EXPECT_EQ(Value(*session, "copy/w/read:0"), 1);
  // Without scope the names collide, and the graph stays as it is.
  const int nodes = s.graph()->num_nodes();
  EXPECT_EQ(ImportMetaGraph(s, def).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(s.graph()->num_nodes(), nodes);
}

TEST(MetaGraphTest, SlicesAndQueueRunnersTravel) {
  const Scope from = Scope::Root();
  VariableOptions options;
  options.partitioner = FixedSizePartitioner(2);
  VariableScope(from).GetPartitioned("w", Shape({4}), options);
  const Output queue = input::InputProducer(from, from.Const(Tensor::Vector<int32_t>({1, 2})), {.shuffle = false});
  from.WithOpName("next").Op("Identity", {input::Dequeue(from, queue, DType::kInt32)});
  proto::MetaGraphDef def;
  ASSERT_TRUE(ExportMetaGraph(from, nullptr, {.clear_devices = true}, &def).ok());
  EXPECT_FALSE(def.has_saver_def());
  const Scope s = Scope::Root();
  const StatusOr<std::shared_ptr<Saver>> saver = ImportMetaGraph(s, def);
  ASSERT_TRUE(saver.ok()) << saver.status();
  EXPECT_NE(*saver, nullptr);  // a new one
  EXPECT_EQ(SaveSliceOf(*s.graph()->Find("w/part_1"))->Spec(), "4 2,2");
  ASSERT_EQ(QueueRunnersOf(s).size(), 1u);
  const auto session = SessionOf(s);
  Coordinator coordinator;
  StartQueueRunners(s, *session, coordinator);
  EXPECT_EQ(ValueOf(*session, *s.graph()->FindOutput("next:0")).scalar<int32_t>(), 1);
  coordinator.RequestStop();
  EXPECT_TRUE(coordinator.Join().ok());
}

TEST(MetaGraphTest, RefusesWhatIsMalformed) {
  const TemporaryFolder folder;
  const Scope s = Scope::Root();
  EXPECT_EQ(ImportMetaGraph(s, folder / "missing").status().code(), absl::StatusCode::kNotFound);
  std::ofstream(folder / "text") << "graph_def { node { name: 'n' op: 'NoOp' } }";
  EXPECT_TRUE(ImportMetaGraph(s, folder / "text").ok());
  EXPECT_NE(s.graph()->Find("n"), nullptr);
  std::ofstream(folder / "garbage") << "\xff\xff garbage";
  EXPECT_EQ(ImportMetaGraph(s, folder / "garbage").status().code(), absl::StatusCode::kInvalidArgument);
  const auto refused = [](const std::function<void(proto::MetaGraphDef&)>& change) {
    proto::MetaGraphDef def;
    change(def);
    return !ImportMetaGraph(Scope::Root(), def).ok();
  };
  EXPECT_TRUE(refused([](auto& d) { d.mutable_saver_def()->set_save_tensor_name("none:0"); }));
  EXPECT_TRUE(
      refused([](auto& d) { (*d.mutable_collection_def())["variables"].mutable_bytes_list()->add_value("\xff"); }));
  EXPECT_TRUE(
      refused([](auto& d) { (*d.mutable_collection_def())["queue_runners"].mutable_bytes_list()->add_value(""); }));
  EXPECT_TRUE(
      refused([](auto& d) { (*d.mutable_collection_def())["losses"].mutable_node_list()->add_value("gone:0"); }));
  EXPECT_TRUE(refused([](auto& d) { d.mutable_graph_def()->add_node()->set_name("no op"); }));
}

}  // namespace
}  // namespace millstream
