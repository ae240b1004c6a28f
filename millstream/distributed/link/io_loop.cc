// SPDX-License-Identifier: Apache-2.0
#include "millstream/distributed/link/io_loop.h"

#include <pthread.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "millstream/base/logging.h"

namespace millstream {
namespace {

constexpr int kMaxEvents = 64;
constexpr size_t kScratchBytes = size_t{64} << 10;
// While only memory is busy, descriptors are asked every so many turns: a system call costs as much as 50 looks.
constexpr int kTurnsPerCheck = 16;
constexpr int64_t kBusyTime = 100'000;        // for which a busy descriptor is asked every turn
constexpr int64_t kTimerPeriod = 10'000'000;  // of a busy loop

Status SystemError(const char* what) { return errors::Unavailable(what, ": ", std::strerror(errno)); }

}  // namespace

IoLoop::IoLoop(std::chrono::nanoseconds max_spin) : scratch_(kScratchBytes), spin_(max_spin.count()) {}

StatusOr<std::shared_ptr<IoLoop>> IoLoop::Start(const std::string& name, std::chrono::nanoseconds max_spin) {
  std::shared_ptr<IoLoop> loop(new IoLoop(max_spin));
  loop->epoll_ = UniqueFd(epoll_create1(EPOLL_CLOEXEC));
  loop->wake_ = UniqueFd(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!loop->epoll_ || !loop->wake_) return SystemError("cannot start an I/O thread");
  epoll_event event = {};
  event.events = EPOLLIN;
  event.data.ptr = nullptr;
  if (epoll_ctl(loop->epoll_.get(), EPOLL_CTL_ADD, loop->wake_.get(), &event) != 0) return SystemError("epoll_ctl");
  loop->thread_ = std::thread([raw = loop.get()] { raw->Run(); });
  pthread_setname_np(loop->thread_.native_handle(), name.substr(0, 15).c_str());
  return loop;
}

IoLoop::~IoLoop() { Stop(); }

void IoLoop::Stop() {
  if (!thread_.joinable()) return;
  stopping_.store(true, std::memory_order_relaxed);
  has_posted_.store(true, std::memory_order_seq_cst);
  Wake();
  thread_.join();
}

bool IoLoop::Post(std::function<void()> work) {
  {
    MutexLock lock(mu_);
    if (stopped_) return false;
    posted_.push_back(std::move(work));
    has_posted_.store(true, std::memory_order_seq_cst);
  }
  Wake();
  return true;
}

void IoLoop::Wake() {
  if (!sleeping_.load(std::memory_order_seq_cst) || !sleeping_.exchange(false, std::memory_order_seq_cst)) return;
  const uint64_t one = 1;
  // Can only fail when the counter is full, and then the loop is awake anyway.
  [[maybe_unused]] const ssize_t written = ::write(wake_.get(), &one, sizeof(one));
}

Status IoLoop::Add(std::shared_ptr<Member> member, int fd, uint32_t events, bool polled) {
  if (fd >= 0) {
    epoll_event event = {};
    event.events = events;
    event.data.ptr = member.get();
    if (epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) != 0) return SystemError("epoll_ctl");
  }
  if (polled) polled_.push_back(member.get());
  members_.push_back(std::move(member));
  next_timer_ = 0;
  return OkStatus();
}

void IoLoop::SetEvents(Member* member, int fd, uint32_t events) {
  epoll_event event = {};
  event.events = events;
  event.data.ptr = member;
  epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, fd, &event);
}

void IoLoop::Remove(Member* member, int fd) {
  const auto it = std::find_if(members_.begin(), members_.end(), [&](const auto& m) { return m.get() == member; });
  if (it == members_.end()) return;
  if (fd >= 0) epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, fd, nullptr);
  std::replace(polled_.begin(), polled_.end(), member, static_cast<Member*>(nullptr));
  removed_.push_back(std::move(*it));
  *it = std::move(members_.back());
  members_.pop_back();
}

