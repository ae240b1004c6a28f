// SPDX-License-Identifier: Apache-2.0
// Both sides of a link's handshake, from the first byte, and what follows it, against a peer that an input speaks for
// (testing/scripted_peer.h). Nobody gets a link without the proof; a dialer gives its memory to nobody who has not
// proven that it knows the secret; whoever leaves is let go; a proper peer still gets through.
//
// The first byte of an input chooses the side, the transport and whether the job has a token; moves follow.
#include <sys/socket.h>

#include <thread>

#include "millstream/base/logging.h"
#include "millstream/base/mutex.h"
#include "millstream/distributed/link/handshake.h"
#include "millstream/distributed/link/testing/scripted_peer.h"

namespace millstream {
namespace {

using std::chrono::seconds;
using testing::AnsweringPeer;
using testing::DialingPeer;
using testing::Script;
using testing::ScriptedPeer;

constexpr seconds kPatience(20);

Deadline Patience() { return std::chrono::steady_clock::now() + kPatience; }

// Counts the links of a hub.
class Links final : public FrameHandler {
 public:
  StatusOr<Tensor> Allocate(PeerLink&, const Frame& frame, uint64_t bytes) override {
    if (bytes > 65536 || frame.kind % 4 == 0) return errors::ResourceExhausted("too large");
    return Tensor::Make(DType::kUint8, Shape({static_cast<int64_t>(bytes)}));
  }
  void Receive(PeerLink& link, Frame frame) override {
    if (frame.kind % 4 == 1) link.Send(std::move(frame));
  }
  void Opened(PeerLink& link) override {
    MS_CHECK(link.peer() == ScriptedPeer::kTask && link.peer_incarnation() == ScriptedPeer::kIncarnation);
    MutexLock lock(mu_);
    ++opened_;
    ++open_;
  }
  void Closed(PeerLink&, const Status& why) override {
    MS_CHECK(!why.ok());
    MutexLock lock(mu_);
    --open_;
    changed_.NotifyAll();
  }
  // How many were opened since it was asked last, once all of them have ended.
  int AwaitEnd() {
    MutexLock lock(mu_);
    while (open_ > 0) MS_CHECK(changed_.WaitUntil(mu_, Patience()));
    return std::exchange(opened_, 0);
  }

 private:
  Mutex mu_;
  CondVar changed_;
  int opened_ ABSL_GUARDED_BY(mu_) = 0, open_ ABSL_GUARDED_BY(mu_) = 0;
};

struct Hub {
  Hub(bool with_shm, std::string job_token) : shm(with_shm), token(std::move(job_token)) {
    LinkOptions options;
    options.shm = shm;
    options.tcp = !shm;
    options.token = token;
    options.admission.token = !token.empty();
    options.spin = std::chrono::microseconds(0);
    hub = *LinkHub::Start("/job:ps/replica:0/task:0", 3, options,
                          [this](const std::string&, uint64_t) -> StatusOr<FrameHandler*> { return &links; });
  }
  UniqueFd Connect() const {
    const LinkEndpoint& endpoint = hub->endpoint();
    auto socket = shm ? ConnectUnix(endpoint.shm_address, Patience()) : ConnectTcp(endpoint.tcp_address, Patience());
    MS_CHECK(socket.ok());
    return *std::move(socket);
  }

  const bool shm;
  const std::string token;
  Links links;
  std::unique_ptr<LinkHub> hub;
};

bool FuzzAcceptor(Hub& hub, Script script) {
  DialingPeer peer(hub.hub->endpoint(), hub.Connect(), hub.shm, hub.token);
  peer.Play(script);
  MS_CHECK(hub.links.AwaitEnd() == (peer.linked() ? 1 : 0));
  return peer.linked();
}

void FuzzDialer(Hub& hub, Script script) {
  LinkEndpoint endpoint;
  endpoint.task = ScriptedPeer::kTask;
  endpoint.incarnation = ScriptedPeer::kIncarnation;
  endpoint.host = hub.hub->endpoint().host;
  endpoint.ticket.assign(kTicketBytes, 't');
  int port = 0;
  const auto listener = hub.shm ? ListenUnix(&endpoint.shm_address) : ListenTcp("127.0.0.1", &port);
  MS_CHECK(listener.ok());
  if (!hub.shm) endpoint.tcp_address = JoinHostPort("127.0.0.1", port);
  StatusOr<std::shared_ptr<PeerLink>> link = errors::Unavailable("not dialed");
  std::thread dialing([&] { link = hub.hub->Dial(endpoint, &hub.links, kPatience); });
  testing::AwaitReadable(listener->get());
  AnsweringPeer peer(UniqueFd(accept4(listener->get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC)), hub.shm,
                     hub.token, endpoint.ticket);
  peer.Play(script);
  dialing.join();
  MS_CHECK(link.ok() ? peer.proven() : !peer.linked());
  MS_CHECK(hub.links.AwaitEnd() == (link.ok() ? 1 : 0));
}

}  // namespace
}  // namespace millstream

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using millstream::Hub;
  using millstream::Script;
  if (size < 2) return 0;
  static Hub* const hubs[] = {new Hub(false, ""), new Hub(true, ""), new Hub(false, "token"), new Hub(true, "token")};
  Hub& hub = *hubs[data[0] / 2 % 4];
  const Script script(data + 1, size - 1);
  if ((data[0] & 1) != 0)
    millstream::FuzzDialer(hub, script);
  else
    millstream::FuzzAcceptor(hub, script);
  // After so many strangers a proper peer still gets through: a hello, then a proof.
  constexpr uint8_t kProperPeer[] = {1, 0, 1, 0, 0};
  static int runs = 0;
  if (++runs % 256 == 0) MS_CHECK(millstream::FuzzAcceptor(hub, Script(kProperPeer, sizeof(kProperPeer))));
  return 0;
}
