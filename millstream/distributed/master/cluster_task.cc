// SPDX-License-Identifier: Apache-2.0
#include "millstream/distributed/master/cluster_task.h"

namespace millstream {

Status LocalTask::CreateSession(const TaskSessionSpec& spec) {
  ASSIGN_OR_RETURN(SessionCluster cluster, SessionCluster::Of(spec.config, spec.task));
  return worker_->CreateSession(spec.name, spec.options, std::move(cluster), spec.isolate_state, spec.library,
                                /*master_task=*/"", 0);
}

StatusOr<uint32_t> LocalTask::Register(const std::string& session, GraphPart part, const std::vector<EdgeTarget>& sends,
                                       const std::vector<FromTask>& from) {
  EdgeLinks links;
  for (const EdgeTarget& edge : sends) {
    if (edge.id >= links.size()) links.resize(edge.id + 1);
    ASSIGN_OR_RETURN(links[edge.id], worker_->LinkTo(session, edge.task, edge.incarnation));
  }
  return worker_->Register(session, std::move(part.graph), std::move(links), from);
}

}  // namespace millstream
