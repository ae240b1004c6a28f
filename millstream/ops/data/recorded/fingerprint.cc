// SPDX-License-Identifier: Apache-2.0
#include "millstream/ops/strings/fingerprint.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

#include <map>
#include <unordered_map>

#include "absl/strings/match.h"
#include "millstream/base/stack_guard.h"
#include "millstream/ops/data/recorded/write_graph.h"
#include "millstream/proto/graph.pb.h"

namespace millstream {
namespace {

// Hashes the graph that WriteDatasetGraph() makes from its result backwards, so that neither names of nodes and
// functions nor their order count.
class GraphHash {
 public:
  explicit GraphHash(const proto::GraphDef& def) {
    for (const proto::NodeDef& node : def.node()) nodes_[node.name()] = &node;
    for (const proto::FunctionDef& function : def.library().function()) {
      functions_[function.signature().name()] = &function;
    }
  }

  StatusOr<uint64_t> Node(const std::string& name) {
    if (StackIsLow()) return NestedTooDeeply("datasets");
    if (const auto known = node_hashes_.find(name); known != node_hashes_.end()) return known->second;
    const proto::NodeDef& node = *nodes_.at(name);
    uint64_t hash = Fingerprint64(node.op());
    for (const auto& [key, attr] : Sorted(node)) {
      if (key == "metadata") continue;  // what the user calls it
      hash = FingerprintCat64(hash, Attr(key, *attr));
    }
    for (const std::string& input : node.input()) {
      ASSIGN_OR_RETURN(const uint64_t from, Node(input));
      hash = FingerprintCat64(hash, from);
    }
    return node_hashes_[name] = hash;
  }

 private:
  using Attrs = std::map<std::string, const proto::AttrValue*>;
  static Attrs Sorted(const proto::NodeDef& node) {
    Attrs attrs;
    for (const auto& [key, attr] : node.attr()) {
      if (!absl::StartsWith(key, "_")) attrs[key] = &attr;
    }
    return attrs;
  }

  uint64_t Attr(const std::string& key, const proto::AttrValue& attr) {
    uint64_t hash = Fingerprint64(key);
    if (attr.has_func()) return FingerprintCat64(hash, Call(attr.func()));
    if (attr.list().func_size() > 0) {
      for (const auto& function : attr.list().func()) hash = FingerprintCat64(hash, Call(function));
      return hash;
    }
    return FingerprintCat64(hash, Bytes(attr));
  }

  static uint64_t Bytes(const proto::AttrValue& attr) {
    std::string bytes;
    google::protobuf::io::StringOutputStream stream(&bytes);
    google::protobuf::io::CodedOutputStream out(&stream);
    out.SetSerializationDeterministic(true);
    attr.SerializeToCodedStream(&out);
    out.Trim();
    return Fingerprint64(bytes);
  }

  uint64_t Call(const proto::NameAttrList& call) {
    uint64_t hash = Function(call.name());
    const std::map<std::string, proto::AttrValue> attrs(call.attr().begin(), call.attr().end());
    for (const auto& [key, attr] : attrs) hash = FingerprintCat64(hash, Attr(key, attr));
    return hash;
  }

  // One that calls itself counts as nothing within itself.
  uint64_t Function(const std::string& name) {
    if (const auto known = function_hashes_.find(name); known != function_hashes_.end()) return known->second;
    function_hashes_[name] = 0;
    const auto found = functions_.find(name);
    if (found == functions_.end() || StackIsLow()) return 0;
    uint64_t hash = 1;
    for (const auto& arg : found->second->signature().input_arg()) hash = FingerprintCat64(hash, arg.type());
    for (const proto::NodeDef& node : found->second->node_def()) {
      const bool is_call = functions_.count(node.op()) > 0;
      hash = FingerprintCat64(hash, is_call ? Function(node.op()) : Fingerprint64(node.op()));
      for (const std::string& input : node.input()) hash = FingerprintCat64(hash, Fingerprint64(input));
      for (const auto& [key, attr] : Sorted(node)) {
        if (key != "metadata") hash = FingerprintCat64(hash, Attr(key, *attr));
      }
    }
    const std::map<std::string, std::string> rets(found->second->ret().begin(), found->second->ret().end());
    for (const auto& arg : found->second->signature().output_arg()) {
      const auto ret = rets.find(arg.name());
      if (ret != rets.end()) hash = FingerprintCat64(hash, Fingerprint64(ret->second));
    }
    return function_hashes_[name] = hash;
  }

  std::unordered_map<std::string, const proto::NodeDef*> nodes_;
  std::unordered_map<std::string, const proto::FunctionDef*> functions_;
  std::unordered_map<std::string, uint64_t> node_hashes_;
  std::unordered_map<std::string, uint64_t> function_hashes_;
};

}  // namespace

StatusOr<uint64_t> FingerprintOf(const Dataset& dataset, const FunctionLibrary* library) {
  proto::GraphDef def;
  RETURN_IF_ERROR(WriteDatasetGraph(dataset, library, &def));
  return GraphHash(def).Node("dataset");
}

}  // namespace millstream
