// SPDX-License-Identifier: Apache-2.0
#include "millstream/train/saving/saver.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "millstream/base/file.h"
#include "millstream/proto/meta_graph.pb.h"
#include "millstream/train/optimizers/momentum.h"
#include "millstream/train/saving/checkpoint_management.h"
#include "millstream/train/testing/small_model.h"
#include "millstream/train/testing/steps.h"
#include "millstream/train/variables/variables.h"

namespace millstream {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::SmallModel;
using testing::TemporaryFolder;
using testing::Train;
using testing::Value;

class SaverTest : public ::testing::Test {
 protected:
  std::unique_ptr<Session> Start(SmallModel& model) {
    std::unique_ptr<Session> session = std::move(NewSession()).value();
    EXPECT_EQ(session->Extend(*model.scope.graph()), OkStatus());
    return session;
  }
  std::unique_ptr<Session> StartInitialized(SmallModel& model) {
    const Node* init = GlobalVariablesInitializer(model.scope);
    std::unique_ptr<Session> session = Start(model);
    std::vector<Tensor> none;
    EXPECT_EQ(session->Run({}, {}, {init->name()}, &none), OkStatus());
    return session;
  }
  static SaveOptions AtStep(int64_t step) {
    SaveOptions options;
    options.global_step = step;
    return options;
  }
  TemporaryFolder folder_;
};

TEST_F(SaverTest, RestoresWhatItSaved) {
  for (const bool sharded : {false, true}) {
    SmallModel model;
    SaverOptions options;
    options.sharded = sharded;
    const std::shared_ptr<Saver> saver = *Saver::Make(model.scope, options);
    const std::unique_ptr<Session> session = StartInitialized(model);
    ASSERT_EQ(Train(*session), OkStatus());
    const StatusOr<std::string> path = saver->Save(*session, folder_ / "model", AtStep(1));
    ASSERT_EQ(path.status(), OkStatus());
    EXPECT_EQ(*path, folder_ / "model-1");
    ASSERT_EQ(Train(*session), OkStatus());

    const std::unique_ptr<Session> other = Start(model);  // nothing is initialized there
    ASSERT_EQ(saver->Restore(*other, *LatestCheckpoint(folder_.path())), OkStatus());
    EXPECT_EQ(Value(*other, "w:0"), 2);
    EXPECT_EQ(Value(*other, model.r.value.name()), 6);
    EXPECT_EQ(Value(*other, "global_step:0"), 1);
  }
}

TEST_F(SaverTest, SavesValuesThatWereKept) {
  for (const bool sharded : {false, true}) {
    SmallModel model;
    SaverOptions options;
    options.sharded = sharded;
    options.background = true;
    const std::shared_ptr<Saver> saver = *Saver::Make(model.scope, options);
    const std::unique_ptr<Session> session = StartInitialized(model);
    SaveOptions kept;
    kept.kept = true;
    for (int i = 0; i < 2; ++i) {  // the first is never saved
      ASSERT_EQ(Train(*session), OkStatus());
      ASSERT_EQ(saver->KeepValues(*session), OkStatus());
    }
    ASSERT_EQ(Train(*session), OkStatus());
    ASSERT_EQ(saver->Save(*session, folder_ / "kept", kept).status(), OkStatus());
    EXPECT_EQ(Value(*session, "w:0"), 4);
    ASSERT_EQ(saver->Restore(*session, folder_ / "kept"), OkStatus());
    EXPECT_EQ(Value(*session, "w:0"), 3);
    EXPECT_EQ(Value(*session, model.r.value.name()), 7);
    EXPECT_EQ(Value(*session, "global_step:0"), 2);
  }
  SmallModel model;
  const std::shared_ptr<Saver> saver = *Saver::Make(model.scope);
  EXPECT_EQ(saver->KeepValues(*Start(model)).code(), absl::StatusCode::kFailedPrecondition);
}

TEST_F(SaverTest, KeepsTheLastOnesAndDeletesOthers) {
  SmallModel model;
  SaverOptions options;
  options.max_to_keep = 2;
  const std::shared_ptr<Saver> saver = *Saver::Make(model.scope, options);
  const std::unique_ptr<Session> session = StartInitialized(model);
  for (int64_t step : {1, 2, 3, 2}) ASSERT_EQ(saver->Save(*session, folder_ / "m", AtStep(step)).status(), OkStatus());
  EXPECT_THAT(saver->last_checkpoints(), ElementsAre(folder_ / "m-3", folder_ / "m-2"));
  EXPECT_EQ(LatestCheckpoint(folder_.path()), folder_ / "m-2");
  EXPECT_FALSE(CheckpointExists(folder_ / "m-1"));
  EXPECT_FALSE(FileExists(folder_ / "m-1.meta"));
  EXPECT_FALSE(FileExists(folder_ / "m-1.data-00000-of-00001"));
  EXPECT_TRUE(FileExists(folder_ / "m-3.meta"));

  // Another process goes on with them.
  SmallModel later;
  const std::shared_ptr<Saver> next = *Saver::Make(later.scope, options);
  next->RecoverLastCheckpoints(GetCheckpointState(folder_.path())->all_model_checkpoint_paths);
  const std::unique_ptr<Session> restarted = StartInitialized(later);
  ASSERT_EQ(next->Save(*restarted, folder_ / "m", AtStep(4)).status(), OkStatus());
  EXPECT_FALSE(CheckpointExists(folder_ / "m-3"));
}

TEST_F(SaverTest, KeepsOneOfEverySoManyHours) {
  SmallModel model;
  SaverOptions options;
  options.max_to_keep = 1;
  options.keep_checkpoint_every_n_hours = 1e-9;
  const std::shared_ptr<Saver> saver = *Saver::Make(model.scope, options);
  const std::unique_ptr<Session> session = StartInitialized(model);
  for (int64_t step : {1, 2}) ASSERT_EQ(saver->Save(*session, folder_ / "m", AtStep(step)).status(), OkStatus());
  EXPECT_TRUE(CheckpointExists(folder_ / "m-1"));
  EXPECT_THAT(saver->last_checkpoints(), ElementsAre(folder_ / "m-2"));
}

TEST_F(SaverTest, ErrorsSayWhatIsWrong) {
  SmallModel model;
  const std::shared_ptr<Saver> saver = *Saver::Make(model.scope);
  const std::unique_ptr<Session> session = StartInitialized(model);
  EXPECT_EQ(saver->Restore(*session, folder_ / "none").code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(saver->Save(*session, folder_ / "checkpoint").status().code(), absl::StatusCode::kInvalidArgument);
  SaveOptions elsewhere;
  elsewhere.latest_filename = "a/b";
  EXPECT_EQ(saver->Save(*session, folder_ / "m", elsewhere).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(Saver::Make(Scope::Root()).status().code(), absl::StatusCode::kInvalidArgument);
  SaverOptions twice;
  twice.variables = {{"a", model.w.handle, ""}, {"b", model.w.handle, ""}};
  EXPECT_EQ(Saver::Make(model.scope, twice).status().code(), absl::StatusCode::kInvalidArgument);
  twice.variables = {{"a", model.w.handle, ""}, {"a", model.r.handle, ""}};
  EXPECT_EQ(Saver::Make(model.scope, twice).status().code(), absl::StatusCode::kInvalidArgument);

  ASSERT_EQ(saver->Save(*session, folder_ / "m").status(), OkStatus());
  SmallModel more;
  ASSERT_TRUE(VariableScope(more.scope).Get("extra", Shape({1})));
  const std::shared_ptr<Saver> wants_more = *Saver::Make(more.scope);
  const Status status = wants_more->Restore(*Start(more), folder_ / "m");
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(status.message(), HasSubstr("missing from the checkpoint"));
}

TEST_F(SaverTest, NothingToSave) {
  SaverOptions options;
  options.allow_empty = true;
  const Scope scope = Scope::Root();
  const std::shared_ptr<Saver> saver = *Saver::Make(scope, options);
  const std::unique_ptr<Session> session = *NewSession();
  EXPECT_EQ(*saver->Save(*session, folder_ / "m"), "");
  EXPECT_EQ(saver->Restore(*session, folder_ / "m"), OkStatus());
}

TEST_F(SaverTest, SlicesOfAVariableAreOneTensor) {
  SmallModel model;
  VariableOptions zeros;
  zeros.initializer = ConstantInitializer(3);
  const VariableScope variables(model.scope);
  const GraphVariable a = variables.Get("v/part_0", Shape({2}), zeros),
                      b = variables.Get("v/part_1", Shape({1}), zeros);
  SaverOptions options;
  options.variables = {{"v", a.handle, "3 0,2"}, {"v", b.handle, "3 2,1"}};
  const std::shared_ptr<Saver> saver = *Saver::Make(model.scope, options);
  const std::unique_ptr<Session> session = StartInitialized(model);
  ASSERT_EQ(saver->Save(*session, folder_ / "m").status(), OkStatus());

  const Scope whole = Scope::Root();
  const GraphVariable v = VariableScope(whole).Get("v", Shape({3}), zeros);
  const std::shared_ptr<Saver> reader = *Saver::Make(whole);
  const std::unique_ptr<Session> other = *NewSession();
  ASSERT_EQ(other->Extend(*whole.graph()), OkStatus());
  ASSERT_EQ(reader->Restore(*other, folder_ / "m"), OkStatus());
  EXPECT_EQ(Value(*other, v.value.name()), 3);
}

TEST_F(SaverTest, TheMetaGraphNamesVariablesAndTheSaver) {
  SmallModel model;
  const std::shared_ptr<Saver> saver = *Saver::Make(model.scope);
  proto::MetaGraphDef meta;
  ASSERT_TRUE(meta.ParseFromString(*saver->ExportMetaGraph()));
  EXPECT_EQ(meta.saver_def().restore_op_name(), "save/restore_all");
  EXPECT_EQ(meta.saver_def().filename_tensor_name(), "save/Const:0");
  EXPECT_EQ(meta.collection_def().at("variables").bytes_list().value_size(), 3);
  EXPECT_EQ(meta.collection_def().at("trainable_variables").bytes_list().value_size(), 2);
  EXPECT_EQ(meta.collection_def().at("global_step").bytes_list().value_size(), 1);
}

TEST_F(SaverTest, StateFiles) {
  EXPECT_FALSE(GetCheckpointState(folder_.path()).has_value());
  CheckpointState state;
  state.model_checkpoint_path = folder_ / "m-2";
  state.all_model_checkpoint_paths = {folder_ / "m-1", folder_ / "m-2"};
  ASSERT_EQ(UpdateCheckpointState(folder_.path(), state, "checkpoint", /*relative_paths=*/true), OkStatus());
  EXPECT_THAT(*ReadFile(folder_ / "checkpoint"), HasSubstr("model_checkpoint_path: \"m-2\""));
  EXPECT_THAT(GetCheckpointState(folder_.path())->all_model_checkpoint_paths,
              ElementsAre(folder_ / "m-1", folder_ / "m-2"));
  EXPECT_EQ(LatestCheckpoint(folder_.path()), std::nullopt);  // its files are not there
  ASSERT_EQ(WriteFileAtomically(folder_ / "checkpoint", "no such thing"), OkStatus());
  EXPECT_FALSE(GetCheckpointState(folder_.path()).has_value());
  state.model_checkpoint_path = folder_ / "checkpoint";
  EXPECT_EQ(UpdateCheckpointState(folder_.path(), state).code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(MetaGraphFilename("a/m-00001-of-00002"), "a/m.meta");
  EXPECT_EQ(MetaGraphFilename("a/m-12"), "a/m-12.meta");
}

// Written by parts, with their slots; read by other parts, and whole.
TEST_F(SaverTest, KnowsPartitionedVariables) {
  std::string path;
  const auto build = [](const Scope& s, int64_t parts) {
    VariableOptions options;
    options.initializer = ValueInitializer(Tensor::Of<float>(Shape({5, 2}), {0, 1, 2, 3, 4, 5, 6, 7, 8, 9}));
    if (parts > 0) options.partitioner = FixedSizePartitioner(parts);
    const Output w = VariableScope(s).GetValue("w", Shape({5, 2}), options);
    MomentumOptimizer(0.5, 0.9).Minimize(s, s.Op("Sum", {w, s.Constant({0, 1})}));
    return w;
  };
  {
    const Scope s = Scope::Root();
    const Output w = build(s, 2);
    const auto saver = Saver::Make(s);
    ASSERT_TRUE(saver.ok()) << saver.status();
    const auto session = SessionOf(s, GlobalVariablesInitializer(s));
    RunStep(*session, {}, {s.Collection("train_op")[0].node});
    EXPECT_EQ(FloatsOf(*session, w)[9], 8.5f);
    const StatusOr<std::string> saved = (*saver)->Save(*session, folder_ / "model");
    ASSERT_TRUE(saved.ok()) << saved.status();
    path = *saved;
  }
  for (const int64_t parts : {0, 1, 3}) {
    SCOPED_TRACE(parts);
    const Scope s = Scope::Root();
    const Output w = build(s, parts);
    const auto saver = Saver::Make(s);
    ASSERT_TRUE(saver.ok()) << saver.status();
    const auto session = SessionOf(s);
    const Status restored = (*saver)->Restore(*session, path);
    ASSERT_TRUE(restored.ok()) << restored;
    EXPECT_EQ(FloatsOf(*session, w), (std::vector<float>{-0.5, 0.5, 1.5, 2.5, 3.5, 4.5, 5.5, 6.5, 7.5, 8.5}));
    RunStep(*session, {}, {s.Collection("train_op")[0].node});
    EXPECT_FLOAT_EQ(FloatsOf(*session, w)[9], 8.5f - 0.5f * 1.9f);  // the momentum was there
  }
}

}  // namespace
}  // namespace millstream
