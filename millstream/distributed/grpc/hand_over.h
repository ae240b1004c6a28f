// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_DISTRIBUTED_GRPC_HAND_OVER_H_
#define MILLSTREAM_DISTRIBUTED_GRPC_HAND_OVER_H_

#ifdef __SANITIZE_THREAD__
#include <sanitizer/tsan_interface.h>
#endif

namespace millstream {

// What a thread does before it hands a tag or an object to gRPC happens before what the thread does that gets it back.
// gRPC sees to that, but the thread sanitizer does not see it, as gRPC is built without it: these two say it.
inline void* HandToGrpc(const void* object) {
  auto* handed = const_cast<void*>(object);
#ifdef __SANITIZE_THREAD__
  __tsan_release(handed);
#endif
  return handed;
}

inline void* TakeFromGrpc(void* object) {
#ifdef __SANITIZE_THREAD__
  __tsan_acquire(object);
#endif
  return object;
}

}  // namespace millstream

#endif  // MILLSTREAM_DISTRIBUTED_GRPC_HAND_OVER_H_
