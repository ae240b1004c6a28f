// SPDX-License-Identifier: Apache-2.0
#include "millstream/distributed/master/master.h"

#include <algorithm>

#include "absl/strings/str_format.h"
#include "millstream/base/logging.h"
#include "millstream/base/random.h"
#include "millstream/distributed/cluster/cluster_spec.h"
#include "millstream/distributed/master/renamed_task.h"
#include "millstream/framework/device_name.h"

namespace millstream {
namespace {

constexpr auto kLookAfterClients = std::chrono::seconds(1);
constexpr auto kAskPatience = std::chrono::seconds(2);

// True if some device of `task` may fit one of the filters; no filters admit everything.
StatusOr<bool> Admitted(const std::string& task, const std::vector<std::string>& filters) {
  if (filters.empty()) return true;
  ASSIGN_OR_RETURN(const DeviceName name, DeviceName::Parse(task));
  for (const std::string& filter : filters) {
    ASSIGN_OR_RETURN(DeviceName wanted, DeviceName::Parse(filter));
    wanted.type.reset();
    wanted.index.reset();
    if (wanted.Matches(name)) return true;
  }
  return false;
}

std::vector<std::string> FiltersOf(const proto::ConfigProto& config) {
  return {config.device_filters().begin(), config.device_filters().end()};
}

}  // namespace

Master::Master(Worker* worker, Peers* peers, TaskObserver* observer, const MasterLimits& limits)
    : worker_(worker),
      peers_(peers),
      observer_(observer),
      limits_(limits),
      local_(std::make_shared<LocalTask>(worker)),
      next_step_(RandomNumber()) {
  clients_ = std::thread([this] { WatchClients(); });
}

Master::~Master() {
  quit_.Notify();
  clients_.join();
  std::unordered_map<std::string, std::shared_ptr<MasterSession>> sessions;
  {
    MutexLock lock(mu_);
    sessions.swap(sessions_);
  }
  for (auto& [handle, session] : sessions) session->Close().IgnoreError();
}

void Master::WatchClients() {
  while (!quit_.WaitUntil(std::chrono::steady_clock::now() + kLookAfterClients))
    LookAfterClients(std::chrono::steady_clock::now());
}

void Master::LookAfterClients(std::chrono::steady_clock::time_point now) {
  for (const std::shared_ptr<MasterSession>& session : Sessions()) {
    const auto gone = session->client().GoneSince(now);
    if (!gone) continue;
    session->GiveUpPartialRuns();
    if (now - *gone < limits_.lease) continue;
    LogInfo(absl::StrCat(task(), ": session ", session->handle(), " closed: its client disconnected"));
    Close(session->handle()).IgnoreError();
  }
}

Status Master::CheckQuota(RpcCall& call) {
  const uint64_t connection = call.connection_number();
  const std::vector<std::shared_ptr<MasterSession>> sessions = Sessions();
  const auto of_client = std::count_if(sessions.begin(), sessions.end(), [&](const auto& session) {
    return connection != 0 && session->client().Uses(connection);
  });
  if (static_cast<size_t>(of_client) >= limits_.sessions_per_connection)
    return errors::ResourceExhausted("The client at ", call.peer(), " has ", of_client, " sessions open");
  if (sessions.size() < limits_.sessions) return OkStatus();
  // Those of clients that have gone make room first.
  const auto now = std::chrono::steady_clock::now();
  LookAfterClients(now);
  for (const std::shared_ptr<MasterSession>& session : sessions) {
    if (!session->client().GoneSince(now)) continue;
    Close(session->handle()).IgnoreError();
    return OkStatus();
  }
  return errors::ResourceExhausted(task(), " has ", sessions.size(), " sessions open");
}

StatusOr<std::vector<std::string>> Master::AdmittedPeers(const std::vector<std::string>& filters) const {
  std::vector<std::string> names;
  for (const auto& [task, address] : peers_->addresses()) {
    ASSIGN_OR_RETURN(const bool admitted, Admitted(task, filters));
    if (admitted) names.push_back(task);
  }
  return names;
}

StatusOr<Master::Tasks> Master::FindTasks(const std::vector<std::string>& names, Cancellation* cancellation,
                                          Deadline deadline) {
  std::vector<Peers::PeerTask> peers;
  for (const std::string& name : names) peers.push_back({name, ""});
  Tasks tasks = {local_};
  ASSIGN_OR_RETURN(auto remote, peers_->WaitFor(peers, cancellation, deadline));
  tasks.insert(tasks.end(), remote.begin(), remote.end());
  return tasks;
}

StatusOr<Master::Tasks> Master::FindRenamed(const SessionCluster& cluster, const std::vector<std::string>& filters,
                                            Cancellation* cancellation,
                                            std::chrono::steady_clock::time_point deadline) {
  std::vector<Peers::PeerTask> peers;
  for (const auto& [task, address] : cluster.addresses) {
    ASSIGN_OR_RETURN(const bool admitted, Admitted(task, filters));
    if (admitted && task != cluster.task) peers.push_back({task, address});
  }
  ASSIGN_OR_RETURN(auto remote, peers_->WaitFor(peers, cancellation, deadline));
  std::map<uint64_t, std::string> known = {{local_->incarnation(), cluster.task}};
  Tasks tasks = {std::make_shared<RenamedTask>(cluster.task, local_)};
  for (size_t i = 0; i < peers.size(); ++i) {
    const auto [same, added] = known.emplace(remote[i]->incarnation(), peers[i].task);
    if (!added) {
      return errors::InvalidArgument("ConfigProto.cluster_def: ", same->second, " and ", peers[i].task,
                                     " are the same task");
    }
    tasks.push_back(std::make_shared<RenamedTask>(peers[i].task, std::move(remote[i])));
  }
  return tasks;
}

Status Master::ChooseTasks(const proto::ConfigProto& config, Cancellation* cancellation, Deadline deadline,
                           MasterSessionOptions* options) {
  ASSIGN_OR_RETURN(const std::vector<std::string> names, AdmittedPeers(FiltersOf(config)));
  std::vector<std::string> ps;
  for (const std::string& name : names) (IsPsTask(name) ? ps : options->absent).push_back(name);
  ASSIGN_OR_RETURN(options->tasks, FindTasks(ps, cancellation, deadline));
  // A ps knows who has left after a training that ended well: nobody waits for those.
  options->find_tasks = [this, ps](const std::vector<std::string>& wanted, Cancellation* cancelled, Deadline until) {
    std::vector<std::string> all = ps;
    all.insert(all.end(), wanted.begin(), wanted.end());
    return FindTasks(all, cancelled, until);
  };
  return OkStatus();
}

StatusOr<std::shared_ptr<MasterSession>> Master::Open(const proto::ConfigProto& config, const std::string& target,
                                                      Cancellation* cancellation) {
  MasterSessionOptions options;
  options.handle = absl::StrFormat("%016x", RandomNumber());
  options.config = config;
  ASSIGN_OR_RETURN(options.session, SessionOptions::FromProto(config));
  auto deadline = std::chrono::steady_clock::time_point::max();
  if (options.session.operation_timeout_ms > 0) {
    deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(options.session.operation_timeout_ms);
  }
  ASSIGN_OR_RETURN(const SessionCluster cluster, SessionCluster::OfMaster(config, target));
  if (cluster.renames()) {
    ASSIGN_OR_RETURN(options.tasks, FindRenamed(cluster, FiltersOf(config), cancellation, deadline));
  } else {
    RETURN_IF_ERROR(ChooseTasks(config, cancellation, deadline, &options));
  }
  options.timers = &timers_;
  options.traces = &traces_;
  options.steps = &steps_;
  options.observer = observer_;
  options.next_step = &next_step_;
  auto session = std::make_shared<MasterSession>(std::move(options));
  // The tasks end sessions of another master that had this name in the cluster of its client.
  if (cluster.renames()) RETURN_IF_ERROR(session->OpenAtAll());
  MutexLock lock(mu_);
  sessions_.emplace(session->handle(), session);
  return session;
}

StatusOr<std::shared_ptr<MasterSession>> Master::Find(const std::string& handle) {
  MutexLock lock(mu_);
  auto it = sessions_.find(handle);
  if (it == sessions_.end()) return errors::Aborted("Session ", handle, " is not found.");
  return it->second;
}

Status Master::Close(const std::string& handle) {
  std::shared_ptr<MasterSession> session;
  {
    MutexLock lock(mu_);
    auto it = sessions_.find(handle);
    if (it == sessions_.end())
      return errors::Aborted("Session ", handle, " is not found. Possibly, this master has restarted.");
    session = std::move(it->second);
    sessions_.erase(it);
  }
  return session->Close();
}

Status Master::Reset(const std::vector<std::string>& containers, const std::vector<std::string>& filters,
                     Cancellation* cancellation) {
  std::unordered_map<std::string, std::shared_ptr<MasterSession>> sessions;
  {
    MutexLock lock(mu_);
    sessions.swap(sessions_);
  }
  for (auto& [handle, session] : sessions) {
    session->Abandon(errors::Aborted("Session ", handle, " was closed by Session.reset()"));
    session->Close().IgnoreError();
  }
  ASSIGN_OR_RETURN(const std::vector<std::string> names, AdmittedPeers(filters));
  ASSIGN_OR_RETURN(auto tasks, FindTasks(names, cancellation, Deadline::max()));
  Status first;
  for (const auto& task : tasks) {
    Status status = task->Reset(containers);
    if (first.ok()) first = std::move(status);
  }
  return first;
}

StatusOr<std::vector<DeviceAttributes>> Master::ListDevices(const std::vector<std::string>& filters,
                                                            Cancellation* cancellation) {
  ASSIGN_OR_RETURN(const std::vector<std::string> names, AdmittedPeers(filters));
  std::vector<DeviceAttributes> devices = local_->devices();
  for (const std::string& name : names) {
    const auto found = peers_->Connect({name, ""}, kAskPatience, cancellation);
    if (!found.ok()) {
      LogWarning(absl::StrCat(task(), ": devices are listed without those of ", name, ": ", found.status().message()));
      continue;
    }
    devices.insert(devices.end(), (*found)->devices().begin(), (*found)->devices().end());
  }
  return devices;
}

std::vector<std::shared_ptr<MasterSession>> Master::Sessions() const {
  std::vector<std::shared_ptr<MasterSession>> list;
  MutexLock lock(mu_);
  for (const auto& [handle, session] : sessions_) list.push_back(session);
  return list;
}

std::vector<uint64_t> Master::RunningSteps() const {
  std::vector<uint64_t> running;
  for (const auto& session : Sessions()) {
    const std::vector<uint64_t> steps = session->RunningSteps();
    running.insert(running.end(), steps.begin(), steps.end());
  }
  return running;
}

int64_t Master::MostWork() const {
  int64_t most = 0;
  for (const auto& session : Sessions()) most = std::max(most, session->MostWork());
  return most;
}

void Master::CancelSteps(const std::set<uint64_t>& steps, const Status& why) {
  for (const auto& session : Sessions()) session->CancelSteps(steps, why);
}

size_t Master::num_sessions() const {
  MutexLock lock(mu_);
  return sessions_.size();
}

}  // namespace millstream
