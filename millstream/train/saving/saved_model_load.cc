// SPDX-License-Identifier: Apache-2.0
#include <google/protobuf/text_format.h>

#include "absl/strings/str_join.h"
#include "millstream/base/file.h"
#include "millstream/proto/meta_graph.pb.h"
#include "millstream/proto/saved_model.pb.h"
#include "millstream/train/saving/meta_graph.h"
#include "millstream/train/saving/saved_model.h"
#include "millstream/train/saving/saved_model_files.h"

namespace millstream {
namespace {

std::string Within(const std::string& folder, absl::string_view name) { return absl::StrCat(folder, "/", name); }

Status ReadModel(const std::string& export_dir, proto::SavedModel* model) {
  if (FileExists(Within(export_dir, kBinaryFile))) {
    ASSIGN_OR_RETURN(const std::string bytes, ReadFile(Within(export_dir, kBinaryFile)));
    if (model->ParseFromString(bytes)) return OkStatus();
  } else if (FileExists(Within(export_dir, kTextFile))) {
    ASSIGN_OR_RETURN(const std::string bytes, ReadFile(Within(export_dir, kTextFile)));
    if (google::protobuf::TextFormat::ParseFromString(bytes, model)) return OkStatus();
  } else {
    return errors::NotFound("SavedModel file does not exist at: ", export_dir, "/{", kTextFile, "|", kBinaryFile, "}");
  }
  return errors::InvalidArgument("Cannot parse the SavedModel in ", export_dir);
}

StatusOr<const proto::MetaGraphDef*> FindTags(const proto::SavedModel& model, const std::set<std::string>& tags) {
  std::vector<std::string> there;
  for (const proto::MetaGraphDef& graph : model.meta_graphs()) {
    const auto& own = graph.meta_info_def().tags();
    const std::set<std::string> found(own.begin(), own.end());
    if (found == tags) return &graph;
    there.push_back(absl::StrCat("[", absl::StrJoin(found, ", "), "]"));
  }
  return errors::NotFound("MetaGraphDef associated with tags [", absl::StrJoin(tags, ", "),
                          "] could not be found in SavedModel, with available tags: ", absl::StrJoin(there, ", "));
}

template <typename Infos>
Status ReadTensors(const Scope& scope, const Infos& infos, std::map<std::string, Output>* tensors) {
  for (const auto& [name, info] : infos) {
    if (info.name().empty()) continue;  // sparse ones have several names
    ASSIGN_OR_RETURN((*tensors)[name], scope.graph()->FindOutput(info.name()));
  }
  return OkStatus();
}

Status ReadSignatures(const Scope& scope, const proto::MetaGraphDef& graph, Signatures* signatures) {
  for (const auto& [key, def] : graph.signature_def()) {
    Signature& signature = (*signatures)[key];
    signature.method_name = def.method_name();
    RETURN_IF_ERROR(ReadTensors(scope, def.inputs(), &signature.inputs));
    RETURN_IF_ERROR(ReadTensors(scope, def.outputs(), &signature.outputs));
  }
  return OkStatus();
}

Status RunInitOp(const proto::MetaGraphDef& graph, const std::string& export_dir, Session& session) {
  for (const char* key : {kMainOpKey, kLegacyInitOpKey}) {
    const auto ops = graph.collection_def().find(key);
    if (ops == graph.collection_def().end()) continue;
    Session::Feeds feeds;
    for (const proto::AssetFileDef& asset : graph.asset_file_def()) {
      const std::string path = Within(Within(export_dir, kAssetsFolder), asset.filename());
      feeds.emplace_back(asset.tensor_info().name(), Tensor::Scalar(path));
    }
    const auto& names = ops->second.node_list().value();
    std::vector<Tensor> none;
    return session.Run(feeds, {}, {names.begin(), names.end()}, &none);
  }
  return OkStatus();
}

}  // namespace

bool MaybeSavedModelDirectory(const std::string& export_dir) {
  return FileExists(Within(export_dir, kBinaryFile)) || FileExists(Within(export_dir, kTextFile));
}

StatusOr<LoadedModel> LoadSavedModel(const std::string& export_dir, const std::set<std::string>& tags,
                                     const SessionOptions& options) {
  proto::SavedModel model;
  RETURN_IF_ERROR(ReadModel(export_dir, &model));
  ASSIGN_OR_RETURN(const proto::MetaGraphDef* graph, FindTags(model, tags));
  LoadedModel loaded;
  ASSIGN_OR_RETURN(loaded.saver, ImportMetaGraph(loaded.scope, *graph));
  RETURN_IF_ERROR(ReadSignatures(loaded.scope, *graph, &loaded.signatures));
  ASSIGN_OR_RETURN(loaded.session, NewSession(options));
  RETURN_IF_ERROR(loaded.session->Extend(*loaded.scope.graph()));
  if (loaded.saver != nullptr) {
    const std::string variables = Within(Within(export_dir, kVariablesFolder), kVariablesFile);
    RETURN_IF_ERROR(loaded.saver->Restore(*loaded.session, variables));
  }
  RETURN_IF_ERROR(RunInitOp(*graph, export_dir, *loaded.session));
  return loaded;
}

}  // namespace millstream
