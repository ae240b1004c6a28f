// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_LAUNCH_SSH_H_
#define MILLSTREAM_LAUNCH_SSH_H_

#include "millstream/launch/job.h"

namespace millstream::launch {

// How the hosts of a job are reached.
struct SshOptions {
  // "host", "user@host", or "host=address" where the other tasks know the host by another name than ssh does.
  std::vector<std::string> hosts;
  std::vector<std::string> ssh = {"ssh"};  // the command and its options
  std::string program;                     // `millstream` on the hosts; "": the path of this one
  std::string folder;                      // to start in; "": the one of this process
  std::chrono::milliseconds connect_timeout{15000};
};

// Runs the job on the hosts, tasks of each kind in turn over them. Every host is asked first for free ports: what
// cannot be reached is reported by name, all of it, before anything is started (Unavailable). The token travels over
// the connection.
StatusOr<GroupResult> RunOverSsh(const JobOptions& options, const SshOptions& ssh, GroupOptions group);

}  // namespace millstream::launch

#endif  // MILLSTREAM_LAUNCH_SSH_H_
