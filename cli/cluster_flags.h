// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_CLI_CLUSTER_FLAGS_H_
#define MILLSTREAM_CLI_CLUSTER_FLAGS_H_

#include <string>

#include "cli/exit_code.h"
#include "millstream/distributed/cluster/cluster_spec.h"
#include "millstream/distributed/server_options.h"

namespace CLI {
class App;
}

namespace millstream::cli {

// The flags that say how to get in; each has a variable of the environment as its default.
struct AccessFlags {
  std::string token_file, tls_cert, tls_key, tls_ca;

  void AddTo(CLI::App& app);
  // The environment, and what the flags say over it.
  Status Apply(ServerOptions* options) const;
};

// The flags that say which cluster is meant: --cluster, or --ps_hosts and its like as in TensorFlow's documents, or
// TF_CONFIG; and how to get in.
struct ClusterFlags : AccessFlags {
  std::string cluster, ps_hosts, worker_hosts, chief_hosts, evaluator_hosts, job_id;

  void AddTo(CLI::App& app);
  StatusOr<ClusterSpec> Resolve() const;
  // The environment, and what the flags say over it.
  Status Apply(ServerOptions* options) const;
  // The settings of a task's server: the flags, and what TF_CONFIG says where they say nothing (job_name "", task_index
  // -1).
  StatusOr<ServerOptions> ServerFor(const std::string& job_name, int task_index) const;
};

}  // namespace millstream::cli

#endif  // MILLSTREAM_CLI_CLUSTER_FLAGS_H_
