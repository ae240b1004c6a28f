// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_DISTRIBUTED_LINK_INPROC_LINK_H_
#define MILLSTREAM_DISTRIBUTED_LINK_INPROC_LINK_H_

#include <atomic>
#include <memory>
#include <utility>

#include "millstream/base/mutex.h"
#include "millstream/distributed/link/frame_queue.h"
#include "millstream/distributed/link/io_loop.h"
#include "millstream/distributed/link/wire_link.h"

namespace millstream {

// One end of a link between two hubs of one process. Frames are handed over as they are, tensor and all, and delivered
// on the receiving hub's I/O thread, never inside Send(): a sender may hold locks that the receiving handler wants.
class InprocLink final : public PeerLink, public IoLoop::Member {
 public:
  // Each end is started on its own loop.
  static std::pair<std::shared_ptr<InprocLink>, std::shared_ptr<InprocLink>> MakePair(LinkParts a, LinkParts b);

  void Start();
  void Send(Frame frame) override;
  void Close(Status why) override;
  void CloseAfterQueue(Status why) override;
  const char* transport() const override { return "inproc"; }
  int64_t last_heard_ns() const override { return NowNanos(); }
  size_t queued_frames() override;

  bool OnEvents(uint32_t /*events*/) override { return false; }
  bool Poll() override;
  bool PrepareToSleep() override;
  int64_t deadline_ns() override;
  void OnStop() override;

 private:
  // One direction.
  struct Pipe {
    std::shared_ptr<IoLoop> reader_loop;
    std::atomic<bool> any{false};  // something for the reader to look at
    Mutex mu;
    FrameQueue queue ABSL_GUARDED_BY(mu);
    int64_t frames ABSL_GUARDED_BY(mu) = 0;
    bool ended ABSL_GUARDED_BY(mu) = false;   // nothing is added any more
    bool closed ABSL_GUARDED_BY(mu) = false;  // by the writer, not by what happened to the link
    Status why ABSL_GUARDED_BY(mu);           // for the reader, once it has read the rest
  };

  InprocLink(LinkParts parts, std::shared_ptr<Pipe> in, std::shared_ptr<Pipe> out);
  // The next frame that is due; false if there is none. Sets *ended once nothing more can come.
  bool Next(Frame* frame, bool* ended, Status* why);
  // Ends the direction to the peer, if it has not ended.
  void EndOutput(const Status& why, bool drop_queue);
  void CloseHere(const Status& why, bool drop_queue);
  void Finish(const Status& why);

  const std::shared_ptr<IoLoop> loop_;
  const std::shared_ptr<LinkSet> set_;
  FrameHandler* const handler_;
  const LinkOptions options_;
  const std::shared_ptr<Pipe> in_, out_;
  bool finished_ = false;  // of the loop's thread
};

}  // namespace millstream

#endif  // MILLSTREAM_DISTRIBUTED_LINK_INPROC_LINK_H_
