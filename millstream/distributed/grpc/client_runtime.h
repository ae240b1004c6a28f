// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_DISTRIBUTED_GRPC_CLIENT_RUNTIME_H_
#define MILLSTREAM_DISTRIBUTED_GRPC_CLIENT_RUNTIME_H_

#include "millstream/base/timer_queue.h"
#include "millstream/distributed/grpc/call_threads.h"
#include "millstream/distributed/grpc/reader_loop.h"
#include "millstream/distributed/grpc/ticker.h"

namespace millstream {

// The threads of all channels and dialed links of this process. They live as long as it does: a channel may be let go
// of by one of them.
struct ClientRuntime {
  TimerQueue timers;
  Ticker ticker{&timers};
  CallThreads connectors{/*max_threads=*/64, /*max_per_owner=*/64};  // resolving a name blocks
  ReaderLoop loop{std::chrono::microseconds(50)};
};

ClientRuntime& Client();

}  // namespace millstream

#endif  // MILLSTREAM_DISTRIBUTED_GRPC_CLIENT_RUNTIME_H_
