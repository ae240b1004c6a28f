// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_LAUNCH_FREE_PORTS_H_
#define MILLSTREAM_LAUNCH_FREE_PORTS_H_

#include <vector>

#include "millstream/base/status.h"

namespace millstream::launch {

// Ports of this host that nobody listens on, all different, outside the range from which the system takes ports for
// outgoing connections: nothing but another server can take them before they are used.
StatusOr<std::vector<int>> FindFreePorts(int count);

}  // namespace millstream::launch

#endif  // MILLSTREAM_LAUNCH_FREE_PORTS_H_
