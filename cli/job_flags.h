// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_CLI_JOB_FLAGS_H_
#define MILLSTREAM_CLI_JOB_FLAGS_H_

#include <optional>
#include <string>

#include "cli/cluster_flags.h"
#include "millstream/launch/job_record.h"

namespace millstream::cli {

// The tasks that a command is about, and how to reach them.
struct JobTarget {
  ClusterSpec cluster;
  ServerOptions access;                     // token, TLS, job id
  std::optional<launch::JobRecord> record;  // if the job was found by its name or folder
};

// The flags of commands about a running job: its name, the folder that it writes to, or the addresses of its tasks.
struct JobFlags {
  ClusterFlags cluster;
  std::string job, logdir;

  void AddTo(CLI::App& app);
  // Without any flags: the only job of this user on this host if `guess`, else an error that lists those that run.
  StatusOr<JobTarget> Resolve(bool guess) const;
};

// The job of that name or folder. What `access` says of token and TLS comes before what the record says.
StatusOr<JobTarget> TargetOfJob(const std::string& name_or_folder, const AccessFlags& access);

}  // namespace millstream::cli

#endif  // MILLSTREAM_CLI_JOB_FLAGS_H_
