// SPDX-License-Identifier: Apache-2.0
#include "millstream/graph/fusion/fused_body.h"

#include "absl/strings/strip.h"
#include "millstream/framework/element_ops.h"
#include "millstream/graph/import/export.h"
#include "millstream/graph/import/import.h"
#include "millstream/graph/node_kind.h"
#include "millstream/proto/graph.pb.h"

namespace millstream {
namespace {

constexpr char kMemberPrefix[] = "m/";

Status FindArgs(const AttrValue::DTypes& types, FusedBody* body) {
  for (size_t i = 0; i < types.size(); ++i) {
    Node* const arg = body->graph->Find(absl::StrCat("a", i));
    if (arg == nullptr || !IsA(*arg, OpKind::kPlaceholder) || arg->num_outputs() != 1 ||
        arg->output_type(0) != types[i]) {
      return errors::InvalidArgument("the body of a fused node has no argument a", i, " of type ", DTypeName(types[i]));
    }
    body->args.push_back(arg);
  }
  return OkStatus();
}

Status CheckMember(const Node& node) {
  const bool known = FindElementOp(node.type()) != nullptr || IsA(node, OpKind::kConst);
  if (known && node.control_inputs().empty()) return OkStatus();
  return errors::InvalidArgument("the body of a fused node cannot hold the op ", node.type());
}

Status FindMembers(FusedBody* body) {
  ASSIGN_OR_RETURN(const std::vector<Node*> order, body->graph->TopologicalOrder());
  size_t placeholders = 0;
  for (Node* node : order) {
    if (IsA(*node, OpKind::kPlaceholder)) {
      ++placeholders;
      continue;
    }
    RETURN_IF_ERROR(CheckMember(*node));
    body->members.push_back(node);
  }
  if (placeholders != body->args.size())
    return errors::InvalidArgument("a fused node has other arguments than its body");
  return OkStatus();
}

}  // namespace

std::string MemberName(const Node& node) { return absl::StrCat(kMemberPrefix, node.name()); }

absl::string_view NameOfMember(const Node& member) {
  absl::string_view name = member.name();
  return absl::ConsumePrefix(&name, kMemberPrefix) ? name : "";
}

Status WriteFusedBody(const FusedBody& body, AttrMap* attrs) {
  AttrValue::DTypes args, results;
  AttrValue::Strings names;
  for (const Node* arg : body.args) args.push_back(arg->output_type(0));
  for (const Output& result : body.results) {
    results.push_back(result.dtype());
    names.push_back(absl::StrCat(result.node->name(), ":", result.index));
  }
  proto::GraphDef def;
  RETURN_IF_ERROR(ExportGraph(*body.graph, &def, {.strip_default_attrs = true}));
  attrs->Set("body", def.SerializeAsString());
  attrs->Set("results_of", std::move(names));
  attrs->Set("TArgs", std::move(args));
  attrs->Set("TResults", std::move(results));
  return OkStatus();
}

StatusOr<FusedBody> ReadFusedBody(const AttrMap& attrs) {
  std::string text;
  AttrValue::DTypes arg_types, result_types;
  AttrValue::Strings results;
  RETURN_IF_ERROR(attrs.Get("body", &text));
  RETURN_IF_ERROR(attrs.Get("TArgs", &arg_types));
  RETURN_IF_ERROR(attrs.Get("TResults", &result_types));
  RETURN_IF_ERROR(attrs.Get("results_of", &results));
  proto::GraphDef def;
  if (!def.ParseFromString(text)) return errors::InvalidArgument("the body of a fused node is not a GraphDef");
  FusedBody body;
  body.graph = std::make_unique<Graph>();
  RETURN_IF_ERROR(ImportGraph(def, {}, body.graph.get()));
  RETURN_IF_ERROR(FindArgs(arg_types, &body));
  RETURN_IF_ERROR(FindMembers(&body));
  if (results.size() != result_types.size())
    return errors::InvalidArgument("a fused node has other results than its body");
  for (size_t i = 0; i < results.size(); ++i) {
    ASSIGN_OR_RETURN(const Output result, body.graph->FindOutput(results[i]));
    if (result.dtype() != result_types[i] || IsA(*result.node, OpKind::kPlaceholder)) {
      return errors::InvalidArgument("a fused node cannot have the result ", results[i]);
    }
    body.results.push_back(result);
  }
  return body;
}

}  // namespace millstream
