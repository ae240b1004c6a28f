// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_DISTRIBUTED_WIRE_LONG_CALL_H_
#define MILLSTREAM_DISTRIBUTED_WIRE_LONG_CALL_H_

namespace millstream {

// Handlers of calls run on the thread that reads the network (rpc.h). One that is about to block or to compute for long
// says so: other calls then wait two milliseconds for another thread to read, not twenty or more. Does nothing on other
// threads.
void ExpectLongCall();

}  // namespace millstream

#endif  // MILLSTREAM_DISTRIBUTED_WIRE_LONG_CALL_H_
