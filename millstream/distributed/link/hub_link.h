// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_DISTRIBUTED_LINK_HUB_LINK_H_
#define MILLSTREAM_DISTRIBUTED_LINK_HUB_LINK_H_

#include "millstream/framework/peer_link.h"

namespace millstream {

// A link as its hub sees it.
class HubLink : public PeerLink {
 public:
  // Like Close(), but after what is queued whatever `why` is.
  virtual void CloseAfterQueue(Status why) = 0;

 protected:
  using PeerLink::PeerLink;
};

}  // namespace millstream

#endif  // MILLSTREAM_DISTRIBUTED_LINK_HUB_LINK_H_
