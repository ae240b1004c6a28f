// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_LAUNCH_JOB_H_
#define MILLSTREAM_LAUNCH_JOB_H_

#include <string>
#include <vector>

#include "millstream/distributed/cluster/cluster_spec.h"
#include "millstream/launch/free_ports.h"
#include "millstream/launch/process_group.h"

namespace millstream::launch {

class JobRegistration;

// A program that is to run as every task of a cluster.
struct JobOptions {
  int ps = 0;
  int workers = 1;
  bool chief = false;                // a task of job chief besides the workers
  std::vector<std::string> command;  // of each task; flags are appended
  bool pass_flags = true;  // --ps_hosts --worker_hosts --chief_hosts --job_name --task_index; TF_CONFIG is always set
  int max_restarts = 0;    // of each task
  bool insecure = false;   // no token: accept connections from anyone who can reach the tasks
  int status_port = -1;    // of the status page of the chief, or of worker 0; 0: any free one, -1: none
  std::string token_file;  // "": MILLSTREAM_TOKEN_FILE, else a new token is made
  JobRegistration* registration = nullptr;  // is told where the tasks are; borrowed, null: nobody
  std::string file_root;  // where graphs may touch files, for MILLSTREAM_FILE_ROOT; "": as the environment says
};

// The job's id: that of its registration, else a new one.
std::string JobIdOf(const JobOptions& options);

struct JobTask {
  std::string job;
  int index = 0;
  std::string name() const { return absl::StrCat(job, ":", index); }
};

// What is wrong with the options, in one line. InvalidArgument.
Status CheckJob(const JobOptions& options);
// Chief, ps, workers, each by index.
std::vector<JobTask> TasksOf(const JobOptions& options);
// The cluster whose tasks, in the order of TasksOf(), listen at `addresses` ("host:port").
StatusOr<ClusterSpec> ClusterOf(const JobOptions& options, const std::vector<std::string>& addresses);

// What TF1 programs take: --ps_hosts=a:1,b:1 --worker_hosts=... --job_name=... --task_index=... None in a cluster of
// workers alone: programs that reduce among themselves (Horovod, tf.distribute) do not know these flags.
std::vector<std::string> TaskFlags(const ClusterSpec& cluster, const JobTask& task);
std::string TfConfigOf(const ClusterSpec& cluster, const JobTask& task);

// The process of a task. Where its token is and other settings are the caller's to add.
ProcessSpec ProcessOf(const JobOptions& options, const ClusterSpec& cluster, const JobTask& task);

// MILLSTREAM_INSECURE and what else holds for the whole job, for the environment of each of its tasks.
std::vector<std::pair<std::string, std::string>> JobEnvironment(const JobOptions& options, const std::string& job_id);

std::string NewJobId();

// The token of the job: the one of its file or of the environment (MILLSTREAM_TOKEN_FILE), or a new one; "" for an
// insecure job.
StatusOr<std::string> TokenOf(const JobOptions& options);

// The processes of some tasks of the job, with the token in a file for all of them (group->scratch_folder).
StatusOr<std::vector<ProcessSpec>> ProcessesOf(const JobOptions& options, const ClusterSpec& cluster,
                                               const std::vector<JobTask>& tasks, const std::string& token,
                                               const std::string& job_id, GroupOptions* group);

// The job's processes on this machine, at ports of its own choice on loopback.
struct LocalJob {
  FreePorts ports;  // reserved until the processes have ended
  std::vector<ProcessSpec> processes;
  std::string starting;  // for a note: the cluster, and where the token is
};
StatusOr<LocalJob> PrepareLocalJob(const JobOptions& options, GroupOptions* group);

// Runs the job on this machine, at ports of its own choice on loopback; returns when all tasks have ended.
StatusOr<GroupResult> RunLocally(const JobOptions& options, GroupOptions group);

}  // namespace millstream::launch

#endif  // MILLSTREAM_LAUNCH_JOB_H_
