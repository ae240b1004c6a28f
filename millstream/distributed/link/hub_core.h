// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_DISTRIBUTED_LINK_HUB_CORE_H_
#define MILLSTREAM_DISTRIBUTED_LINK_HUB_CORE_H_

#include <atomic>
#include <memory>
#include <vector>

#include "millstream/distributed/link/io_loop.h"
#include "millstream/distributed/link/link_hub.h"
#include "millstream/distributed/link/link_set.h"
#include "millstream/distributed/link/wire_link.h"

namespace millstream {

// What the parts of a hub share. Constant after the start, but for what is thread-safe.
struct HubCore {
  LinkEndpoint endpoint;
  LinkOptions options;
  LinkHub::Accept accept;
  std::shared_ptr<LinkSet> links = std::make_shared<LinkSet>();
  std::vector<std::shared_ptr<IoLoop>> loops;
  std::atomic<unsigned> next_loop{0};

  // The parts of a link to `peer`, on the next loop in turn.
  LinkParts Parts(const std::string& peer, uint64_t incarnation, FrameHandler* handler) {
    const unsigned turn = next_loop.fetch_add(1, std::memory_order_relaxed);
    return {peer, incarnation, loops[turn % loops.size()], links, handler, options};
  }
};

}  // namespace millstream

#endif  // MILLSTREAM_DISTRIBUTED_LINK_HUB_CORE_H_
