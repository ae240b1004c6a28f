// SPDX-License-Identifier: Apache-2.0
#include "millstream/train/saving/saved_model.h"

#include <google/protobuf/text_format.h>

#include <filesystem>

#include "millstream/base/file.h"
#include "millstream/base/local_path.h"
#include "millstream/proto/meta_graph.pb.h"
#include "millstream/proto/saved_model.pb.h"
#include "millstream/train/saving/meta_graph.h"
#include "millstream/train/saving/saved_model_files.h"

namespace millstream {
namespace {

Status FillTensorInfo(const Scope& scope, const std::string& signature, const std::string& name, Output tensor,
                      proto::TensorInfo* info) {
  if (!tensor || tensor.node->num_outputs() == 0) {
    return errors::InvalidArgument("The tensor ", name, " of the signature ", signature, " is missing");
  }
  info->set_name(tensor.name());
  info->set_dtype(static_cast<proto::DataType>(tensor.dtype()));
  const PartialShape shape = scope.ShapeOf(tensor);
  proto::TensorShapeProto& to = *info->mutable_tensor_shape();
  to.set_unknown_rank(!shape.rank_known());
  for (const int64_t size : shape.dims()) to.add_dim()->set_size(size);
  return OkStatus();
}

Status FillSignatures(const Scope& scope, const Signatures& signatures, proto::MetaGraphDef* def) {
  for (const auto& [key, signature] : signatures) {
    proto::SignatureDef& to = (*def->mutable_signature_def())[key];
    to.set_method_name(signature.method_name);
    for (const auto& [name, tensor] : signature.inputs) {
      RETURN_IF_ERROR(FillTensorInfo(scope, key, name, tensor, &(*to.mutable_inputs())[name]));
    }
    for (const auto& [name, tensor] : signature.outputs) {
      RETURN_IF_ERROR(FillTensorInfo(scope, key, name, tensor, &(*to.mutable_outputs())[name]));
    }
  }
  return OkStatus();
}

// Copies the files; the model says which tensor gets which when it is loaded.
Status SaveAssets(const Scope& scope, const std::vector<Output>& assets, const std::string& folder,
                  proto::MetaGraphDef* def) {
  if (!assets.empty()) RETURN_IF_ERROR(MakeFolders(folder));
  for (const Output& asset : assets) {
    Tensor value;
    if (!asset || asset.dtype() != DType::kString || !scope.ConstantValue(asset, &value) ||
        value.shape().num_elements() != 1) {
      return errors::InvalidArgument("An asset of a SavedModel is a string that is known: ",
                                     asset ? asset.name() : "an empty one is not");
    }
    const std::string& path = value.flat<std::string>()[0];
    ASSIGN_OR_RETURN(const std::string bytes, ReadFile(path));
    const std::string name = path.substr(path.rfind('/') + 1);
    RETURN_IF_ERROR(WriteFileAtomically(absl::StrCat(folder, "/", name), bytes));
    proto::AssetFileDef& entry = *def->add_asset_file_def();
    entry.set_filename(name);
    entry.mutable_tensor_info()->set_name(asset.name());
  }
  return OkStatus();
}

StatusOr<std::shared_ptr<Saver>> SaverFor(const Scope& scope, const SavedGraphOptions& options) {
  if (options.saver != nullptr) return options.saver;
  SaverOptions own;
  own.sharded = true;
  own.allow_empty = true;
  return Saver::Make(scope, std::move(own));
}

}  // namespace

SavedModelBuilder::SavedModelBuilder(std::string export_dir)
    : export_dir_(std::move(export_dir)), model_(std::make_unique<proto::SavedModel>()) {
  model_->set_saved_model_schema_version(1);
}
SavedModelBuilder::~SavedModelBuilder() = default;

StatusOr<std::unique_ptr<SavedModelBuilder>> SavedModelBuilder::Make(const std::string& export_dir) {
  ASSIGN_OR_RETURN(const std::string local, LocalPath(export_dir));
  std::error_code error;
  if (std::filesystem::exists(local, error) && !std::filesystem::is_empty(local, error)) {
    return errors::AlreadyExists("Export directory ", export_dir,
                                 " already exists, and isn't empty. Please choose a different export directory, or "
                                 "delete all the contents of the specified directory.");
  }
  RETURN_IF_ERROR(MakeFolders(export_dir));
  return std::unique_ptr<SavedModelBuilder>(new SavedModelBuilder(export_dir));
}

Status SavedModelBuilder::Add(const Scope& scope, const std::vector<std::string>& tags,
                              const SavedGraphOptions& options, const Saver* saver) {
  proto::MetaGraphDef def;
  ExportMetaGraphOptions how;
  how.tags = tags;
  how.clear_devices = options.clear_devices;
  how.strip_default_attrs = options.strip_default_attrs;
  RETURN_IF_ERROR(ExportMetaGraph(scope, saver, how, &def));
  if (options.main_op != nullptr) {
    (*def.mutable_collection_def())[kMainOpKey].mutable_node_list()->add_value(options.main_op->name());
  }
  RETURN_IF_ERROR(FillSignatures(scope, options.signatures, &def));
  RETURN_IF_ERROR(SaveAssets(scope, options.assets, absl::StrCat(export_dir_, "/", kAssetsFolder), &def));
  model_->add_meta_graphs()->Swap(&def);
  return OkStatus();
}

Status SavedModelBuilder::AddMetaGraphAndVariables(Session& session, const Scope& scope,
                                                   const std::vector<std::string>& tags,
                                                   const SavedGraphOptions& options) {
  if (has_variables_) {
    return errors::FailedPrecondition(
        "Graph state including variables and assets has already been saved. Please invoke AddMetaGraph() instead.");
  }
  ASSIGN_OR_RETURN(const std::shared_ptr<Saver> saver, SaverFor(scope, options));
  RETURN_IF_ERROR(session.Extend(*scope.graph()));
  const std::string folder = absl::StrCat(export_dir_, "/", kVariablesFolder);
  RETURN_IF_ERROR(MakeFolders(folder));
  SaveOptions how;
  how.write_meta_graph = false;
  how.write_state = false;
  RETURN_IF_ERROR(saver->Save(session, absl::StrCat(folder, "/", kVariablesFile), how).status());
  RETURN_IF_ERROR(Add(scope, tags, options, saver.get()));
  has_variables_ = true;
  return OkStatus();
}

Status SavedModelBuilder::AddMetaGraph(const Scope& scope, const std::vector<std::string>& tags,
                                       const SavedGraphOptions& options) {
  if (!has_variables_) {
    return errors::FailedPrecondition(
        "Graph state including variables and assets has not been saved yet. Please invoke AddMetaGraphAndVariables() "
        "first.");
  }
  ASSIGN_OR_RETURN(const std::shared_ptr<Saver> saver, SaverFor(scope, options));
  return Add(scope, tags, options, saver.get());
}

StatusOr<std::string> SavedModelBuilder::Save(bool as_text) {
  const std::string path = absl::StrCat(export_dir_, "/", as_text ? kTextFile : kBinaryFile);
  std::string bytes;
  const bool written =
      as_text ? google::protobuf::TextFormat::PrintToString(*model_, &bytes) : model_->SerializeToString(&bytes);
  if (!written) return errors::InvalidArgument("The model is larger than a protocol buffer message may be");
  RETURN_IF_ERROR(WriteFileAtomically(path, bytes));
  return path;
}

Status SimpleSave(Session& session, const Scope& scope, const std::string& export_dir,
                  const std::map<std::string, Output>& inputs, const std::map<std::string, Output>& outputs) {
  ASSIGN_OR_RETURN(const std::unique_ptr<SavedModelBuilder> builder, SavedModelBuilder::Make(export_dir));
  SavedGraphOptions options;
  options.clear_devices = true;
  options.signatures[saved_model::kDefaultServingSignature] = {inputs, outputs, saved_model::kPredictMethod};
  RETURN_IF_ERROR(builder->AddMetaGraphAndVariables(session, scope, {saved_model::kServing}, options));
  return builder->Save().status();
}

}  // namespace millstream
