// SPDX-License-Identifier: Apache-2.0
#include "millstream/distributed/wire/task_methods.h"

#include "absl/strings/str_cat.h"
#include "millstream/proto/task.pb.h"

namespace millstream {

std::string TaskMethod(absl::string_view method) { return absl::StrCat("/millstream.TaskService/", method); }

LinkEndpoint EndpointFromProto(const proto::TaskEndpoint& message, const std::string& task, uint64_t incarnation) {
  LinkEndpoint endpoint;
  endpoint.task = task;
  endpoint.incarnation = incarnation;
  endpoint.host = message.host();
  endpoint.process = message.process();
  endpoint.hub = message.hub();
  endpoint.shm_address = message.shm_address();
  endpoint.tcp_address = message.tcp_address();
  endpoint.ticket = message.ticket();
  return endpoint;
}

void EndpointToProto(const LinkEndpoint& endpoint, proto::TaskEndpoint* message) {
  message->set_host(endpoint.host);
  message->set_process(endpoint.process);
  message->set_hub(endpoint.hub);
  message->set_shm_address(endpoint.shm_address);
  message->set_tcp_address(endpoint.tcp_address);
  message->set_ticket(endpoint.ticket);
}

}  // namespace millstream
