// SPDX-License-Identifier: Apache-2.0
#include "millstream/runtime/chrome_trace.h"

#include <algorithm>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>

#include "absl/strings/match.h"
#include "absl/strings/string_view.h"
#include "millstream/proto/step_stats.pb.h"

namespace millstream {
namespace {

using Json = nlohmann::ordered_json;

int64_t StartNanos(const proto::NodeExecStats& node) {
  return node.all_start_nanos() != 0 ? node.all_start_nanos() : node.all_start_micros() * 1000;
}

int64_t DurationNanos(const proto::NodeExecStats& node) {
  return node.all_end_rel_nanos() != 0 ? node.all_end_rel_nanos() : node.all_end_rel_micros() * 1000;
}

// "name = Op(...)": what TensorFlow writes there too.
std::string OpOf(const proto::NodeExecStats& node) {
  const std::string& label = node.timeline_label();
  const size_t begin = label.find(" = ");
  const size_t end = label.find('(', begin);
  if (begin == std::string::npos || end == std::string::npos) return "unknown";
  return label.substr(begin + 3, end - begin - 3);
}

// The part that a send and its receive have in common: "x/_send_3" and "x/_recv_3" (graph/placement/partition.h). ""
// for other nodes.
std::string TransferOf(absl::string_view name) {
  for (const char* mark : {"/_send_", "/_recv_"}) {
    const size_t at = name.rfind(mark);
    if (at != absl::string_view::npos) return std::string(name.substr(at + 7));
  }
  return "";
}

}  // namespace

std::string ChromeTrace(const proto::StepStats& stats) {
  int64_t first = std::numeric_limits<int64_t>::max();
  for (const auto& device : stats.dev_stats()) {
    for (const auto& node : device.node_stats()) first = std::min(first, StartNanos(node));
  }
  Json events = Json::array();
  int process = 0;
  for (const auto& device : stats.dev_stats()) {
    events.push_back({{"name", "process_name"}, {"ph", "M"}, {"pid", process}, {"args", {{"name", device.device()}}}});
    for (const auto& node : device.node_stats()) {
      const std::string op = OpOf(node);
      const double start = static_cast<double>(StartNanos(node) - first) / 1000;
      const double duration = static_cast<double>(DurationNanos(node)) / 1000;
      events.push_back({{"name", op},
                        {"cat", "Op"},
                        {"ph", "X"},
                        {"pid", process},
                        {"tid", node.thread_id()},
                        {"ts", start},
                        {"dur", duration},
                        {"args", {{"name", node.node_name()}, {"op", op}}}});
      const std::string transfer = TransferOf(node.node_name());
      if (transfer.empty()) continue;
      const bool sends = absl::StrContains(node.node_name(), "/_send_");
      Json arrow = {{"name", "transfer"},
                    {"cat", "transfer"},
                    {"ph", sends ? "s" : "f"},
                    {"id", transfer},
                    {"pid", process},
                    {"tid", node.thread_id()},
                    {"ts", sends ? start : start + duration}};
      if (!sends) arrow["bp"] = "e";
      events.push_back(std::move(arrow));
    }
    ++process;
  }
  return Json{{"traceEvents", std::move(events)}}.dump(1);
}

}  // namespace millstream
