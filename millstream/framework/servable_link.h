// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_FRAMEWORK_SERVABLE_LINK_H_
#define MILLSTREAM_FRAMEWORK_SERVABLE_LINK_H_

namespace millstream {

// A PeerLink that a thread may serve while it waits for frames of it and has nothing else to do: waking the link's I/O
// thread, and then the one that waits, takes longer than most frames. Thread-safe.
class ServableLink {
 public:
  // Does what the I/O thread would do, on the calling thread: reads what has come, hands it to the handler, writes what
  // is queued. Returns true if anything came. The I/O thread then leaves the link alone until StopServing(), or until
  // some milliseconds after the last call. The handler is called by one thread at a time, frames in order. Not for
  // handlers.
  virtual bool Serve() = 0;
  virtual void StopServing() = 0;

 protected:
  ~ServableLink() = default;
};

}  // namespace millstream

#endif  // MILLSTREAM_FRAMEWORK_SERVABLE_LINK_H_
