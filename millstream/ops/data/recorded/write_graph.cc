// SPDX-License-Identifier: Apache-2.0
#include "millstream/ops/data/recorded/write_graph.h"

#include <set>
#include <unordered_map>

#include "absl/strings/match.h"
#include "millstream/base/stack_guard.h"
#include "millstream/framework/op.h"
#include "millstream/graph/attr_proto.h"
#include "millstream/graph/functions/import_options.h"
#include "millstream/graph/functions/library_source.h"
#include "millstream/ops/data/dataset_record.h"
#include "millstream/proto/graph.pb.h"

namespace millstream {
namespace {

class GraphWriter {
 public:
  GraphWriter(const FunctionLibrary* library, proto::GraphDef* def) : library_(library), def_(def) {}

  Status Write(const Dataset& dataset) {
    std::string name;
    RETURN_IF_ERROR(AddDataset(dataset, &name));
    proto::NodeDef* ret = def_->add_node();
    ret->set_name("dataset");
    ret->set_op("_Retval");
    ret->add_input(name);
    (*ret->mutable_attr())["T"].set_type(proto::DT_VARIANT);
    (*ret->mutable_attr())["index"].set_i(0);
    def_->mutable_versions()->set_producer(kGraphDefVersion);
    return OkStatus();
  }

 private:
  proto::NodeDef* AddNode(absl::string_view op, std::string* name) {
    *name = absl::StrCat(op, "/_", def_->node_size());
    proto::NodeDef* node = def_->add_node();
    node->set_name(*name);
    node->set_op(std::string(op));
    return node;
  }

  Status AddDataset(const Dataset& dataset, std::string* name) {
    if (StackIsLow()) return NestedTooDeeply("datasets");
    if (const auto known = names_.find(&dataset); known != names_.end()) {
      *name = known->second;
      return OkStatus();
    }
    const NodeRecord* record = dataset.record().get();
    if (record == nullptr) return errors::FailedPrecondition("A dataset that was not made by an op has no graph.");
    std::vector<std::string> inputs(record->inputs.size());
    for (size_t i = 0; i < inputs.size(); ++i) RETURN_IF_ERROR(AddInput(*record, record->inputs[i], &inputs[i]));
    proto::NodeDef* node = AddNode(record->op->name, name);
    for (const std::string& input : inputs) node->add_input(input);
    for (const auto& [key, value] : *record->attrs) {
      if (absl::StartsWith(key, "_")) continue;
      proto::AttrValue& attr = (*node->mutable_attr())[std::string(key)];
      RETURN_IF_ERROR(AttrToProto(value, &attr));
      RETURN_IF_ERROR(AddFunctionsOf(attr));
    }
    names_.emplace(&dataset, *name);
    return OkStatus();
  }

  Status AddInput(const NodeRecord& record, const Tensor& tensor, std::string* name) {
    if (tensor.dtype() == DType::kResource) return AddResource(record, tensor, name);
    if (tensor.dtype() == DType::kVariant) return AddDatasets(record, tensor, name);
    proto::NodeDef* node = AddNode("Const", name);
    (*node->mutable_attr())["dtype"].set_type(static_cast<proto::DataType>(tensor.dtype()));
    return TensorToProto(tensor, (*node->mutable_attr())["value"].mutable_tensor());
  }

  // A dataset, or a vector of them.
  Status AddDatasets(const NodeRecord& record, const Tensor& tensor, std::string* name) {
    const std::vector<const Dataset*> datasets = DatasetsOf(tensor);
    if (tensor.rank() > 1 || static_cast<int64_t>(datasets.size()) != tensor.num_elements()) {
      return errors::FailedPrecondition(record.op->name, " was made from a variant that no graph can hold.");
    }
    std::vector<std::string> inputs(datasets.size());
    for (size_t i = 0; i < inputs.size(); ++i) RETURN_IF_ERROR(AddDataset(*datasets[i], &inputs[i]));
    if (tensor.rank() == 0) {
      *name = inputs[0];
      return OkStatus();
    }
    proto::NodeDef* node = AddNode("Pack", name);
    for (const std::string& input : inputs) node->add_input(input);
    (*node->mutable_attr())["T"].set_type(proto::DT_VARIANT);
    (*node->mutable_attr())["N"].set_i(static_cast<int64_t>(inputs.size()));
    (*node->mutable_attr())["axis"].set_i(0);
    return OkStatus();
  }

