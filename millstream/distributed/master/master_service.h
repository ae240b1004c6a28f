// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_DISTRIBUTED_MASTER_MASTER_SERVICE_H_
#define MILLSTREAM_DISTRIBUTED_MASTER_MASTER_SERVICE_H_

#include <string>
#include <vector>

#include "millstream/distributed/master/master.h"
#include "millstream/distributed/wire/rpc.h"

namespace millstream {

// The path of a method: "/tensorflow.MasterService/RunStep".
std::string MasterMethod(absl::string_view method);

// TensorFlow's MasterService: what its clients call. Requests are not trusted. `master` is borrowed.
std::vector<RpcMethod> MasterServiceMethods(Master* master);

}  // namespace millstream

#endif  // MILLSTREAM_DISTRIBUTED_MASTER_MASTER_SERVICE_H_
