// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_DISTRIBUTED_LINK_DIALER_H_
#define MILLSTREAM_DISTRIBUTED_LINK_DIALER_H_

#include <memory>

#include "millstream/distributed/link/hub_core.h"
#include "millstream/distributed/link/sockets.h"

namespace millstream {

// LinkHub::Dial() of the hub `core`.
StatusOr<std::shared_ptr<PeerLink>> DialPeer(const std::shared_ptr<HubCore>& core, const LinkEndpoint& peer,
                                             FrameHandler* handler, Deadline deadline);

}  // namespace millstream

#endif  // MILLSTREAM_DISTRIBUTED_LINK_DIALER_H_
