// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdio>
#include <limits>
#include <map>

#include "cli/inspect/inspect.h"
#include "millstream/io/record_reader.h"
#include "millstream/proto/event.pb.h"
#include "millstream/proto/summary.pb.h"
#include "millstream/tensor/tensor_proto.h"

namespace millstream::cli {
namespace {

struct Tag {
  std::string kind;
  int64_t count = 0, first = std::numeric_limits<int64_t>::max(), last = std::numeric_limits<int64_t>::min();
  std::string value;  // the last one, where it is short
};

std::string KindOf(const proto::Summary::Value& value) {
  switch (value.value_case()) {
    case proto::Summary::Value::kSimpleValue:
      return "scalar";
    case proto::Summary::Value::kImage:
      return "image";
    case proto::Summary::Value::kHisto:
      return "histogram";
    case proto::Summary::Value::kAudio:
      return "audio";
    case proto::Summary::Value::kTensor: {
      const std::string& plugin = value.metadata().plugin_data().plugin_name();
      return plugin.empty() ? "tensor" : plugin;
    }
    default:
      return "other";
  }
}

std::string ShortValue(const proto::Summary::Value& value) {
  switch (value.value_case()) {
    case proto::Summary::Value::kSimpleValue:
      return absl::StrCat(value.simple_value());
    case proto::Summary::Value::kImage:
      return absl::StrCat(value.image().width(), " x ", value.image().height());
    case proto::Summary::Value::kHisto:
      return absl::StrCat(value.histo().num(), " values from ", value.histo().min(), " to ", value.histo().max());
    case proto::Summary::Value::kTensor: {
      const StatusOr<Tensor> tensor = TensorFromProto(value.tensor());
      return tensor.ok() ? tensor->SummarizeValue(5) : "";
    }
    default:
      return "";
  }
}

void PrintEvent(const proto::Event& event) {
  nlohmann::ordered_json line = {{"wall_time", event.wall_time()}, {"step", event.step()}};
  switch (event.what_case()) {
    case proto::Event::kFileVersion:
      line["file_version"] = event.file_version();
      break;
    case proto::Event::kGraphDef:
      line["graph_def_bytes"] = event.graph_def().size();
      break;
    case proto::Event::kMetaGraphDef:
      line["meta_graph_def_bytes"] = event.meta_graph_def().size();
      break;
    case proto::Event::kSessionLog:
      line["session_log"] = proto::SessionLog::SessionStatus_Name(event.session_log().status());
      break;
    case proto::Event::kTaggedRunMetadata:
      line["run_metadata"] = event.tagged_run_metadata().tag();
      break;
    case proto::Event::kSummary:
      for (const auto& value : event.summary().value()) {
        nlohmann::ordered_json one = line;
        one["tag"] = value.tag();
        one["kind"] = KindOf(value);
        if (value.has_simple_value())
          one["value"] = value.simple_value();
        else
          one["value"] = ShortValue(value);
        PrintJson(one);
      }
      return;
    default:
      break;
  }
  PrintJson(line);
}

void PrintTags(const std::string& path, const std::map<std::string, Tag>& tags, int64_t events, const Status& end) {
  std::printf("events %s: %s events, %zu tags%s\n", path.c_str(), WithThousands(events).c_str(), tags.size(),
              end.ok() ? "" : absl::StrCat("; ", end.message()).c_str());
  size_t width = 3;
  for (const auto& [name, tag] : tags) width = std::max(width, name.size());
  for (const auto& [name, tag] : tags) {
    std::printf("  %-*s  %-10s %6lld at steps %lld to %lld, last %s\n", static_cast<int>(width), name.c_str(),
                tag.kind.c_str(), static_cast<long long>(tag.count), static_cast<long long>(tag.first),
                static_cast<long long>(tag.last), tag.value.c_str());
  }
}

void Count(const proto::Event& event, std::map<std::string, Tag>* tags) {
  const auto add = [&](const std::string& name, std::string kind, std::string value) {
    Tag& tag = (*tags)[name];
    tag.kind = std::move(kind);
    ++tag.count;
    tag.first = std::min(tag.first, event.step());
    tag.last = std::max(tag.last, event.step());
    tag.value = std::move(value);
  };
  for (const auto& value : event.summary().value()) add(value.tag(), KindOf(value), ShortValue(value));
  if (event.has_graph_def()) add("(graph)", "graph", WithThousands(event.graph_def().size()) + " bytes");
  if (event.has_tagged_run_metadata()) add(event.tagged_run_metadata().tag(), "metadata", "");
}

}  // namespace

Status InspectEvents(const InspectOptions& options, const std::string& path) {
  ASSIGN_OR_RETURN(const auto reader, RecordReader::Open(path));
  std::map<std::string, Tag> tags;
  int64_t events = 0;
  std::string record;
  Status status;
  for (;; ++events) {
    if (options.limit > 0 && events == options.limit) break;
    status = reader->Read(&record);
    if (!status.ok()) break;
    proto::Event event;
    if (!event.ParseFromString(record)) return errors::DataLoss(path, ": record ", events, " is not an event");
    if (options.json)
      PrintEvent(event);
    else
      Count(event, &tags);
  }
  if (absl::IsOutOfRange(status)) status = OkStatus();
  // A file that is still written ends in the middle of a record: what came before is worth showing.
  const bool cut = absl::IsDataLoss(status) && events > 0;
  if (!options.json) PrintTags(path, tags, events, status);
  return cut ? OkStatus() : status;
}

}  // namespace millstream::cli
