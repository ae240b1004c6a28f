// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_DISTRIBUTED_WIRE_RUN_ELSEWHERE_H_
#define MILLSTREAM_DISTRIBUTED_WIRE_RUN_ELSEWHERE_H_

#include <functional>
#include <utility>

#include "millstream/distributed/wire/rpc.h"

namespace millstream {

// Handlers of calls run on the thread that reads the network (rpc.h), which must not wait.
enum class CallWait {
  kShort,  // takes a while, but waits for nobody outside this process
  kLong,   // may wait for other tasks, clients or steps
};

// A call that has other threads to be answered on.
class CallWithThreads {
 public:
  virtual ~CallWithThreads() = default;
  virtual void RunElsewhere(CallWait wait, std::function<void()> work) = 0;
};

// Runs `work`, which finishes the call, on another thread; each connection has a share of these. Calls without a
// network run it right here.
inline void RunElsewhere(RpcCall& call, CallWait wait, std::function<void()> work) {
  if (auto* threads = dynamic_cast<CallWithThreads*>(&call)) return threads->RunElsewhere(wait, std::move(work));
  work();
}

}  // namespace millstream

#endif  // MILLSTREAM_DISTRIBUTED_WIRE_RUN_ELSEWHERE_H_
