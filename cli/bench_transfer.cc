// SPDX-License-Identifier: Apache-2.0
// Frames between two processes of this host: how long a round trip takes, and how fast a large tensor moves.
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstring>

#include "cli/bench.h"
#include "millstream/base/mutex.h"
#include "millstream/distributed/link/link_hub.h"

namespace millstream::cli {
namespace {

constexpr uint32_t kEcho = 1;  // send it back, payload and all
constexpr uint32_t kPush = 2;  // say that it has come

// Memory for payloads that is used again once its last user is gone.
class PayloadPool {
 public:
  StatusOr<Tensor> Get(uint64_t bytes) {
    for (Tensor& tensor : tensors_) {
      if (tensor.RefIsOne() && tensor.ByteSize() == bytes) return tensor;
    }
    ASSIGN_OR_RETURN(Tensor tensor, Tensor::Make(DType::kUint8, Shape({static_cast<int64_t>(bytes)})));
    std::memset(tensor.raw(), 1, bytes);
    tensors_.push_back(tensor);
    return tensor;
  }

 private:
  std::vector<Tensor> tensors_;
};

class Server : public FrameHandler {
 public:
  StatusOr<Tensor> Allocate(PeerLink&, const Frame&, uint64_t bytes) override { return pool_.Get(bytes); }
  void Receive(PeerLink& link, Frame frame) override {
    if (frame.kind == kPush) frame.payload = Tensor();
    link.Send(std::move(frame));
  }
  void Closed(PeerLink&, const Status&) override { _exit(0); }

 private:
  PayloadPool pool_;
};

// Counts answers; in a chain of round trips each answer is sent on again, from the I/O thread.
class Client : public FrameHandler {
 public:
  StatusOr<Tensor> Allocate(PeerLink&, const Frame&, uint64_t bytes) override { return pool_.Get(bytes); }
  void Receive(PeerLink& link, Frame frame) override {
    if (--left_ > 0) {
      if (!round_) link.Send(std::move(frame));
      return;
    }
    MutexLock lock(mu_);
    done_ = true;
    cv_.NotifyAll();
  }
  void Closed(PeerLink&, const Status& why) override {
    MutexLock lock(mu_);
    status_ = why;
    done_ = true;
    cv_.NotifyAll();
  }
  // `trips` round trips of `frame`, one after the other.
  Status Run(PeerLink& link, const Frame& frame, int trips) {
    Begin(trips, /*round=*/false);
    link.Send(frame);
    return Wait();
  }
  // One round trip of `frame` over each link, at once.
  Status RunRound(const std::vector<std::shared_ptr<PeerLink>>& links, const Frame& frame) {
    Begin(static_cast<int>(links.size()), /*round=*/true);
    for (const auto& link : links) link->Send(frame);
    return Wait();
  }

 private:
  void Begin(int answers, bool round) {
    left_ = answers;
    round_ = round;
    MutexLock lock(mu_);
    done_ = !status_.ok();
  }
  Status Wait() {
    MutexLock lock(mu_);
    while (!done_) cv_.Wait(mu_);
    return status_;
  }

