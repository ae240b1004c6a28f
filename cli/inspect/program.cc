// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdio>
#include <map>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "cli/inspect/inspect.h"
#include "google/protobuf/io/tokenizer.h"
#include "google/protobuf/text_format.h"
#include "google/protobuf/util/json_util.h"
#include "millstream/base/file.h"
#include "millstream/proto/graph.pb.h"
#include "millstream/proto/meta_graph.pb.h"
#include "millstream/proto/saved_model.pb.h"

namespace millstream::cli {
namespace {

// What is wrong with a text is told by the status, not on standard error.
class Quiet : public google::protobuf::io::ErrorCollector {
  void AddError(int, google::protobuf::io::ColumnNumber, const std::string&) override {}
};

bool Parse(const std::string& bytes, bool text, google::protobuf::Message* message) {
  if (!text) return message->ParseFromString(bytes);
  google::protobuf::TextFormat::Parser parser;
  Quiet quiet;
  parser.RecordErrorsTo(&quiet);
  return parser.ParseFromString(bytes, message);
}

struct Program {
  std::string kind;
  proto::SavedModel saved;
  proto::MetaGraphDef meta;
  proto::GraphDef graph;

  const google::protobuf::Message& message() const {
    if (kind == "SavedModel") return saved;
    if (kind == "MetaGraphDef") return meta;
    return graph;
  }
};

bool LooksLikeText(absl::string_view bytes) {
  return !bytes.empty() && absl::ascii_isalpha(bytes[0]) && absl::StrContains(bytes.substr(0, 200), '{');
}

// Any bytes that parse may be called a message: the one that explains them best is taken.
Status Load(const std::string& path, Program* program) {
  ASSIGN_OR_RETURN(const std::string bytes, ReadFile(path));
  const bool text = LooksLikeText(bytes);
  if (Parse(bytes, text, &program->saved) && program->saved.meta_graphs_size() > 0 &&
      program->saved.saved_model_schema_version() > 0) {
    program->kind = "SavedModel";
  } else if (Parse(bytes, text, &program->meta) && program->meta.graph_def().node_size() > 0) {
    program->kind = "MetaGraphDef";
  } else if (Parse(bytes, text, &program->graph) && program->graph.node_size() > 0) {
    program->kind = "GraphDef";
  } else {
    return errors::InvalidArgument(
        path, " is no GraphDef, MetaGraphDef or SavedModel (nor a checkpoint, event or TFRecord file)");
  }
  return OkStatus();
}

nlohmann::ordered_json Sorted(const std::map<std::string, int>& counts) {
  std::vector<std::pair<std::string, int>> rows(counts.begin(), counts.end());
  std::stable_sort(rows.begin(), rows.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
  nlohmann::ordered_json object = nlohmann::ordered_json::object();
  for (const auto& [name, count] : rows) object[name] = count;
  return object;
}

nlohmann::ordered_json DescribeGraph(const proto::GraphDef& graph) {
  std::map<std::string, int> ops, devices;
  nlohmann::ordered_json placeholders = nlohmann::ordered_json::array(), variables = nlohmann::ordered_json::array();
  for (const auto& node : graph.node()) {
    ++ops[node.op()];
    ++devices[node.device().empty() ? "(anywhere)" : node.device()];
    if (absl::StartsWith(node.op(), "Placeholder")) placeholders.push_back(node.name());
    if (node.op() == "VariableV2" || node.op() == "VarHandleOp" || node.op() == "Variable")
      variables.push_back(node.name());
  }
  return {{"nodes", graph.node_size()},
          {"functions", graph.library().function_size()},
          {"producer", graph.versions().producer()},
          {"placeholders", std::move(placeholders)},
          {"variables", std::move(variables)},
          {"devices", Sorted(devices)},
          {"ops", Sorted(ops)}};
}

nlohmann::ordered_json DescribeMeta(const proto::MetaGraphDef& meta) {
  nlohmann::ordered_json object = {{"tags", nlohmann::ordered_json::array()}};
  for (const auto& tag : meta.meta_info_def().tags()) object["tags"].push_back(tag);
  std::map<std::string, int> collections;
  for (const auto& [name, collection] : meta.collection_def()) {
    collections[name] = collection.bytes_list().value_size() + collection.node_list().value_size() +
                        collection.int64_list().value_size() + collection.float_list().value_size() +
                        collection.any_list().value_size();
  }
  object["collections"] = Sorted(collections);
  nlohmann::ordered_json signatures = nlohmann::ordered_json::object();
  for (const auto& [name, signature] : meta.signature_def()) {
    auto inputs = nlohmann::ordered_json::object();
    auto outputs = nlohmann::ordered_json::object();
    for (const auto& [key, info] : signature.inputs()) inputs[key] = info.name();
    for (const auto& [key, info] : signature.outputs()) outputs[key] = info.name();
    signatures[name] = {
        {"method", signature.method_name()}, {"inputs", std::move(inputs)}, {"outputs", std::move(outputs)}};
  }
  object["signatures"] = std::move(signatures);
  object["graph"] = DescribeGraph(meta.graph_def());
  return object;
}

nlohmann::ordered_json Describe(const Program& program) {
  if (program.kind == "GraphDef") return {{"graph", DescribeGraph(program.graph)}};
  if (program.kind == "MetaGraphDef") return DescribeMeta(program.meta);
  nlohmann::ordered_json graphs = nlohmann::ordered_json::array();
  for (const auto& meta : program.saved.meta_graphs()) graphs.push_back(DescribeMeta(meta));
  return {{"meta_graphs", std::move(graphs)}};
}

// Lists and tables on lines of their own, with two more blanks in front of each.
void PrintIndented(const nlohmann::ordered_json& value, int depth) {
  for (const auto& [key, item] : value.items()) {
    const bool nested = item.is_object() && !item.empty();
    const bool graphs = item.is_array() && !item.empty() && item[0].is_object();
    std::printf("%*s%s:", depth * 2, "", key.c_str());
    if (nested || graphs) {
      std::printf("\n");
      PrintIndented(item, depth + 1);
    } else if (item.is_array()) {
      for (const auto& one : item) std::printf(" %s", one.get<std::string>().c_str());
      std::printf("\n");
    } else {
      std::printf(" %s\n", item.is_string() ? item.get<std::string>().c_str() : item.dump().c_str());
    }
  }
}

Status PrintWhole(const google::protobuf::Message& message, const std::string& format) {
  std::string text;
  if (format == "text") {
    google::protobuf::TextFormat::PrintToString(message, &text);
  } else {
    google::protobuf::util::JsonPrintOptions options;
    options.add_whitespace = true;
    options.preserve_proto_field_names = true;
    const auto status = google::protobuf::util::MessageToJsonString(message, &text, options);
    if (!status.ok()) return errors::InvalidArgument("cannot be written as JSON: ", std::string(status.message()));
  }
  std::fwrite(text.data(), 1, text.size(), stdout);
  return OkStatus();
}

}  // namespace

Status InspectProgram(const InspectOptions& options, const std::string& path) {
  Program program;
  RETURN_IF_ERROR(Load(path, &program));
  if (!options.format.empty()) return PrintWhole(program.message(), options.format);
  nlohmann::ordered_json object = Describe(program);
  if (options.json) {
    nlohmann::ordered_json line = {{"kind", program.kind}, {"path", path}};
    line.update(object);
    PrintJson(line);
  } else {
    std::printf("%s %s\n", program.kind.c_str(), path.c_str());
    PrintIndented(object, 1);
  }
  return OkStatus();
}

}  // namespace millstream::cli
