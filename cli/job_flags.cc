// SPDX-License-Identifier: Apache-2.0
#include "cli/job_flags.h"

#include <CLI/CLI.hpp>
#include <cstdio>

namespace millstream::cli {
namespace {

StatusOr<JobTarget> TargetOf(launch::JobRecord record, const AccessFlags& access) {
  if (record.cluster.empty())
    return errors::Unavailable(record.Describe(), " has not started its tasks yet: try again in a moment");
  JobTarget target;
  RETURN_IF_ERROR(access.Apply(&target.access));
  ASSIGN_OR_RETURN(target.cluster, ClusterSpec::FromJson(record.cluster));
  if (access.token_file.empty() && !record.token_file.empty()) {
    ASSIGN_OR_RETURN(target.access.token, ReadTokenFile(record.token_file));
  }
  target.access.job_id = record.job_id;
  target.record = std::move(record);
  return target;
}

StatusOr<JobTarget> OnlyJob(const AccessFlags& access, bool guess) {
  std::vector<launch::JobRecord> jobs = launch::RunningJobs();
  if (guess && jobs.size() == 1) {
    std::fprintf(stderr, "millstream: %s\n", jobs[0].Describe().c_str());
    return TargetOf(std::move(jobs[0]), access);
  }
  std::string list;
  for (const launch::JobRecord& job : jobs) absl::StrAppend(&list, list.empty() ? " " : ", ", job.name);
  return errors::InvalidArgument(
      "which job? Give its name, the folder that it writes to, --cluster, or --ps_hosts and --worker_hosts.",
      jobs.empty() ? " No job of 'millstream train' or 'millstream launch' runs here." : " Running here:", list);
}

}  // namespace

StatusOr<JobTarget> TargetOfJob(const std::string& name_or_folder, const AccessFlags& access) {
  ASSIGN_OR_RETURN(launch::JobRecord record, launch::FindJob(name_or_folder));
  return TargetOf(std::move(record), access);
}

void JobFlags::AddTo(CLI::App& app) {
  app.add_option("job", job, "name of a running job of 'train' or 'launch', or the folder it writes to");
  app.add_option("--logdir", logdir, "the job that writes to this folder");
  cluster.AddTo(app);
}

StatusOr<JobTarget> JobFlags::Resolve(bool guess) const {
  if (!job.empty() && !logdir.empty()) return errors::InvalidArgument("give the name of a job or --logdir, not both");
  if (!job.empty() || !logdir.empty()) return TargetOfJob(job.empty() ? logdir + "/" : job, cluster);
  ASSIGN_OR_RETURN(const TfConfig config, TfConfig::FromEnvironment());
  const bool addresses = !cluster.cluster.empty() || !cluster.ps_hosts.empty() || !cluster.worker_hosts.empty() ||
                         !cluster.chief_hosts.empty() || !cluster.evaluator_hosts.empty() || !config.cluster.empty();
  if (!addresses) return OnlyJob(cluster, guess);
  JobTarget target;
  RETURN_IF_ERROR(cluster.Apply(&target.access));
  ASSIGN_OR_RETURN(target.cluster, cluster.Resolve());
  return target;
}

}  // namespace millstream::cli
