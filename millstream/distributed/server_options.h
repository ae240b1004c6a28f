// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_DISTRIBUTED_SERVER_OPTIONS_H_
#define MILLSTREAM_DISTRIBUTED_SERVER_OPTIONS_H_

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "millstream/distributed/cluster/cluster_spec.h"
#include "millstream/distributed/trust/admission.h"
#include "millstream/distributed/wire/rpc.h"

namespace millstream {

class HubRegistry;
namespace proto {
class ConfigProto;
class ServerDef;
}  // namespace proto

// Which task of which cluster a server is, and how it talks to the others.
struct ServerOptions {
  ClusterSpec cluster;
  std::string job_name;
  int task_index = 0;
  int port = -1;             // to bind in place of the port of the task's address; -1: that one
  std::string bind_address;  // host to bind; "": loopback if the task's own address is, else all interfaces
  std::shared_ptr<const proto::ConfigProto> default_session_config;  // null: none

  // Who may connect. Beyond loopback one of the three is needed: a token, mutual TLS, or `insecure`.
  std::string token;
  RpcTls tls;
  bool insecure = false;

  // Where graphs may touch files (base/file_root.h); {}: everywhere on a server that only this host can reach, else the
  // current folder.
  std::vector<std::string> file_roots;

  // The largest request and the largest tensor from another task that are taken; larger ones are ResourceExhausted.
  int max_message_bytes = INT32_MAX;
  int64_t max_tensor_bytes = int64_t{64} << 30;

  std::string job_id;  // tasks of another job are refused; "": none
  // Response timeout of a live peer.
  std::chrono::milliseconds deadline{30000};
  // How long a session stays whose client has no connection any more; as long as it has one, it stays anyway.
  std::chrono::milliseconds session_lease{600'000};
  // Servers of one process that are given the same registry (link/hub_registry.h) hand frames to each other directly;
  // null: they use the links below, as tasks of other processes do.
  std::shared_ptr<HubRegistry> neighbours;
  // Which links between tasks may be used.
  bool shm = true;
  bool tcp = true;
  bool grpc = true;

  // The status page (docs/status.md). Beyond loopback it needs the token, even where the server itself does not.
  int status_port = -1;                      // -1: none; 0: any free one
  std::string status_address = "127.0.0.1";  // to bind; beyond loopback only if it is asked for

  // What a ServerDef says; the rest as it is by default. InvalidArgument, e.g. for a protocol other than "grpc".
  static StatusOr<ServerOptions> FromProto(const proto::ServerDef& def);
  void ToProto(proto::ServerDef* def) const;
  // Takes what the environment sets:
  //   MILLSTREAM_TOKEN_FILE  file with the job token           MILLSTREAM_INSECURE=1  accept anyone
  //   MILLSTREAM_TLS_CERT, MILLSTREAM_TLS_KEY, MILLSTREAM_TLS_CA  PEM files
  //   MILLSTREAM_FILE_ROOT   folders, with ':' between them
  //   MILLSTREAM_MAX_MESSAGE_BYTES                             MILLSTREAM_MAX_TENSOR_BYTES
  //   MILLSTREAM_JOB_ID      MILLSTREAM_DEADLINE_MS            MILLSTREAM_LINKS=shm,tcp,grpc
  //   MILLSTREAM_SESSION_LEASE_MS
  //   MILLSTREAM_STATUS_PORT, MILLSTREAM_STATUS_ADDRESS        the status page
  Status ReadEnvironment();
  // "shm,tcp": these links and no others. InvalidArgument.
  Status SetLinks(absl::string_view list);
  // The task exists, and its settings go together. InvalidArgument.
  Status Check() const;

  std::string task_name() const { return TaskName(job_name, task_index); }
  // Where to listen. FailedPrecondition if that would let anybody in who was not asked for. REQUIRES: Check() is OK.
  StatusOr<HostPort> AddressToBind() const;
  // The folders for FileRoots::Open(); {}: graphs may touch files everywhere.
  std::vector<std::string> FileRootsFor(const HostPort& bind) const;
  // What is asked of those who connect.
  AdmissionPolicy admission() const { return {!token.empty(), tls.enabled() && !tls.ca.empty(), insecure}; }
  // How to reach `server`, a task of the cluster ("": whichever has the address); as a task, or as a client where this
  // is none.
  RpcChannelOptions channel_options(const std::string& server = "") const;
};

// True if the host can be reached from this machine alone: a loopback number, or a name that stands for nothing else.
bool IsLoopbackHost(const std::string& host);
// The token in a file, without the white space around it. InvalidArgument if there is none.
StatusOr<std::string> ReadTokenFile(const std::string& path);
// What a client takes from the same environment: token, TLS, and MILLSTREAM_SERVER_TASK, the task that it means where
// the address that it dials is not the server's own (a tunnel, address translation).
StatusOr<RpcChannelOptions> ChannelOptionsFromEnvironment();

}  // namespace millstream

#endif  // MILLSTREAM_DISTRIBUTED_SERVER_OPTIONS_H_
