// SPDX-License-Identifier: Apache-2.0
#include "millstream/runtime/step_stats.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <map>

#include "absl/strings/str_join.h"
#include "millstream/graph/fusion/fused_body.h"
#include "millstream/graph/node_kind.h"
#include "millstream/proto/step_stats.pb.h"

namespace millstream {

int64_t ScopedNodeTrace::NowNanos() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::system_clock::now().time_since_epoch())
      .count();
}

void ScopedNodeTrace::Finish() {
  stats_->Add({node_.node, node_.device->name(), start_ns_, NowNanos(), static_cast<uint32_t>(syscall(SYS_gettid))});
}

void StepStatsCollector::Add(const Record& record) {
  MutexLock lock(mu_);
  records_.push_back(record);
}

void StepStatsCollector::AddConstants(const Plan& plan) {
  const int64_t now = ScopedNodeTrace::NowNanos();
  const auto thread = static_cast<uint32_t>(syscall(SYS_gettid));
  MutexLock lock(mu_);
  for (const auto& node : plan.graph->nodes()) {
    if (node != nullptr && IsFreeConstant(*node))
      records_.push_back({node.get(), node->assigned_device(), now, now, thread});
  }
}

void StepStatsCollector::Export(proto::StepStats* stats) const {
  MutexLock lock(mu_);
  std::vector<Record> sorted = records_;
  std::sort(sorted.begin(), sorted.end(), [](const Record& a, const Record& b) { return a.start_ns < b.start_ns; });
  std::map<std::string, proto::DeviceStepStats*> devices;
  for (const Record& r : sorted) {
    proto::DeviceStepStats*& device = devices[std::string(r.device)];
    if (device == nullptr) {
      device = stats->add_dev_stats();
      device->set_device(std::string(r.device));
    }
    proto::NodeExecStats* node = device->add_node_stats();
    node->set_node_name(r.node->name());
    AttrValue::Strings members;
    if (r.node->attrs().Has(kMembersAttr)) r.node->GetAttr(kMembersAttr, &members).IgnoreError();
    node->set_timeline_label(
        absl::StrCat(r.node->name(), " = ", r.node->type(), "(", absl::StrJoin(members, ", "), ")"));
    node->set_all_start_micros(r.start_ns / 1000);
    node->set_all_start_nanos(r.start_ns);
    node->set_op_start_rel_micros(0);
    node->set_op_end_rel_micros((r.end_ns - r.start_ns) / 1000);
    node->set_op_end_rel_nanos(r.end_ns - r.start_ns);
    node->set_all_end_rel_micros((r.end_ns - r.start_ns) / 1000);
    node->set_all_end_rel_nanos(r.end_ns - r.start_ns);
    node->set_thread_id(r.thread);
  }
}

}  // namespace millstream