  Status AddResource(const NodeRecord& record, const Tensor& tensor, std::string* name) {
    const ResourceHandle* handle = tensor.num_elements() == 1 ? tensor.data<ResourceHandle>() : nullptr;
    const bool cache = handle != nullptr && absl::StrContains(handle->type_name, "MemoryCache");
    if (cache || (handle != nullptr && absl::StrContains(handle->type_name, "SeedGenerator"))) {
      AddNode(cache ? "DummyMemoryCache" : "DummySeedGenerator", name);
      return OkStatus();
    }
    return errors::FailedPrecondition(record.op->name, " depends on a resource, which no graph can hold",
                                      handle == nullptr ? "" : absl::StrCat(": ", handle->name));
  }

  Status AddFunctionsOf(const proto::AttrValue& attr) {
    if (attr.has_func()) RETURN_IF_ERROR(AddFunction(attr.func()));
    for (const proto::NameAttrList& function : attr.list().func()) RETURN_IF_ERROR(AddFunction(function));
    return OkStatus();
  }

  Status AddFunction(const proto::NameAttrList& function) {
    for (const auto& [name, attr] : function.attr()) RETURN_IF_ERROR(AddFunctionsOf(attr));
    return AddFunction(function.name());
  }

  Status AddFunction(const std::string& name) {
    if (StackIsLow()) return NestedTooDeeply("functions");
    if (!functions_.insert(name).second) return OkStatus();
    const std::shared_ptr<const Function> function = library_ == nullptr ? nullptr : library_->Find(name);
    if (function == nullptr) return errors::NotFound("Function ", name, " is not in the library.");
    for (const proto::NodeDef& node : function->def->node_def()) {
      if (library_->Find(node.op()) != nullptr) RETURN_IF_ERROR(AddFunction(node.op()));
      for (const auto& [key, attr] : node.attr()) RETURN_IF_ERROR(AddFunctionsOf(attr));
    }
    *def_->mutable_library()->add_function() = *function->def;
    return OkStatus();
  }

  const FunctionLibrary* const library_;
  proto::GraphDef* const def_;
  std::unordered_map<const Dataset*, std::string> names_;
  std::set<std::string> functions_;
};

// Stateful so that nobody makes them once for all; they depend on nothing but their inputs.
bool IsSerializable(absl::string_view op) {
  const absl::string_view base = BaseName(op);
  return absl::EndsWith(base, "Dataset") || base == "Assert" || base == "PartitionedCall" ||
         base == "StatefulPartitionedCall" || base == "If" || base == "While" || base == "Case";
}

}  // namespace

Status WriteDatasetGraph(const Dataset& dataset, const FunctionLibrary* library, proto::GraphDef* def) {
  return GraphWriter(library, def).Write(dataset);
}

Status CheckNoExternalState(const proto::GraphDef& def) {
  for (const proto::FunctionDef& function : def.library().function()) {
    for (const proto::NodeDef& node : function.node_def()) {
      const OpEntry* op = OpRegistry::Global().Find(node.op());
      if (op == nullptr || !op->def.stateful || IsSerializable(node.op())) continue;
      return errors::FailedPrecondition("Serialization of a dataset depends on external state: op ", node.op(),
                                        " of function ", function.signature().name(), " is stateful.");
    }
  }
  return OkStatus();
}

const FunctionLibrary* LibraryOf(const StepContext& step) {
  const auto* source = dynamic_cast<const LibrarySource*>(step.functions);
  return source == nullptr ? nullptr : source->library().get();
}

}  // namespace millstream
