// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_DISTRIBUTED_LINK_IO_LOOP_H_
#define MILLSTREAM_DISTRIBUTED_LINK_IO_LOOP_H_

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "millstream/base/mutex.h"
#include "millstream/base/status.h"
#include "millstream/base/thread_policy.h"
#include "millstream/distributed/link/unique_fd.h"

namespace millstream {

inline constexpr int64_t kNever = std::numeric_limits<int64_t>::max();

// A thread that serves many members: file descriptors through epoll, memory by looking at it. Each member does a
// bounded amount of work per turn, so a large transfer does not keep the others waiting. After work it looks around for
// a while before it blocks (SpinPolicy).
class IoLoop {
 public:
  // What the loop serves. All calls come on its thread.
  class Member {
   public:
    virtual ~Member() = default;
    // epoll events of the descriptor. True: more may come this way soon, so look again at once.
    virtual bool OnEvents(uint32_t events) = 0;
    // Every turn, for members added as polled: does what there is to do without waiting; true if anything was done.
    virtual bool Poll() { return false; }
    // The loop is about to block: arranges to be woken. True: there is something to do already.
    virtual bool PrepareToSleep() { return false; }
    // When OnTimer() is wanted; asked before the loop blocks and every few milliseconds.
    virtual int64_t deadline_ns() { return kNever; }
    virtual void OnTimer(int64_t /*now*/) {}
    // The loop ends; the member must Remove() itself.
    virtual void OnStop() = 0;
  };

  // `max_spin` of zero: blocks at once.
  static StatusOr<std::shared_ptr<IoLoop>> Start(const std::string& name, std::chrono::nanoseconds max_spin);
  ~IoLoop();

  // Ends the thread after OnStop() of all members. Not on the loop's own thread.
  void Stop();
  // Runs `work` on the loop's thread, in order. False once the loop has ended: then it is not run.
  bool Post(std::function<void()> work);
  // Makes a blocked loop take another turn.
  void Wake();
  bool on_thread() const { return std::this_thread::get_id() == thread_.get_id(); }

  // Of the loop's thread only. `fd` may be -1; otherwise it stays the member's and must be open until Remove().
  Status Add(std::shared_ptr<Member> member, int fd, uint32_t events, bool polled);
  void Remove(Member* member, int fd);
  // The time at which this turn began.
  int64_t now() const { return now_; }
  // Memory that a member may use until it returns.
  std::span<char> scratch() { return scratch_; }

  // Changes the events of an added descriptor. Any thread.
  void SetEvents(Member* member, int fd, uint32_t events);

 private:
  explicit IoLoop(std::chrono::nanoseconds max_spin);
  void Run();
  bool RunPosted();
  bool PollMembers();
  bool CheckDescriptors(int timeout_ms);
  void RunTimers();
  void Block();
  void DropRemoved();
  void StopMembers();

  UniqueFd epoll_, wake_;
  std::thread thread_;
  std::atomic<bool> sleeping_{false}, has_posted_{false}, stopping_{false};

  Mutex mu_;
  std::vector<std::function<void()>> posted_ ABSL_GUARDED_BY(mu_);
  bool stopped_ ABSL_GUARDED_BY(mu_) = false;  // takes no more work

  // Of the loop's thread.
  std::vector<std::shared_ptr<Member>> members_;
  std::vector<Member*> polled_;                   // null: removed in this turn
  std::vector<std::shared_ptr<Member>> removed_;  // kept until the turn ends: an event may still name them
  std::vector<std::function<void()>> running_;
  std::vector<char> scratch_;
  SpinPolicy spin_;
  int64_t now_ = 0, next_timer_ = 0, fds_busy_until_ = 0;
  int turns_since_fds_ = 0;
};

}  // namespace millstream

#endif  // MILLSTREAM_DISTRIBUTED_LINK_IO_LOOP_H_
