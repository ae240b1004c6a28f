// SPDX-License-Identifier: Apache-2.0
#include "millstream/distributed/cluster/session_cluster.h"

#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "millstream/distributed/cluster/cluster_spec.h"
#include "millstream/proto/config.pb.h"

namespace millstream {
namespace {

StatusOr<std::map<std::string, std::string>> AddressesOf(const proto::ConfigProto& config) {
  StatusOr<ClusterSpec> cluster = ClusterSpec::FromProto(config.cluster_def());
  if (!cluster.ok()) return WithContext(cluster.status(), "ConfigProto.cluster_def");
  std::map<std::string, std::string> addresses;
  for (const ClusterSpec::Task& task : cluster->all_tasks()) addresses.emplace(task.name(), task.address);
  return addresses;
}

// "localhost" and its usual number are one host; other names stand for themselves.
std::string Normalized(absl::string_view address) {
  constexpr absl::string_view kLoopback = "127.0.0.1:";
  if (absl::ConsumePrefix(&address, kLoopback)) return absl::StrCat("localhost:", address);
  return std::string(address);
}

}  // namespace

StatusOr<SessionCluster> SessionCluster::Of(const proto::ConfigProto& config, const std::string& task) {
  SessionCluster cluster;
  if (task.empty()) return cluster;
  ASSIGN_OR_RETURN(cluster.addresses, AddressesOf(config));
  cluster.task = task;
  RETURN_IF_ERROR(cluster.AddressOf(task).status());
  return cluster;
}

StatusOr<SessionCluster> SessionCluster::OfMaster(const proto::ConfigProto& config, absl::string_view target) {
  SessionCluster cluster;
  if (config.cluster_def().job().empty()) return cluster;
  ASSIGN_OR_RETURN(cluster.addresses, AddressesOf(config));
  absl::string_view address = target;
  absl::ConsumePrefix(&address, "grpc://");
  for (const auto& [name, at] : cluster.addresses) {
    if (Normalized(at) != Normalized(address)) continue;
    if (cluster.renames()) {
      return errors::InvalidArgument("ConfigProto.cluster_def: both ", cluster.task, " and ", name,
                                     " are the session's target '", target, "'");
    }
    cluster.task = name;
  }
  if (cluster.renames()) return cluster;
  const auto task_at = [](std::string* out, const auto& task) {
    absl::StrAppend(out, task.first, " at ", task.second);
  };
  return errors::InvalidArgument("ConfigProto.cluster_def: the session's target '", target,
                                 "' is none of its tasks: ", absl::StrJoin(cluster.addresses, ", ", task_at));
}

StatusOr<std::string> SessionCluster::AddressOf(const std::string& name) const {
  if (!renames()) return std::string();
  const auto it = addresses.find(name);
  if (it == addresses.end()) return errors::InvalidArgument("ConfigProto.cluster_def has no task ", name);
  return it->second;
}

bool IsolatesState(const proto::ConfigProto& config) {
  const bool brings_cluster = !config.cluster_def().job().empty();
  return config.isolate_session_state() ||
         (brings_cluster && !config.experimental().share_session_state_in_clusterspec_propagation());
}

}  // namespace millstream
