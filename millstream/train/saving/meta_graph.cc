// SPDX-License-Identifier: Apache-2.0
#include "millstream/train/saving/meta_graph.h"

#include <algorithm>
#include <map>

#include "millstream/base/file.h"
#include "millstream/graph/import/export.h"
#include "millstream/graph/variables/save_slice.h"
#include "millstream/proto/meta_graph.pb.h"
#include "millstream/proto/queue_runner.pb.h"
#include "millstream/proto/variable.pb.h"
#include "millstream/train/input/queue_runner.h"
#include "millstream/train/saving/meta_graph_collections.h"
#include "millstream/train/variables/variables.h"

namespace millstream {
namespace {

// Adds no nodes, as FindVariable() might: a session may be running the graph.
std::string VariableMessage(const Scope& scope, const Output& handle, bool trainable) {
  const bool resource = handle.dtype() == DType::kResource;
  const Graph& graph = *scope.graph();
  const std::string& name = handle.node->name();
  const Node* read = graph.Find(name + (resource ? "/Read/ReadVariableOp" : "/read"));
  const Node* initializer = graph.Find(name + "/Assign");
  proto::VariableDef def;
  def.set_variable_name(handle.name());
  def.set_snapshot_name(read != nullptr ? read->name() + ":0" : handle.name());
  if (initializer != nullptr && initializer->num_inputs() == 2) {
    def.set_initializer_name(initializer->name());
    def.set_initial_value_name(initializer->input(1).name());
  }
  if (const std::optional<SaveSlice> slice = SaveSliceOf(*handle.node)) {
    proto::SaveSliceInfoDef& info = *def.mutable_save_slice_info_def();
    info.set_full_name(slice->full_name);
    info.mutable_full_shape()->Assign(slice->full_shape.begin(), slice->full_shape.end());
    info.mutable_var_offset()->Assign(slice->offset.begin(), slice->offset.end());
    info.mutable_var_shape()->Assign(slice->shape.begin(), slice->shape.end());
  }
  def.set_is_resource(resource);
  def.set_trainable(trainable);
  return def.SerializeAsString();
}

std::string RunnerMessage(const QueueRunner& runner) {
  const QueueRunner::Ops& ops = runner.ops();
  proto::QueueRunnerDef def;
  def.set_queue_name(ops.queue);
  for (const std::string& op : ops.enqueue_ops) def.add_enqueue_op_name(op);
  def.set_close_op_name(ops.close_op);
  def.set_cancel_op_name(ops.cancel_op);
  def.add_queue_closed_exception_types(proto::error::OUT_OF_RANGE);
  return def.SerializeAsString();
}

std::map<std::string, CollectionValues> CollectionsOf(const Scope& scope, const std::vector<std::string>& more) {
  const std::vector<Output>& trainable = scope.Collection(graph_keys::kTrainableVariables);
  std::map<std::string, CollectionValues> collections;
  for (const char* key : kVariableCollections) {
    for (const Output& handle : scope.Collection(key)) {
      const bool trains = std::find(trainable.begin(), trainable.end(), handle) != trainable.end();
      collections[key].bytes.push_back(VariableMessage(scope, handle, trains));
    }
  }
  std::vector<std::string> plain(std::begin(kTensorCollections), std::end(kTensorCollections));
  plain.insert(plain.end(), more.begin(), more.end());
  for (const std::string& key : plain) {
    if (collections.contains(key)) continue;
    for (const Output& value : scope.Collection(key)) {
      collections[key].names.push_back(value.node->num_outputs() == 0 ? value.node->name() : value.name());
    }
  }
  for (const QueueRunner& runner : QueueRunnersOf(scope)) {
    collections[kQueueRunners].bytes.push_back(RunnerMessage(runner));
  }
  return collections;
}

}  // namespace

Status ExportMetaGraph(const Scope& scope, const Saver* saver, const ExportMetaGraphOptions& options,
                       proto::MetaGraphDef* def) {
  ExportOptions how;
  how.strip_default_attrs = options.strip_default_attrs;
  RETURN_IF_ERROR(ExportMetaGraph(*scope.graph(), CollectionsOf(scope, options.collections), options.tags, def, how));
  if (options.clear_devices) {
    for (proto::NodeDef& node : *def->mutable_graph_def()->mutable_node()) node.clear_device();
  }
  if (saver != nullptr) saver->ToProto(def->mutable_saver_def());
  if (def->saver_def().save_tensor_name().empty()) def->clear_saver_def();
  return OkStatus();
}

Status WriteMetaGraph(const Scope& scope, const Saver* saver, const std::string& path,
                      const ExportMetaGraphOptions& options) {
  proto::MetaGraphDef def;
  RETURN_IF_ERROR(ExportMetaGraph(scope, saver, options, &def));
  std::string bytes;
  if (!def.SerializeToString(&bytes))
    return errors::InvalidArgument("The graph is larger than a protocol buffer message may be");
  return WriteFileAtomically(path, bytes);
}

}  // namespace millstream
