// SPDX-License-Identifier: Apache-2.0
#include <optional>
#include <unordered_map>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "millstream/framework/intern.h"
#include "millstream/graph/attr_proto.h"
#include "millstream/graph/functions/function_library.h"
#include "millstream/graph/functions/node_import.h"
#include "millstream/graph/node_kind.h"
#include "millstream/proto/function.pb.h"

namespace millstream {
namespace {

// An attribute can ask for any number of arguments.
constexpr size_t kMaxArgs = 1 << 16;

// Makes one body. Inputs of its nodes are written "arg", "arg:1" (element of a list), "node:output", "node:output:1",
// "^node".
class Instantiator {
 public:
  Instantiator(const Function& function, const ImportOptions& options, std::shared_ptr<FunctionLibrary> library)
      : function_(function), options_(options) {
    body_.graph = std::make_unique<Graph>(library);
    importer_.emplace(options_, body_.graph.get(), library.get());
  }

  StatusOr<FunctionBody> Make(const NameAttrList& call) {
    RETURN_IF_ERROR(Bind(call));
    RETURN_IF_ERROR(AddArgs());
    RETURN_IF_ERROR(AddNodes());
    RETURN_IF_ERROR(AddRets());
    RETURN_IF_ERROR(AddControlRets());
    RETURN_IF_ERROR(importer_->CheckAcyclic());
    return std::move(body_);
  }

 private:
  const proto::FunctionDef& def() const { return *function_.def; }

  Status Bind(const NameAttrList& call) {
    for (const auto& [name, value] : call.attrs) {
      if (value.IsPlaceholder()) return errors::InvalidArgument("attr '", name, "' is not bound");
      RETURN_IF_ERROR(CheckMayIntern(name));
      bindings_.Set(name, value);
    }
    return CompleteAttrs(function_.signature, &bindings_, /*keep_unknown=*/true);
  }

  // Marks of the caller on an argument ("_output_shapes", "_handle_dtypes", ...).
  Status AddArgAttrs(uint32_t index, AttrMap* attrs) {
    const auto it = def().arg_attr().find(index);
    if (it == def().arg_attr().end()) return OkStatus();
    for (const auto& [name, value] : it->second.attr()) {
      if (name.empty() || name[0] != '_') continue;
      RETURN_IF_ERROR(CheckMayIntern(name));
      ASSIGN_OR_RETURN(AttrValue decoded, AttrFromProto(value));
      attrs->Set(name, std::move(decoded));
    }
    return OkStatus();
  }

  Status AddArgs() {
    ASSIGN_OR_RETURN(const OpEntry* op, OpRegistry::Global().Lookup("_Arg"));
    for (size_t i = 0; i < function_.signature.inputs.size(); ++i) {
      const ArgDef& arg = function_.signature.inputs[i];
      std::vector<DType> types;
      RETURN_IF_ERROR(ArgTypes({arg}, bindings_, &types));
      if (body_.args.size() + types.size() > kMaxArgs)
        return errors::ResourceExhausted("more than ", kMaxArgs, " arguments");
      if (!arg_ranges_.emplace(arg.name, std::pair(body_.args.size(), types.size())).second) {
        return errors::InvalidArgument("argument '", arg.name, "' is not unique");
      }
      const bool list = !arg.number_attr.empty() || !arg.type_list_attr.empty();
      for (size_t k = 0; k < types.size(); ++k) {
        Graph::NodeSpec spec;
        spec.name = list ? absl::StrCat(arg.name, "_", k) : arg.name;
        spec.op = op;
        spec.attrs.Set("T", RemoveRef(types[k]));
        spec.attrs.Set("index", static_cast<int64_t>(body_.args.size()));
        RETURN_IF_ERROR(AddArgAttrs(static_cast<uint32_t>(i), &spec.attrs));
        ASSIGN_OR_RETURN(Node * node, body_.graph->AddNode(std::move(spec)));
        body_.args.push_back(node);
        body_.arg_types.push_back(RemoveRef(types[k]));
      }
    }
    return OkStatus();
  }

  Status AddNodes() {
    std::vector<Node*> nodes;
    for (const auto& node_def : def().node_def()) {
      ASSIGN_OR_RETURN(Node * node, importer_->Add(node_def, &bindings_));
      nodes.push_back(node);
    }
    for (int i = 0; i < def().node_def_size(); ++i) {
      RETURN_IF_ERROR(importer_->Connect(
          nodes[i], def().node_def(i),
          [this](absl::string_view input, std::vector<Output>* out) { return Resolve(input, out); }));
    }
    return OkStatus();
  }

