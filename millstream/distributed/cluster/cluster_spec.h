// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_DISTRIBUTED_CLUSTER_CLUSTER_SPEC_H_
#define MILLSTREAM_DISTRIBUTED_CLUSTER_CLUSTER_SPEC_H_

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "millstream/base/status.h"

namespace millstream {

namespace proto {
class ClusterDef;
}

struct HostPort {
  std::string host;  // an IPv6 address without its brackets
  int port = 0;
};
// "host:port" or "[v6]:port". InvalidArgument, as TensorFlow words it.
StatusOr<HostPort> ParseHostPort(absl::string_view address);

// "/job:ps/replica:0/task:0".
std::string TaskName(absl::string_view job, int task);

// The jobs of a cluster, their tasks and where those listen. Every object is a valid cluster: what makes one checks
// names, addresses and indices, and that no two tasks share an address; errors are InvalidArgument.
class ClusterSpec {
 public:
  using Tasks = std::map<int, std::string>;  // task index -> "host:port"; indices may have gaps

  ClusterSpec() = default;  // no jobs
  static StatusOr<ClusterSpec> Make(std::map<std::string, Tasks> jobs);
  // {"ps": ["a:1", "b:1"], "worker": {"1": "c:1"}}: what tf.train.ClusterSpec takes.
  static StatusOr<ClusterSpec> FromJson(absl::string_view json);
  static StatusOr<ClusterSpec> FromProto(const proto::ClusterDef& cluster);
  // {{"ps", "a:1,b:1"}, {"worker", "c:1"}}: flags like --ps_hosts; an empty list is no job.
  static StatusOr<ClusterSpec> FromHosts(const std::vector<std::pair<std::string, std::string>>& hosts);

  bool empty() const { return jobs_.empty(); }
  std::vector<std::string> jobs() const;  // in alphabetical order, as TensorFlow lists them
  int num_tasks() const;                  // of all jobs
  bool Has(absl::string_view job, int task) const;
  // InvalidArgument if there is no such job or task; the message says what there is.
  StatusOr<const Tasks*> tasks(absl::string_view job) const;
  StatusOr<std::string> address(absl::string_view job, int task) const;
  // All tasks, by job and index.
  struct Task {
    std::string job;
    int index;
    std::string address;
    std::string name() const { return TaskName(job, index); }
  };
  std::vector<Task> all_tasks() const;
  // The same cluster with another address for a task: one that was started on port 0.
  StatusOr<ClusterSpec> With(const std::string& job, int task, const std::string& address) const;

  void ToProto(proto::ClusterDef* cluster) const;
  std::string ToJson() const;  // lists where indices have no gaps
  friend bool operator==(const ClusterSpec& a, const ClusterSpec& b) { return a.jobs_ == b.jobs_; }

 private:
  std::map<std::string, Tasks> jobs_;
};

// The job whose tasks hold what workers share.
inline constexpr char kPsJob[] = "ps";
bool IsPsTask(const std::string& task);  // "/job:ps/replica:0/task:1"

// The environment variable TF_CONFIG: the cluster, and which task of it this process is.
struct TfConfig {
  ClusterSpec cluster;
  std::string job;  // "": not said
  int task = 0;
  static StatusOr<TfConfig> FromJson(absl::string_view json);
  static StatusOr<TfConfig> FromEnvironment();  // empty if TF_CONFIG is not set
};

}  // namespace millstream

#endif  // MILLSTREAM_DISTRIBUTED_CLUSTER_CLUSTER_SPEC_H_
