// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_LAUNCH_FREE_PORTS_H_
#define MILLSTREAM_LAUNCH_FREE_PORTS_H_

#include <vector>

#include "millstream/base/status.h"
#include "millstream/distributed/link/unique_fd.h"

namespace millstream::launch {

// Ports of this host that nobody listens on, all different, outside the range from which the system takes ports for
// outgoing connections. They are reserved while this object lives: other calls of Reserve(), in any process, find other
// ports, and servers (which set SO_REUSEADDR) can still listen on them.
class FreePorts {
 public:
  // ResourceExhausted if there are not so many.
  static StatusOr<FreePorts> Reserve(int count);

  const std::vector<int>& ports() const { return ports_; }

 private:
  std::vector<int> ports_;
  std::vector<UniqueFd> reservations_;
};

}  // namespace millstream::launch

#endif  // MILLSTREAM_LAUNCH_FREE_PORTS_H_