  bool ResolveArg(size_t first, size_t count, absl::string_view index, std::vector<Output>* out) const {
    if (index.empty()) {
      for (size_t i = 0; i < count; ++i) out->push_back(body_.args[first + i]);
      return true;
    }
    uint32_t i = 0;
    if (!absl::SimpleAtoi(index, &i) || i >= count) return false;
    out->push_back(body_.args[first + i]);
    return true;
  }

  bool Resolve(absl::string_view input, std::vector<Output>* out) const {
    const std::vector<absl::string_view> parts = absl::StrSplit(input, ':');
    if (parts.size() > 3 || (parts.size() > 1 && parts.back().empty())) return false;
    const auto arg = arg_ranges_.find(std::string(parts[0]));
    if (arg != arg_ranges_.end()) {
      if (parts.size() == 3) return false;
      return ResolveArg(arg->second.first, arg->second.second, parts.size() == 2 ? parts[1] : "", out);
    }
    Node* node = body_.graph->Find(parts[0]);
    int begin = 0, end = 0;
    if (node == nullptr || parts.size() < 2 || !importer_->OutputRange(*node, parts[1], &begin, &end).ok())
      return false;
    if (parts.size() == 3) {
      uint32_t i = 0;
      if (!absl::SimpleAtoi(parts[2], &i) || i >= static_cast<uint32_t>(end - begin)) return false;
      begin += static_cast<int>(i);
      end = begin + 1;
    }
    for (int i = begin; i < end; ++i) out->push_back(Output(node, i));
    return true;
  }

  Status AddRets() {
    ASSIGN_OR_RETURN(const OpEntry* op, OpRegistry::Global().Lookup("_Retval"));
    for (const ArgDef& ret : function_.signature.outputs) {
      std::vector<DType> types;
      RETURN_IF_ERROR(ArgTypes({ret}, bindings_, &types));
      const auto from = def().ret().find(ret.name);
      if (from == def().ret().end()) return errors::InvalidArgument("Return ", ret.name, " missing.");
      std::vector<Output> values;
      if (!Resolve(from->second, &values)) {
        return errors::InvalidArgument("Return ", ret.name, " -> ", from->second, " is not found.");
      }
      if (values.size() != types.size()) {
        return errors::InvalidArgument("Return ", ret.name, " has ", values.size(), " values, ", types.size(),
                                       " were expected");
      }
      for (size_t k = 0; k < types.size(); ++k) {
        Graph::NodeSpec spec;
        spec.name = body_.graph->UniqueName(absl::StrCat(ret.name, "_RetVal"));
        spec.op = op;
        spec.attrs.Set("T", RemoveRef(types[k]));
        spec.attrs.Set("index", static_cast<int64_t>(body_.rets.size()));
        spec.inputs = {values[k]};
        ASSIGN_OR_RETURN(Node * node, body_.graph->AddNode(std::move(spec)));
        body_.rets.push_back(node);
        body_.ret_types.push_back(RemoveRef(types[k]));
      }
    }
    return OkStatus();
  }

  Status AddControlRets() {
    for (const std::string& name : def().signature().control_output()) {
      const auto it = def().control_ret().find(name);
      Node* node = it == def().control_ret().end() ? nullptr : body_.graph->Find(it->second);
      if (node == nullptr || IsA(*node, OpKind::kRetval)) {
        return errors::InvalidArgument("Control output '", name, "' is not found.");
      }
      if (!IsA(*node, OpKind::kArg)) body_.control_rets.push_back(node);  // an argument is there before the body runs
    }
    return OkStatus();
  }

  const Function& function_;
  const ImportOptions& options_;
  FunctionBody body_;
  std::optional<NodeImporter> importer_;
  AttrMap bindings_;
  std::unordered_map<std::string, std::pair<size_t, size_t>> arg_ranges_;  // name -> first arg, how many
};

}  // namespace

StatusOr<FunctionBody> FunctionLibrary::Instantiate(const NameAttrList& function, const ImportOptions& options) const {
  const std::shared_ptr<const Function> found = Find(function.name);
  if (found == nullptr) return errors::NotFound("Function ", function.name, " is not defined.");
  auto self = std::const_pointer_cast<FunctionLibrary>(shared_from_this());
  StatusOr<FunctionBody> body = Instantiator(*found, options, std::move(self)).Make(function);
  if (!body.ok()) return WithContext(body.status(), absl::StrCat("Function '", function.name, "'"));
  return body;
}

}  // namespace millstream
