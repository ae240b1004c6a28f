// SPDX-License-Identifier: Apache-2.0
#include "millstream/distributed/link/testing/link_peers.h"

#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <thread>

#include "millstream/base/notification.h"
#include "millstream/distributed/link/hub_registry.h"

namespace millstream::testing {
namespace {

using Clock = std::chrono::steady_clock;
constexpr auto kPatience = std::chrono::seconds(20);

void PutString(std::string* out, const std::string& s) {
  const auto size = static_cast<uint32_t>(s.size());
  out->append(reinterpret_cast<const char*>(&size), sizeof(size));
  out->append(s);
}

std::string ReadBytes(int fd, size_t size) {
  std::string bytes(size, '\0');
  for (size_t have = 0; have < size;) {
    const ssize_t n = read(fd, bytes.data() + have, size - have);
    if (n <= 0) return "";
    have += static_cast<size_t>(n);
  }
  return bytes;
}

std::string GetString(int fd) {
  const std::string head = ReadBytes(fd, sizeof(uint32_t));
  uint32_t size = 0;
  if (head.size() == sizeof(size)) std::memcpy(&size, head.data(), sizeof(size));
  return ReadBytes(fd, size);
}

}  // namespace

StatusOr<Tensor> Recorder::Allocate(PeerLink&, const Frame& frame, uint64_t bytes) {
  if (const auto function = on_payload.get()) return (*function)(frame, bytes);
  return Tensor::Make(DType::kUint8, Shape({static_cast<int64_t>(bytes)}));
}

void Recorder::Receive(PeerLink& link, Frame frame) {
  if (const auto function = on_frame.get()) return (*function)(link, std::move(frame));
  MutexLock lock(mu_);
  frames_.push_back(std::move(frame));
  cv_.NotifyAll();
}

void Recorder::Opened(PeerLink& link) {
  MutexLock lock(mu_);
  link_ = link.shared_from_this();
  cv_.NotifyAll();
}

void Recorder::Closed(PeerLink&, const Status& why) {
  MutexLock lock(mu_);
  closed_.push_back(why);
  cv_.NotifyAll();
}

std::vector<Frame> Recorder::WaitForFrames(size_t count) {
  MutexLock lock(mu_);
  const auto deadline = Clock::now() + kPatience;
  while (frames_.size() < count && cv_.WaitUntil(mu_, deadline)) {
  }
  return frames_;
}

Status Recorder::WaitForClose(std::chrono::milliseconds patience) {
  MutexLock lock(mu_);
  const auto deadline = Clock::now() + patience;
  while (closed_.empty() && cv_.WaitUntil(mu_, deadline)) {
  }
  return closed_.empty() ? absl::UnknownError("still open") : closed_.front();
}

std::shared_ptr<PeerLink> Recorder::WaitForLink() {
  MutexLock lock(mu_);
  const auto deadline = Clock::now() + kPatience;
  while (link_ == nullptr && cv_.WaitUntil(mu_, deadline)) {
  }
  return std::exchange(link_, nullptr);
}

int Recorder::closes() {
  MutexLock lock(mu_);
  return static_cast<int>(closed_.size());
}

LinkOptions OptionsFor(const std::string& transport) {
  LinkOptions options;
  static const auto* const registry = new std::shared_ptr<HubRegistry>(std::make_shared<HubRegistry>());
  if (transport == "inproc") options.neighbours = *registry;
  options.shm = transport == "shm";
  options.tcp = transport == "tcp";
  return options;
}

std::unique_ptr<LinkHub> StartHub(const std::string& task, const LinkOptions& options, FrameHandler* handler) {
  auto hub = LinkHub::Start(task, 7, options,
                            [handler](const std::string&, uint64_t) -> StatusOr<FrameHandler*> { return handler; });
  EXPECT_TRUE(hub.ok()) << hub.status();
  return hub.ok() ? *std::move(hub) : nullptr;
}

Frame MakeFrame(uint64_t step, std::string body) {
  Frame frame;
  frame.kind = 3;
  frame.edge = 4;
  frame.step = step;
  frame.tag = 5;
  frame.body = std::move(body);
  return frame;
}

Tensor Pattern(int64_t bytes) {
  Tensor tensor(DType::kUint8, Shape({bytes}));
  auto* data = static_cast<unsigned char*>(tensor.raw());
  for (int64_t i = 0; i < bytes; ++i) data[i] = static_cast<unsigned char>(i * 31 + (i >> 16));
  return tensor;
}

bool IsPattern(const Tensor& tensor) {
  const auto* data = static_cast<const unsigned char*>(tensor.raw());
  bool same = true;
  for (int64_t i = 0; i < tensor.num_elements(); ++i) same &= data[i] == static_cast<unsigned char>(i * 31 + (i >> 16));
  return same;
}

void ExpectMemoryBackAfterAnEndAmidAPayload(PeerLink& near_link, Recorder& far) {
  const auto released = std::make_shared<Notification>();
  far.on_payload = [&near_link, released](const Frame&, uint64_t bytes) -> StatusOr<Tensor> {
    near_link.Close(errors::Aborted("enough"));
    auto memory = std::make_shared<std::vector<char>>(bytes);
    char* const data = memory->data();
    return Tensor::Wrap(DType::kUint8, Shape({static_cast<int64_t>(bytes)}), data,
                        [memory = std::move(memory), released] { released->Notify(); });
  };
  Frame frame = MakeFrame(1);
  frame.payload = Pattern(int64_t{64} << 20);
  near_link.Send(std::move(frame));
  EXPECT_FALSE(far.WaitForClose().ok());
  EXPECT_TRUE(released->WaitUntil(Clock::now() + kPatience));
}

uint64_t BytesSentOnceStuck(PeerLink& link) {
  uint64_t sent = link.counters().bytes_sent;
  for (int unchanged = 0; unchanged < 50;) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    const uint64_t now = link.counters().bytes_sent;
    unchanged = now == sent && now > 0 ? unchanged + 1 : 0;
    sent = now;
  }
  return sent;
}

