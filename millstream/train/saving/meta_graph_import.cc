// SPDX-License-Identifier: Apache-2.0
#include <google/protobuf/io/tokenizer.h>
#include <google/protobuf/text_format.h>

#include <algorithm>
#include <set>

#include "absl/strings/match.h"
#include "absl/strings/strip.h"
#include "millstream/base/file.h"
#include "millstream/graph/import/import.h"
#include "millstream/graph/shape_refiner.h"
#include "millstream/graph/variables/save_slice.h"
#include "millstream/proto/meta_graph.pb.h"
#include "millstream/proto/queue_runner.pb.h"
#include "millstream/proto/variable.pb.h"
#include "millstream/train/input/queue_runner.h"
#include "millstream/train/saving/meta_graph.h"
#include "millstream/train/saving/meta_graph_collections.h"

namespace millstream {
namespace {

// "a:0" as "scope/a:0", "^a" as "^scope/a".
std::string Prefixed(const std::string& prefix, absl::string_view name) {
  if (prefix.empty()) return std::string(name);
  const bool control = absl::ConsumePrefix(&name, "^");
  return absl::StrCat(control ? "^" : "", prefix, "/", name);
}

void RenameNodes(const std::string& prefix, proto::GraphDef* graph) {
  constexpr absl::string_view kBeside = "loc:@";
  for (proto::NodeDef& node : *graph->mutable_node()) {
    node.set_name(Prefixed(prefix, node.name()));
    for (std::string& input : *node.mutable_input()) input = Prefixed(prefix, input);
    const auto beside = node.mutable_attr()->find("_class");
    if (beside == node.mutable_attr()->end()) continue;
    for (std::string& name : *beside->second.mutable_list()->mutable_s()) {
      absl::string_view of = name;
      if (absl::ConsumePrefix(&of, kBeside)) name = absl::StrCat(kBeside, Prefixed(prefix, of));
    }
  }
}

// Names of scopes count as used, so that new ops do not mix with those that came.
void MarkScopes(const Scope& scope, int first_id) {
  const Scope root = scope.NameScope("");
  std::set<std::string> seen;
  for (int id = first_id; id < scope.graph()->id_limit(); ++id) {
    const Node* node = scope.graph()->nodes()[id].get();
    if (node == nullptr) continue;
    const std::string& name = node->name();
    for (size_t slash = name.find('/'); slash != std::string::npos; slash = name.find('/', slash + 1)) {
      const std::string outer = name.substr(0, slash);
      if (seen.insert(outer).second) root.UniqueName(outer);
    }
  }
}

// Fills collections from those of a meta graph.
class Collections {
 public:
  Collections(const Scope& scope, const std::string& prefix) : scope_(scope), prefix_(prefix) {}

  Status Add(const std::string& key, const proto::CollectionDef& def) {
    if (std::find(std::begin(kVariableCollections), std::end(kVariableCollections), key) !=
        std::end(kVariableCollections)) {
      for (const std::string& bytes : def.bytes_list().value()) RETURN_IF_ERROR(AddVariable(key, bytes));
    }
    if (key == kQueueRunners) {
      for (const std::string& bytes : def.bytes_list().value()) RETURN_IF_ERROR(AddRunner(bytes));
    }
    for (const std::string& name : def.node_list().value()) {
      ASSIGN_OR_RETURN(const Output output, Find(name));
      scope_.AddToCollection(key, output);
    }
    return OkStatus();
  }

 private:
  // An op without outputs counts as its output 0.
  StatusOr<Output> Find(const std::string& name) const {
    const std::string full = Prefixed(prefix_, name);
    if (Node* node = scope_.graph()->Find(full); node != nullptr) return Output(node);
    return scope_.graph()->FindOutput(full);
  }

  Status AddVariable(const std::string& key, const std::string& bytes) {
    proto::VariableDef def;
    if (!def.ParseFromString(bytes)) {
      return errors::InvalidArgument("The collection ", key, " of the meta graph has a malformed variable");
    }
    ASSIGN_OR_RETURN(const Output handle, Find(def.variable_name()));
    if (def.has_save_slice_info_def()) {
      const proto::SaveSliceInfoDef& info = def.save_slice_info_def();
      const auto list = [](const auto& field) { return std::vector<int64_t>(field.begin(), field.end()); };
      SaveSlice slice{Prefixed(prefix_, info.full_name()), list(info.full_shape()), list(info.var_offset()),
                      list(info.var_shape())};
      if (slice.offset.size() != slice.full_shape.size() || slice.shape.size() != slice.full_shape.size()) {
        return errors::InvalidArgument("The variable ", def.variable_name(), " is a malformed slice");
      }
      SetSaveSlice(handle.node, slice);
    }
    scope_.AddToCollection(key, handle);
    return OkStatus();
  }