void IoLoop::Run() {
  for (;;) {
    now_ = NowNanos();
    bool worked = RunPosted();
    if (stopping_.load(std::memory_order_relaxed)) break;
    worked |= PollMembers();
    if (now_ < fds_busy_until_ || ++turns_since_fds_ >= kTurnsPerCheck) worked |= CheckDescriptors(0);
    if (now_ >= next_timer_) RunTimers();
    DropRemoved();
    if (worked) {
      spin_.Worked(now_);
    } else if (spin_.ShouldSpin(now_)) {
      spin_.Relax(now_);
    } else {
      Block();
    }
  }
  StopMembers();
}

bool IoLoop::RunPosted() {
  if (!has_posted_.load(std::memory_order_acquire)) return false;
  {
    MutexLock lock(mu_);
    running_.swap(posted_);
    has_posted_.store(false, std::memory_order_relaxed);
  }
  const bool any = !running_.empty();
  for (std::function<void()>& work : running_) work();
  running_.clear();
  return any;
}

bool IoLoop::PollMembers() {
  bool worked = false;
  // By index, since members may come and go meanwhile. NOLINTNEXTLINE(modernize-loop-convert)
  for (size_t i = 0; i < polled_.size(); ++i) {
    if (polled_[i] != nullptr) worked |= polled_[i]->Poll();
  }
  return worked;
}

bool IoLoop::CheckDescriptors(int timeout_ms) {
  turns_since_fds_ = 0;
  epoll_event events[kMaxEvents];
  const int n = epoll_wait(epoll_.get(), events, kMaxEvents, timeout_ms);
  if (timeout_ms != 0) now_ = NowNanos();
  for (int i = 0; i < n; ++i) {
    Member* member = static_cast<Member*>(events[i].data.ptr);
    if (member == nullptr) {
      uint64_t count;
      [[maybe_unused]] const ssize_t got = ::read(wake_.get(), &count, sizeof(count));
      continue;
    }
    const bool gone = std::any_of(removed_.begin(), removed_.end(), [&](const auto& m) { return m.get() == member; });
    if (!gone && member->OnEvents(events[i].events)) fds_busy_until_ = now_ + kBusyTime;
  }
  return n > 0;
}

void IoLoop::RunTimers() {
  int64_t next = now_ + kTimerPeriod;
  // NOLINTNEXTLINE(modernize-loop-convert): as above
  for (size_t i = 0; i < members_.size(); ++i) {
    if (members_[i]->deadline_ns() <= now_) {
      const std::shared_ptr<Member> member = members_[i];  // it may remove itself
      member->OnTimer(now_);
    }
  }
  for (const auto& member : members_) next = std::min(next, member->deadline_ns());
  next_timer_ = std::max(next, now_ + 1'000);
}

void IoLoop::Block() {
  const int64_t slept_from = now_;
  sleeping_.store(true, std::memory_order_seq_cst);
  bool work = has_posted_.load(std::memory_order_seq_cst);
  for (Member* member : polled_) {
    if (member != nullptr) work |= member->PrepareToSleep();
  }
  int64_t deadline = kNever;
  for (const auto& member : members_) deadline = std::min(deadline, member->deadline_ns());
  next_timer_ = std::min(deadline, now_ + kTimerPeriod);
  int timeout_ms = -1;
  if (work) {
    timeout_ms = 0;
  } else if (deadline != kNever) {
    timeout_ms = static_cast<int>(std::clamp<int64_t>((deadline - now_ + 999'999) / 1'000'000, 0, 3'600'000));
  }
  const bool events = CheckDescriptors(timeout_ms);
  sleeping_.store(false, std::memory_order_seq_cst);
  now_ = NowNanos();
  spin_.Woke(now_, now_ - slept_from, work || events);
}

void IoLoop::DropRemoved() {
  if (removed_.empty()) return;
  polled_.erase(std::remove(polled_.begin(), polled_.end(), nullptr), polled_.end());
  removed_.clear();
}

void IoLoop::StopMembers() {
  for (;;) {
    while (!members_.empty()) {
      const std::shared_ptr<Member> member = members_.back();
      member->OnStop();
      MS_CHECK(members_.empty() || members_.back() != member);
    }
    DropRemoved();
    {
      MutexLock lock(mu_);
      if (posted_.empty()) {
        stopped_ = true;
        return;
      }
    }
    RunPosted();  // may bring new members
  }
}

}  // namespace millstream
