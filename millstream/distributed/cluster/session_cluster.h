// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_DISTRIBUTED_CLUSTER_SESSION_CLUSTER_H_
#define MILLSTREAM_DISTRIBUTED_CLUSTER_SESSION_CLUSTER_H_

#include <map>
#include <string>

#include "absl/strings/string_view.h"
#include "millstream/base/status.h"

namespace millstream {

namespace proto {
class ConfigProto;
}

// The cluster that a client hands to servers for one of its sessions (ConfigProto.cluster_def): there, tasks have other
// names than their servers were started with.
struct SessionCluster {
  std::string task;                              // this one; "": the session has the names of the server's own cluster
  std::map<std::string, std::string> addresses;  // of all tasks, by name
  std::string master;                            // whose session it is, as worker; "": this one's, or not renamed

  // As the config says for the task of that name; "" if the session uses the server's cluster. InvalidArgument if there
  // is no such task or the cluster makes no sense.
  static StatusOr<SessionCluster> Of(const proto::ConfigProto& config, const std::string& task);
  // The same for the task that the client connected to, as "grpc://host:port". InvalidArgument if it is not among them.
  static StatusOr<SessionCluster> OfMaster(const proto::ConfigProto& config, absl::string_view target);

  bool renames() const { return !task.empty(); }
  // "": where the server's own cluster has it. InvalidArgument if the session does not know the task.
  StatusOr<std::string> AddressOf(const std::string& name) const;
};

// True if variables and the like end with the session: if that is asked for, or the client brings a cluster and does
// not ask to share them.
bool IsolatesState(const proto::ConfigProto& config);

}  // namespace millstream

#endif  // MILLSTREAM_DISTRIBUTED_CLUSTER_SESSION_CLUSTER_H_
