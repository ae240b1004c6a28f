// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_DISTRIBUTED_WIRE_TASK_METHODS_H_
#define MILLSTREAM_DISTRIBUTED_WIRE_TASK_METHODS_H_

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "millstream/distributed/link/link_hub.h"

namespace millstream {

namespace proto {
class TaskEndpoint;
}  // namespace proto

// The path of a call between tasks: "/millstream.TaskService/Hello".
std::string TaskMethod(absl::string_view method);

// The endpoint that the Hello call returns.
LinkEndpoint EndpointFromProto(const proto::TaskEndpoint& message, const std::string& task, uint64_t incarnation);
void EndpointToProto(const LinkEndpoint& endpoint, proto::TaskEndpoint* message);

}  // namespace millstream

#endif  // MILLSTREAM_DISTRIBUTED_WIRE_TASK_METHODS_H_
