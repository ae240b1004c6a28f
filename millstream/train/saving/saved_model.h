// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_TRAIN_SAVING_SAVED_MODEL_H_
#define MILLSTREAM_TRAIN_SAVING_SAVED_MODEL_H_

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "millstream/graph/scope.h"
#include "millstream/runtime/session.h"
#include "millstream/train/saving/saver.h"

namespace millstream {

namespace proto {
class SavedModel;
}  // namespace proto

// SavedModels: folders with graphs, the values of their variables and what to feed and fetch, as tf.saved_model writes
// and reads them.

namespace saved_model {
inline constexpr char kServing[] = "serve";
inline constexpr char kTraining[] = "train";
inline constexpr char kDefaultServingSignature[] = "serving_default";
inline constexpr char kPredictMethod[] = "tensorflow/serving/predict";
inline constexpr char kClassifyMethod[] = "tensorflow/serving/classify";
inline constexpr char kRegressMethod[] = "tensorflow/serving/regress";
}  // namespace saved_model

// What a model takes and gives, by names of the caller's choice.
struct Signature {
  std::map<std::string, Output> inputs = {}, outputs = {};
  std::string method_name = saved_model::kPredictMethod;
};
using Signatures = std::map<std::string, Signature>;

struct SavedGraphOptions {
  Signatures signatures = {};
  Node* main_op = nullptr;  // run when the model is loaded: initializers of tables, say
  bool clear_devices = false;
  bool strip_default_attrs = false;
  std::shared_ptr<Saver> saver = {};  // none: a new one for all variables
  std::vector<Output> assets = {};    // string constants: paths of files that are copied into the model
};

// Writes one. Not thread-safe.
class SavedModelBuilder {
 public:
  // Makes the folder. AlreadyExists if there is one that is not empty.
  static StatusOr<std::unique_ptr<SavedModelBuilder>> Make(const std::string& export_dir);
  ~SavedModelBuilder();

  // The graph and the values that its variables have in the session, which gets the nodes of a new saver. Once, first:
  // FailedPrecondition. InvalidArgument: an asset is not a known string; a signature has an empty tensor.
  Status AddMetaGraphAndVariables(Session& session, const Scope& scope, const std::vector<std::string>& tags,
                                  const SavedGraphOptions& options = {});
  // Further graphs over the same variables.
  Status AddMetaGraph(const Scope& scope, const std::vector<std::string>& tags, const SavedGraphOptions& options = {});
  // Writes the file that makes the folder a model; returns its path.
  StatusOr<std::string> Save(bool as_text = false);

 private:
  explicit SavedModelBuilder(std::string export_dir);
  Status Add(const Scope& scope, const std::vector<std::string>& tags, const SavedGraphOptions& options,
             const Saver* saver);

  const std::string export_dir_;
  const std::unique_ptr<proto::SavedModel> model_;
  bool has_variables_ = false;
};

// A model for serving with one signature.
Status SimpleSave(Session& session, const Scope& scope, const std::string& export_dir,
                  const std::map<std::string, Output>& inputs, const std::map<std::string, Output>& outputs);

// A model that was loaded: a graph and a session that has its variables.
struct LoadedModel {
  Scope scope = Scope::Root();
  std::unique_ptr<Session> session;
  Signatures signatures;
  std::shared_ptr<Saver> saver;  // null without variables
};

// True if the folder holds a model.
bool MaybeSavedModelDirectory(const std::string& export_dir);
// The graph that has exactly these tags, in a new session. NotFound: no model there, or none with these tags (it says
// which there are); InvalidArgument: the model is malformed.
StatusOr<LoadedModel> LoadSavedModel(const std::string& export_dir,
                                     const std::set<std::string>& tags = {saved_model::kServing},
                                     const SessionOptions& options = {});

}  // namespace millstream

#endif  // MILLSTREAM_TRAIN_SAVING_SAVED_MODEL_H_
