// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_DISTRIBUTED_MASTER_PEERS_H_
#define MILLSTREAM_DISTRIBUTED_MASTER_PEERS_H_

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "millstream/distributed/link/link_hub.h"
#include "millstream/distributed/master/remote_task.h"

namespace millstream {

namespace proto {
class HelloResponse;
}  // namespace proto

struct PeersOptions {
  std::string task;  // who we are
  uint64_t incarnation = 0;
  std::map<std::string, std::string> addresses;  // of every other task, by name
  std::string job_id;
  RpcChannelOptions channel;
  std::chrono::milliseconds deadline{30'000};  // of the handshake and of calls
  int64_t max_tensor_bytes = int64_t{64} << 30;
  bool grpc_links = true;                           // where shared memory and TCP do not get through
  LinkOptions links;                                // keep-alive of those
  const FrameRouter* router = nullptr;              // who takes the frames that links bring; borrowed
  Cancellation* stop = nullptr;                     // ends WaitFor(); null: nobody does
  std::function<void(bool job_done)> on_ps_answer;  // what a ps says of the job, when it is asked; null: nobody looks
};

// The other tasks of the cluster, connected when somebody first needs them and again after they were lost. Thread-safe.
class Peers {
 public:
  // `hub` is borrowed. It must be gone before this is: its links call the tasks.
  Peers(PeersOptions options, LinkHub* hub);
  ~Peers();

  // A task of the server's cluster, or one that a session has given an address and a name that it need not know.
  struct PeerTask {
    std::string task;
    std::string address;  // "": where the server's cluster has it
    bool renamed() const { return !address.empty(); }
  };
  // The task as it is now, with a link to it. Unavailable or DeadlineExceeded if it does not answer, FailedPrecondition
  // or PermissionDenied if somebody else does; NotFound if the cluster has no such task. May block up to `deadline`, or
  // until `cancellation` (optional) is cancelled.
  StatusOr<std::shared_ptr<RemoteTask>> Connect(const PeerTask& peer, std::chrono::milliseconds deadline,
                                                Cancellation* cancellation = nullptr);
  // Waits until all of these are up, and returns them without those of which a ps says that they have left after a
  // training that ended well. Says who is missing every 30 s. Ends when `cancellation` (optional) or the task's `stop`
  // is cancelled or at `deadline`; FailedPrecondition if a ps says that the job is done.
  StatusOr<std::vector<std::shared_ptr<RemoteTask>>> WaitFor(const std::vector<PeerTask>& tasks,
                                                             Cancellation* cancellation,
                                                             std::chrono::steady_clock::time_point deadline);
  // The link for edges to a task; Aborted if it is not that incarnation (0: any).
  StatusOr<std::shared_ptr<PeerLink>> LinkTo(const PeerTask& peer, uint64_t incarnation);
  // Closes the links to tasks that do not answer within `patience`: they were stopped, or hang. Returns their names
  // with their addresses.
  std::vector<std::string> DropSilent(std::chrono::milliseconds patience);

  const std::map<std::string, std::string>& addresses() const { return options_.addresses; }

 private:
  struct Entry {
    Mutex mu;  // held while connecting
    std::shared_ptr<RpcChannel> channel;
    std::shared_ptr<RemoteTask> task;
  };
  // Where it is. NotFound if the cluster has no such task.
  StatusOr<std::string> AddressOf(const PeerTask& peer) const;
  StatusOr<std::shared_ptr<RemoteTask>> Dial(const PeerTask& peer, const std::string& address, Entry& entry,
                                             std::chrono::milliseconds deadline, Cancellation* cancellation);
  // The task's answer. FailedPrecondition if it is a ps of the server's cluster that says that the job is done.
  Status Hello(const PeerTask& peer, RpcChannel& channel, bool want_endpoint, const RpcCallOptions& call,
               proto::HelloResponse* response) const;
  // Where WaitFor() stands.
  struct Found {
    std::vector<std::shared_ptr<RemoteTask>> tasks;  // null: missing, or left
    std::set<std::string> left;                      // after a training that ended well
    std::vector<PeerTask> missing;
    Status cause;  // of the last of them
  };
  std::string Missing(const Found& found) const;  // with their addresses
  // Tries once to connect those that are not there yet.
  Status TryConnect(const std::vector<PeerTask>& tasks, std::chrono::steady_clock::time_point deadline,
                    Cancellation* cancellation, Found* found);
  Status AskWhoHasLeft(const std::vector<std::shared_ptr<RemoteTask>>& tasks, std::set<std::string>* left) const;
  // By the hub, or through the gRPC port.
  StatusOr<std::shared_ptr<PeerLink>> DialLink(const LinkEndpoint& endpoint, const std::shared_ptr<RpcChannel>& channel,
                                               FrameHandler* handler, std::chrono::milliseconds deadline);
  void Forget();

  const PeersOptions options_;
  LinkHub* const hub_;
  Mutex mu_;
  std::map<std::string, std::shared_ptr<Entry>> entries_ ABSL_GUARDED_BY(mu_);  // by name, or address if renamed
  // Links call these until they have ended.
  std::vector<std::shared_ptr<RemoteTask>> kept_ ABSL_GUARDED_BY(mu_);
};

}  // namespace millstream

#endif  // MILLSTREAM_DISTRIBUTED_MASTER_PEERS_H_