  PayloadPool pool_;
  std::atomic<int> left_{0};
  std::atomic<bool> round_{false};
  Mutex mu_;
  CondVar cv_;
  bool done_ ABSL_GUARDED_BY(mu_) = false;
  Status status_ ABSL_GUARDED_BY(mu_);
};

LinkOptions OptionsFor(const std::string& transport) {
  LinkOptions options;
  options.shm = transport == "shm";
  options.tcp = transport == "tcp";
  return options;
}

// What the parent must know of the child's hub, in plain bytes: both are the same program.
struct Address {
  char task[64], host[128], shm[108], tcp[64], ticket[16];
};

template <size_t N>
void Copy(const std::string& from, char (&to)[N]) {
  std::memset(to, 0, N);
  std::memcpy(to, from.data(), std::min(from.size(), N));
}

[[noreturn]] void Serve(const std::string& transport, int report) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  Server server;
  auto hub = LinkHub::Start("/job:bench/replica:0/task:1", 1, OptionsFor(transport),
                            [&](const std::string&, uint64_t) -> StatusOr<FrameHandler*> { return &server; });
  if (!hub.ok()) _exit(1);
  const LinkEndpoint& endpoint = (*hub)->endpoint();
  Address address;
  Copy(endpoint.task, address.task);
  Copy(endpoint.host, address.host);
  Copy(endpoint.shm_address, address.shm);
  Copy(endpoint.tcp_address, address.tcp);
  Copy(endpoint.ticket, address.ticket);
  if (write(report, &address, sizeof(address)) != sizeof(address)) _exit(1);
  for (;;) pause();
}

StatusOr<LinkEndpoint> StartServer(const std::string& transport, pid_t* child) {
  int ends[2];
  if (pipe(ends) != 0) return errors::Unavailable("pipe: ", std::strerror(errno));
  *child = fork();
  if (*child < 0) return errors::Unavailable("fork: ", std::strerror(errno));
  if (*child == 0) Serve(transport, ends[1]);
  close(ends[1]);
  Address address;
  const ssize_t got = read(ends[0], &address, sizeof(address));
  close(ends[0]);
  if (got != sizeof(address)) return errors::Unavailable("the other process did not start");
  LinkEndpoint endpoint;
  endpoint.task = address.task;
  endpoint.incarnation = 1;
  endpoint.host = address.host;
  endpoint.process = *child;
  endpoint.shm_address = address.shm;
  endpoint.tcp_address = address.tcp;
  endpoint.ticket = std::string(address.ticket, sizeof(address.ticket));
  return endpoint;
}

void StopServer(pid_t child) {
  if (child <= 0) return;
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
}

std::string SizeName(uint64_t bytes) {
  if (bytes >= 1'000'000 && bytes % 1'000'000 == 0) return absl::StrCat(bytes / 1'000'000, "MB");
  if (bytes >= 1'000 && bytes % 1'000 == 0) return absl::StrCat(bytes / 1'000, "KB");
  return absl::StrCat(bytes, "B");
}

class Transfers {
 public:
  Transfers(const BenchOptions& options, std::string transport, PeerLink* link, Client* client)
      : options_(options), transport_(std::move(transport)), link_(*link), client_(*client) {}

  // Microseconds from sending a frame to having it back; `trips` of them run from handler to handler, without the
  // threads behind them.
  Status RoundTrip(uint64_t bytes, int trips) {
    const std::string how = trips == 1 ? "thread_round_trip_" : "round_trip_";
    ASSIGN_OR_RETURN(const double ns, Measure(how + SizeName(bytes), MakeFrame(kEcho, bytes), trips));
    if (ns > 0) Report(Name(how + SizeName(bytes)), ns / 1000 / trips, "us");
    return OkStatus();
  }
  Status OneWay(uint64_t bytes) {
    ASSIGN_OR_RETURN(const double ns, Measure("one_way_" + SizeName(bytes), MakeFrame(kPush, bytes), 1));
    if (ns > 0) Report(Name("one_way_" + SizeName(bytes)), static_cast<double>(bytes) / ns, "GB/s");
    return OkStatus();
  }

 private:
  std::string Name(const std::string& what) const { return absl::StrCat("transfer/", transport_, "/", what); }

  static Frame MakeFrame(uint32_t kind, uint64_t bytes) {
    Frame frame;
    frame.kind = kind;
    if (bytes < 1024) {
      frame.body.assign(bytes, 'x');
    } else {
      frame.payload = Tensor(DType::kUint8, Shape({static_cast<int64_t>(bytes)}));
      std::memset(frame.payload.raw(), 1, bytes);
    }
    return frame;
  }
  StatusOr<double> Measure(const std::string& what, const Frame& frame, int trips) {
    if (Name(what).find(options_.filter) == std::string::npos) return 0;
    Status status;
    const double ns = MedianNanos(options_.seconds, [&] {
      if (status.ok()) status = client_.Run(link_, frame, trips);
    });
    RETURN_IF_ERROR(status);
    return ns;
  }

  const BenchOptions& options_;
  const std::string transport_;
  PeerLink& link_;
  Client& client_;
};

Status RunAll(const BenchOptions& options, const std::string& transport, const LinkEndpoint& peer) {
  Client client;
  auto hub = LinkHub::Start("/job:bench/replica:0/task:0", 1, OptionsFor(transport),
                            [&](const std::string&, uint64_t) -> StatusOr<FrameHandler*> { return &client; });
  RETURN_IF_ERROR(hub.status());
  ASSIGN_OR_RETURN(const std::shared_ptr<PeerLink> link, (*hub)->Dial(peer, &client, std::chrono::seconds(10)));
  Transfers transfers(options, transport, link.get(), &client);
  RETURN_IF_ERROR(transfers.RoundTrip(64, 1000));
  RETURN_IF_ERROR(transfers.RoundTrip(64, 1));
  RETURN_IF_ERROR(transfers.RoundTrip(4'000, 1000));
  RETURN_IF_ERROR(transfers.RoundTrip(1'000'000, 20));
  RETURN_IF_ERROR(transfers.RoundTrip(options.bytes, 2));
  for (const uint64_t bytes : {uint64_t{1'000'000}, uint64_t{10'000'000}}) {
    if (bytes < options.bytes) RETURN_IF_ERROR(transfers.OneWay(bytes));
  }
  return transfers.OneWay(options.bytes);
}

Status RunRounds(const BenchOptions& options, const std::string& transport, const std::string& name,
                 const std::vector<LinkEndpoint>& peers) {
  Client client;
  auto hub = LinkHub::Start("/job:bench/replica:0/task:0", 1, OptionsFor(transport),
                            [&](const std::string&, uint64_t) -> StatusOr<FrameHandler*> { return &client; });
  RETURN_IF_ERROR(hub.status());
  std::vector<std::shared_ptr<PeerLink>> links;
  for (const LinkEndpoint& peer : peers) {
    ASSIGN_OR_RETURN(std::shared_ptr<PeerLink> link, (*hub)->Dial(peer, &client, std::chrono::seconds(10)));
    links.push_back(std::move(link));
  }
  Frame frame;
  frame.kind = kEcho;
  frame.body.assign(64, 'x');
  Status status;
  const double ns = MedianNanos(options.seconds, [&] {
    if (status.ok()) status = client.RunRound(links, frame);
  });
  RETURN_IF_ERROR(status);
  Report(name, ns / 1000, "us");
  return OkStatus();
}

// Sends to all of many processes and waits for all answers, as a master does that runs a step on many tasks.
Status BenchRound(const BenchOptions& options, const std::string& transport) {
  constexpr int kTasks = 63;
  const std::string name = absl::StrCat("transfer/", transport, "/round_of_", kTasks, "_64B");
  if (name.find(options.filter) == std::string::npos) return OkStatus();
  std::vector<pid_t> children(kTasks, -1);
  std::vector<LinkEndpoint> peers;
  Status status;
  for (pid_t& child : children) {
    StatusOr<LinkEndpoint> peer = StartServer(transport, &child);
    status.Update(peer.status());
    if (!status.ok()) break;
    peers.push_back(*peer);
  }
  if (status.ok()) status = RunRounds(options, transport, name, peers);
  for (const pid_t child : children) StopServer(child);
  return status;
}

Status BenchTransfer(const BenchOptions& options) {
  for (const std::string transport : {"shm", "tcp"}) {
    if (!options.transport.empty() && options.transport != transport) continue;
    pid_t child = -1;
    StatusOr<LinkEndpoint> peer = StartServer(transport, &child);
    const Status status = peer.ok() ? RunAll(options, transport, *peer) : peer.status();
    StopServer(child);
    RETURN_IF_ERROR(status);
    RETURN_IF_ERROR(BenchRound(options, transport));
  }
  return OkStatus();
}

const Registration<BenchSuite> kTransferSuite({.name = "transfer",
                                               .help = "tensors between two processes",
                                               .run = BenchTransfer});

}  // namespace
}  // namespace millstream::cli
