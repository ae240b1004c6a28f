// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_RUNTIME_SESSION_OPTIONS_H_
#define MILLSTREAM_RUNTIME_SESSION_OPTIONS_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "millstream/base/status.h"
#include "millstream/graph/passes/passes.h"

namespace millstream {

class LocalServer;
namespace proto {
class ConfigProto;
}

// The parts of TensorFlow's ConfigProto that mean something here.
struct SessionOptions {
  // Where the graph runs: "" or "local" for this process, "grpc://host:port" for the cluster that has a server there.
  std::string target;
  // The server at `target` if it is in this process (Server::session_options()): the session reaches it without the
  // network. Null: another process has it, or there is none.
  std::shared_ptr<LocalServer> server;
  int inter_op_threads = 0;  // 0: one for each core
  int intra_op_threads = 0;
  int64_t operation_timeout_ms = 0;  // 0: no limit
  bool allow_soft_placement = false;
  bool log_device_placement = false;
  std::map<std::string, int> device_count;  // {"CPU", 2}
  RewriteOptions rewrite;
  int64_t max_graph_nodes = int64_t{4} << 20;
  int64_t max_tensor_bytes = int64_t{2} << 30;
  // What FromProto() was given: a server understands more of it than is here. Null: what is here says all.
  std::shared_ptr<const proto::ConfigProto> config;

  // InvalidArgument if a value makes no sense.
  static StatusOr<SessionOptions> FromProto(const proto::ConfigProto& config);
  // What a server is sent.
  void ToProto(proto::ConfigProto* config) const;
};

}  // namespace millstream

#endif  // MILLSTREAM_RUNTIME_SESSION_OPTIONS_H_
