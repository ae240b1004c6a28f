// SPDX-License-Identifier: Apache-2.0
#include "millstream/status/start_server.h"

#include "millstream/status/server_status.h"

namespace millstream {

StatusOr<std::unique_ptr<Server>> StartServer(const ServerOptions& options) {
  return Server::Start(options, std::make_unique<ServerStatus>());
}

}  // namespace millstream
