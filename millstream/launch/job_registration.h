// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_LAUNCH_JOB_REGISTRATION_H_
#define MILLSTREAM_LAUNCH_JOB_REGISTRATION_H_

#include <memory>
#include <string>

#include "millstream/distributed/cluster/cluster_spec.h"
#include "millstream/launch/job_record.h"

namespace millstream::launch {

// Makes a job known on this host by its name, and in the folder that it writes to: for as long as this object lives, no
// other job can take either.
class JobRegistration {
 public:
  struct Options {
    std::string name;  // "": as `default_name`, with a number behind it if that is taken
    std::string default_name;
    std::string folder;  // of its logs, made if need be; "": none
    std::string job_id;
  };
  // AlreadyExists, which says who, if the folder or the name is taken.
  static StatusOr<std::unique_ptr<JobRegistration>> Make(const Options& options);

  // Where its tasks are. `token_file` "": none is needed.
  Status SetTasks(const ClusterSpec& cluster, const std::string& token_file);
  const JobRecord& record() const { return record_; }

 private:
  JobRegistration() = default;
  Status TakeName(const Options& options);

  JobRecord record_;
  std::unique_ptr<HeldRecord> by_folder_, by_name_;
};

// Letters, digits, '-', '_' and '.', and no '.' in front.
bool IsJobName(absl::string_view name);

// The record of a job of this process, now: pid, host and time are set.
JobRecord NewJobRecord(const std::string& name, const std::string& folder, const std::string& job_id);

// Holds the folder of a job of which only this task is known. None if the job that holds it has the same id: its
// launcher does. AlreadyExists, which says who, if another job has it.
StatusOr<std::unique_ptr<HeldRecord>> HoldFolder(const JobRecord& record);

}  // namespace millstream::launch

#endif  // MILLSTREAM_LAUNCH_JOB_REGISTRATION_H_
