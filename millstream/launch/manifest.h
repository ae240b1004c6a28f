// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_LAUNCH_MANIFEST_H_
#define MILLSTREAM_LAUNCH_MANIFEST_H_

#include "millstream/launch/job.h"

namespace millstream::launch {

// A job in Kubernetes.
struct ManifestOptions {
  JobOptions job;
  bool tfjob = false;  // a TFJob of Kubeflow's operator, else Jobs and a Service of Kubernetes alone
  std::string name = "millstream";
  std::string name_space;  // "": kubectl's
  std::string image;
  int port = 2222;
  int grace_s = 60;           // between SIGTERM and SIGKILL
  std::string cpu, memory;    // of each task: "2", "4Gi"; "": as the namespace has it
  std::string claim, folder;  // a PersistentVolumeClaim and where it is mounted; graphs may touch files there
  int user = 1000;            // user and group of the processes
};

// The manifests as YAML, for kubectl apply -f -. The token is a new one in a Secret; tasks read it from a file.
// InvalidArgument.
StatusOr<std::string> MakeManifest(const ManifestOptions& options);

}  // namespace millstream::launch

#endif  // MILLSTREAM_LAUNCH_MANIFEST_H_
