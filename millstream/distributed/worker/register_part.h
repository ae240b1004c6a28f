// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_DISTRIBUTED_WORKER_REGISTER_PART_H_
#define MILLSTREAM_DISTRIBUTED_WORKER_REGISTER_PART_H_

#include <memory>
#include <vector>

#include "millstream/framework/device.h"
#include "millstream/graph/placement/partition.h"

namespace millstream {

namespace proto {
class RegisterPartRequest;
}  // namespace proto

// A part as a message: graph, args, rets, targets. Edges and session are the caller's to fill in.
Status PartToProto(const GraphPart& part, proto::RegisterPartRequest* request);

// The part that a (not trusted) message describes, with every node on one of `devices`. Functions are added to
// `library`.
StatusOr<PrunedGraph> PartFromProto(const proto::RegisterPartRequest& request,
                                    const std::vector<DeviceAttributes>& devices,
                                    std::shared_ptr<FunctionLibrary> library);

}  // namespace millstream

#endif  // MILLSTREAM_DISTRIBUTED_WORKER_REGISTER_PART_H_