  Status AddRunner(const std::string& bytes) {
    proto::QueueRunnerDef def;
    if (!def.ParseFromString(bytes) || def.enqueue_op_name().empty()) {
      return errors::InvalidArgument("The meta graph has a malformed queue runner");
    }
    QueueRunner::Ops ops;
    ops.queue = Prefixed(prefix_, absl::StripSuffix(def.queue_name(), ":0"));
    for (const std::string& op : def.enqueue_op_name()) ops.enqueue_ops.push_back(Prefixed(prefix_, op));
    ops.close_op = Prefixed(prefix_, def.close_op_name());
    ops.cancel_op = Prefixed(prefix_, def.cancel_op_name());
    return AddQueueRunner(scope_, QueueRunner(std::move(ops)));
  }

  const Scope scope_;
  const std::string prefix_;
};

StatusOr<std::shared_ptr<Saver>> SaverOf(const Scope& scope, const proto::MetaGraphDef& def,
                                         const std::string& prefix) {
  if (!def.saver_def().save_tensor_name().empty()) {
    proto::SaverDef saver = def.saver_def();
    saver.set_filename_tensor_name(Prefixed(prefix, saver.filename_tensor_name()));
    saver.set_save_tensor_name(Prefixed(prefix, saver.save_tensor_name()));
    saver.set_restore_op_name(Prefixed(prefix, saver.restore_op_name()));
    return Saver::FromProto(scope, saver);
  }
  SaverOptions options;
  for (const Output& v : scope.Collection(graph_keys::kGlobalVariables)) {
    if (prefix.empty() || absl::StartsWith(v.node->name(), prefix + "/")) options.variables.push_back({"", v, ""});
  }
  if (options.variables.empty()) return std::shared_ptr<Saver>();
  return Saver::Make(scope, std::move(options));
}

}  // namespace

StatusOr<std::shared_ptr<Saver>> ImportMetaGraph(const Scope& scope, const proto::MetaGraphDef& def,
                                                 const ImportMetaGraphOptions& options) {
  RETURN_IF_ERROR(scope.status());
  const std::string prefix(absl::StripSuffix(options.import_scope, "/"));
  proto::GraphDef graph = def.graph_def();
  if (!prefix.empty()) RenameNodes(prefix, &graph);
  if (options.clear_devices) {
    for (proto::NodeDef& node : *graph.mutable_node()) node.clear_device();
  }
  const int first_id = scope.graph()->id_limit();
  RETURN_IF_ERROR(ImportGraph(graph, {}, scope.graph().get()));
  if (const Status shapes = scope.shapes().AddAll(); !shapes.ok()) {
    scope.graph()->RemoveNodesFrom(first_id);
    RETURN_IF_ERROR(scope.shapes().AddAll());
    return shapes;
  }
  MarkScopes(scope, first_id);
  Collections collections(scope, prefix);
  for (const auto& [key, values] : def.collection_def()) RETURN_IF_ERROR(collections.Add(key, values));
  return SaverOf(scope, def, prefix);
}

Status ReadMetaGraph(const std::string& path, proto::MetaGraphDef* def) {
  ASSIGN_OR_RETURN(const std::string bytes, ReadFile(path));
  if (def->ParseFromString(bytes)) return OkStatus();
  // Its own printer of errors writes to the standard error stream.
  class Silent final : public google::protobuf::io::ErrorCollector {
    void AddError(int, google::protobuf::io::ColumnNumber, const std::string&) override {}
  } silent;
  google::protobuf::TextFormat::Parser parser;
  parser.RecordErrorsTo(&silent);
  if (parser.ParseFromString(bytes, def)) return OkStatus();
  return errors::InvalidArgument(path, " holds no meta graph");
}

StatusOr<std::shared_ptr<Saver>> ImportMetaGraph(const Scope& scope, const std::string& path,
                                                 const ImportMetaGraphOptions& options) {
  proto::MetaGraphDef def;
  RETURN_IF_ERROR(ReadMetaGraph(path, &def));
  return ImportMetaGraph(scope, def, options);
}

}  // namespace millstream
