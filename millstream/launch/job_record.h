// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_LAUNCH_JOB_RECORD_H_
#define MILLSTREAM_LAUNCH_JOB_RECORD_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "millstream/base/status.h"

namespace millstream::launch {

// What other commands need to know of a running job, so that people name it rather than its addresses and its token.
struct JobRecord {
  std::string name;        // "mlp-20261116-105500"
  std::string job_id;      // MILLSTREAM_JOB_ID of its tasks; "": none
  int64_t pid = 0;         // of the process that runs it, or of its chief
  std::string host;        // of that process
  std::string since;       // "2026-11-16 10:55:00"
  std::string folder;      // with its logs; "": none
  std::string cluster;     // JSON; "": not known yet
  std::string token_file;  // "": none

  std::string ToJson() const;
  static StatusOr<JobRecord> FromJson(absl::string_view text);
  // "job mlp-20261116-105500 (pid 17 on host a, since 2026-11-16 10:55:00)".
  std::string Describe() const;
};

// A file with the record of a job that runs. It is locked for as long as this object lives, so nobody else can hold it,
// and removed at the end; the system drops the lock of a process that dies, and the next holder takes the file over.
class HeldRecord {
 public:
  // AlreadyExists, with the record of the holder in `*holder` (optional), if another process has it.
  static StatusOr<std::unique_ptr<HeldRecord>> Hold(const std::string& path, const JobRecord& record,
                                                    JobRecord* holder = nullptr);
  ~HeldRecord();
  HeldRecord(const HeldRecord&) = delete;
  HeldRecord& operator=(const HeldRecord&) = delete;

  Status Write(const JobRecord& record);

 private:
  HeldRecord(std::string path, int fd) : path_(std::move(path)), fd_(fd) {}
  std::string path_;  // removed at the end; "": not ours
  const int fd_;
};

// The record in a file that some process holds; NotFound if there is none, or its process has died.
StatusOr<JobRecord> ReadHeldRecord(const std::string& path);

// Where the record of the job lies that writes its logs to `folder`.
std::string RecordPathIn(const std::string& folder);
// The folder of this user with the records of all jobs on this host.
StatusOr<std::string> JobsFolder();

// A job of this host by its name, or the one that writes to that folder. NotFound names those that run.
StatusOr<JobRecord> FindJob(const std::string& name_or_folder);
std::vector<JobRecord> RunningJobs();

}  // namespace millstream::launch

#endif  // MILLSTREAM_LAUNCH_JOB_RECORD_H_
