// SPDX-License-Identifier: Apache-2.0
#include "millstream/distributed/link/link_hub.h"

#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "millstream/base/logging.h"
#include "millstream/base/notification.h"
#include "millstream/base/random.h"
#include "millstream/distributed/link/acceptor.h"
#include "millstream/distributed/link/dialer.h"
#include "millstream/distributed/link/handshake.h"
#include "millstream/distributed/link/hub_core.h"
#include "millstream/distributed/link/hub_registry.h"
#include "millstream/distributed/link/sockets.h"
#include "millstream/distributed/trust/hmac.h"
#include "millstream/tensor/shared_region.h"

namespace millstream {
namespace {

// Runs `work` on the loop's thread and waits for it.
Status RunOn(IoLoop& loop, const std::function<Status()>& work) {
  Notification done;
  Status status;
  if (!loop.Post([&] {
        status = work();
        done.Notify();
      })) {
    return errors::Unavailable("the hub is shut down");
  }
  done.Wait();
  return status;
}

// A wildcard is no address that anybody could dial.
std::string AdvertisedHost(const LinkOptions& options) {
  if (!options.advertised_address.empty()) return options.advertised_address;
  if (options.bind_address != "0.0.0.0" && options.bind_address != "::") return options.bind_address;
  char name[256] = {};
  return gethostname(name, sizeof(name) - 1) == 0 ? name : options.bind_address;
}

class Hub final : public LinkHub {
 public:
  explicit Hub(std::shared_ptr<HubCore> core) : core_(std::move(core)) {}
  ~Hub() override;

  Status Open();
  const LinkEndpoint& endpoint() const override { return core_->endpoint; }
  StatusOr<std::shared_ptr<PeerLink>> Dial(const LinkEndpoint& peer, FrameHandler* handler,
                                           std::chrono::milliseconds deadline) override;

 private:
  Status Listen(UniqueFd listener, bool shm);

  const std::shared_ptr<HubCore> core_;
  std::vector<std::shared_ptr<Acceptor>> acceptors_;
};

Status Hub::Open() {
  const int threads = std::clamp(core_->options.io_threads, 1, 64);
  for (int i = 0; i < threads; ++i) {
    ASSIGN_OR_RETURN(std::shared_ptr<IoLoop> loop, IoLoop::Start("millstream_io", core_->options.spin));
    core_->loops.push_back(std::move(loop));
  }
  LinkEndpoint& endpoint = core_->endpoint;
  endpoint.host = HostId();
  endpoint.process = getpid();
  endpoint.hub = RandomNumber();
  endpoint.ticket = RandomBytes(kTicketBytes);
  UniqueFd unix_listener, tcp_listener;
  if (core_->options.shm) {
    StatusOr<UniqueFd> listener = ListenUnix(&endpoint.shm_address);
    if (!listener.ok() && !core_->options.tcp) return listener.status();
    if (!listener.ok()) {
      LogWarning(absl::StrCat("no links through shared memory: ", listener.status().message()));
      endpoint.shm_address.clear();
    } else {
      unix_listener = *std::move(listener);
    }
  }
  if (core_->options.tcp) {
    int port = 0;
    ASSIGN_OR_RETURN(tcp_listener, ListenTcp(core_->options.bind_address, &port));
    endpoint.tcp_address = JoinHostPort(AdvertisedHost(core_->options), port);
  }
  if (unix_listener) RETURN_IF_ERROR(Listen(std::move(unix_listener), /*shm=*/true));
  if (tcp_listener) RETURN_IF_ERROR(Listen(std::move(tcp_listener), /*shm=*/false));
  if (core_->options.neighbours != nullptr) core_->options.neighbours->Add(core_);
  return OkStatus();
}

Status Hub::Listen(UniqueFd listener, bool shm) {
  auto acceptor = std::make_shared<Acceptor>(core_, std::move(listener), shm);
  acceptors_.push_back(acceptor);
  return RunOn(*core_->loops[0], [&] { return acceptor->Start(); });
}

StatusOr<std::shared_ptr<PeerLink>> Hub::Dial(const LinkEndpoint& peer, FrameHandler* handler,
                                              std::chrono::milliseconds deadline) {
  return DialPeer(core_, peer, handler, std::chrono::steady_clock::now() + deadline);
}

Hub::~Hub() {
  if (core_->options.neighbours != nullptr) core_->options.neighbours->Remove(core_.get());
  for (const auto& acceptor : acceptors_) {
    core_->loops[0]->Post([acceptor] { acceptor->OnStop(); });
  }
  const Status why = errors::Cancelled("the links of ", core_->endpoint.task, " are shut down");
  for (const std::shared_ptr<PeerLink>& link : core_->links->All()) link->CloseAfterQueue(why);
  core_->links->WaitUntilEmpty(std::chrono::steady_clock::now() + core_->options.linger);
  for (const auto& loop : core_->loops) loop->Stop();
}

}  // namespace

StatusOr<std::unique_ptr<LinkHub>> LinkHub::Start(std::string task, uint64_t incarnation, const LinkOptions& options,
                                                  Accept accept) {
  if (task.empty() || task.size() > kMaxTaskName)
    return errors::InvalidArgument("a task name of ", task.size(), " bytes");
  auto core = std::make_shared<HubCore>();
  core->endpoint.task = std::move(task);
  core->endpoint.incarnation = incarnation;
  core->options = options;
  core->accept = std::move(accept);
  if (options.shm && options.lend) SharedRegion::Enable();
  auto hub = std::make_unique<Hub>(core);
  RETURN_IF_ERROR(hub->Open());
  return std::unique_ptr<LinkHub>(std::move(hub));
}

}  // namespace millstream
