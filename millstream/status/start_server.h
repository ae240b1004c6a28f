// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_STATUS_START_SERVER_H_
#define MILLSTREAM_STATUS_START_SERVER_H_

#include <memory>

#include "millstream/distributed/server.h"

namespace millstream {

// Starts one task of a cluster that reports its status to other tasks, and has a status page if
// options.status_port says so. This is how programs start servers; errors as of Server::Start().
StatusOr<std::unique_ptr<Server>> StartServer(const ServerOptions& options);

}  // namespace millstream

#endif  // MILLSTREAM_STATUS_START_SERVER_H_