LinkedPair::LinkedPair(const LinkOptions& near_options, const LinkOptions& far_options) {
  near_hub = StartHub("/job:worker/replica:0/task:0", near_options, &near);
  far_hub = StartHub("/job:ps/replica:0/task:0", far_options, &far);
  auto link = near_hub->Dial(far_hub->endpoint(), &near, kPatience);
  EXPECT_TRUE(link.ok()) << link.status();
  if (link.ok()) near_link = *link;
  far_link = far.WaitForLink();
}

ChildHub::ChildHub(const LinkOptions& options) {
  int pipe_ends[2];
  EXPECT_EQ(pipe(pipe_ends), 0);
  pid_ = fork();
  if (pid_ == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    auto* echo = new Recorder;
    echo->on_frame = [](PeerLink& link, Frame frame) { link.Send(std::move(frame)); };
    std::unique_ptr<LinkHub> hub = StartHub("/job:ps/replica:0/task:1", options, echo);
    const LinkEndpoint& e = hub->endpoint();
    std::string out;
    for (const std::string& s : {e.task, e.host, e.shm_address, e.tcp_address, e.ticket}) PutString(&out, s);
    if (write(pipe_ends[1], out.data(), out.size()) != static_cast<ssize_t>(out.size())) _exit(1);
    for (;;) pause();
  }
  close(pipe_ends[1]);
  for (std::string* s :
       {&endpoint_.task, &endpoint_.host, &endpoint_.shm_address, &endpoint_.tcp_address, &endpoint_.ticket}) {
    *s = GetString(pipe_ends[0]);
  }
  close(pipe_ends[0]);
  endpoint_.incarnation = 7;
  endpoint_.process = pid_;
}

ChildHub::~ChildHub() {
  kill(pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
}

}  // namespace millstream::testing
