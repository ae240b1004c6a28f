// SPDX-License-Identifier: Apache-2.0
#include "millstream/train/saving/saved_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "millstream/train/layers/layers.h"
#include "millstream/train/testing/small_model.h"
#include "millstream/train/testing/steps.h"
#include "millstream/train/variables/variables.h"

namespace millstream {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::TemporaryFolder;

// y = 2 x + 1
struct Line {
  Line() {
    layers::Options options;
    options.kernel_initializer = ConstantInitializer(2);
    options.bias_initializer = ConstantInitializer(1);
    y = layers::Dense(VariableScope(scope), x, 1, options);
    session = SessionOf(scope, GlobalVariablesInitializer(scope));
  }
  Scope scope = Scope::Root();
  Output x = scope.Op("Placeholder", {}, {{"dtype", DType::kFloat}, {"shape", PartialShape({-1, 1})}});
  Output y;
  std::unique_ptr<Session> session;
};

TEST(SavedModelTest, SimpleSaveAndLoad) {
  const TemporaryFolder folder;
  const std::string path = folder / "model";
  {
    const Line line;
    const Status saved = SimpleSave(*line.session, line.scope, path, {{"x", line.x}}, {{"y", line.y}});
    ASSERT_TRUE(saved.ok()) << saved;
    // A second time the folder is there.
    const Status again = SimpleSave(*line.session, line.scope, path, {{"x", line.x}}, {{"y", line.y}});
    EXPECT_EQ(again.code(), absl::StatusCode::kAlreadyExists) << again;
  }
  EXPECT_TRUE(MaybeSavedModelDirectory(path));
  const StatusOr<LoadedModel> model = LoadSavedModel(path);
  ASSERT_TRUE(model.ok()) << model.status();
  ASSERT_TRUE(model->signatures.contains("serving_default"));
  const Signature& signature = model->signatures.at("serving_default");
  EXPECT_EQ(signature.method_name, "tensorflow/serving/predict");
  const Tensor out = ValueOf(*model->session, signature.outputs.at("y"),
                             {{signature.inputs.at("x").name(), Tensor::Of<float>(Shape({2, 1}), {3, 4})}});
  EXPECT_THAT(std::vector<float>(out.flat<float>().begin(), out.flat<float>().end()), ElementsAre(7, 9));
  EXPECT_EQ(model->scope.Collection("trainable_variables").size(), 2u);
}

TEST(SavedModelTest, TagsMainOpAndAssets) {
  const TemporaryFolder folder;
  std::ofstream(folder / "words.txt") << "hello";
  {
    Line line;
    const Scope& s = line.scope;
    const Output path = s.WithOpName("words").Const(Tensor::Scalar(folder / "words.txt"));
    VariableOptions options;
    options.dtype = DType::kString;
    options.initializer = ZerosInitializer();
    options.trainable = false;
    options.collections = {graph_keys::kLocalVariables};
    const GraphVariable text = MakeVariable(s, "text", Shape(), options);
    SavedGraphOptions how;
    how.main_op = AssignVariable(s, text, s.Op("ReadFile", {path})).node;
    how.assets = {path};
    const auto builder = SavedModelBuilder::Make(folder / "model");
    ASSERT_TRUE(builder.ok()) << builder.status();
    EXPECT_EQ((*builder)->AddMetaGraph(s, {"early"}).code(), absl::StatusCode::kFailedPrecondition);
    const Status added = (*builder)->AddMetaGraphAndVariables(*line.session, s, {"serve", "cpu"}, how);
    ASSERT_TRUE(added.ok()) << added;
    EXPECT_EQ((*builder)->AddMetaGraphAndVariables(*line.session, s, {"twice"}).code(),
              absl::StatusCode::kFailedPrecondition);
    EXPECT_TRUE((*builder)->AddMetaGraph(s, {"train"}).ok());
    ASSERT_TRUE((*builder)->Save(/*as_text=*/true).ok());
  }
  std::filesystem::remove(folder / "words.txt");  // the model has its own
  const Status missing = LoadSavedModel(folder / "model").status();
  EXPECT_EQ(missing.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(missing.message()), HasSubstr("[cpu, serve], [train]"));
  const StatusOr<LoadedModel> model = LoadSavedModel(folder / "model", {"serve", "cpu"});
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_EQ(ValueOf(*model->session, *model->scope.graph()->FindOutput("text/read:0")).scalar<std::string>(), "hello");
}

TEST(SavedModelTest, RefusesWhatIsMalformed) {
  const TemporaryFolder folder;
  EXPECT_FALSE(MaybeSavedModelDirectory(folder.path()));
  EXPECT_EQ(LoadSavedModel(folder.path()).status().code(), absl::StatusCode::kNotFound);
  std::ofstream(folder / "saved_model.pb") << "\xff garbage";
  EXPECT_EQ(LoadSavedModel(folder.path()).status().code(), absl::StatusCode::kInvalidArgument);
  const Line line;
  EXPECT_EQ(SimpleSave(*line.session, line.scope, folder / "model", {{"x", Output()}}, {}).code(),
            absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace millstream
