// SPDX-License-Identifier: Apache-2.0
#include "millstream/distributed/master/master.h"

#include <algorithm>

#include "absl/strings/str_format.h"
#include "millstream/base/random.h"
#include "millstream/distributed/master/renamed_task.h"
#include "millstream/framework/device_name.h"

namespace millstream {
namespace {

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

Master::Master(Worker* worker, Peers* peers, TaskObserver* observer)
    : worker_(worker),
      peers_(peers),
      observer_(observer),
      local_(std::make_shared<LocalTask>(worker)),
      next_step_(RandomNumber()) {}

Master::~Master() {
  std::unordered_map<std::string, std::shared_ptr<MasterSession>> sessions;
  {
    MutexLock lock(mu_);
    sessions.swap(sessions_);
  }
  for (auto& [handle, session] : sessions) session->Close().IgnoreError();
}

StatusOr<Master::Tasks> Master::FindTasks(const std::vector<std::string>& filters, Cancellation* cancellation,
                                          std::chrono::steady_clock::time_point deadline) {
  std::vector<Peers::PeerTask> peers;
  for (const auto& [task, address] : peers_->addresses()) {
    ASSIGN_OR_RETURN(const bool admitted, Admitted(task, filters));
    if (admitted) peers.push_back({task, ""});
  }
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
    ASSIGN_OR_RETURN(options.tasks, FindTasks(FiltersOf(config), cancellation, deadline));
  }
  options.timers = &timers_;
  options.traces = &traces_;
  options.steps = &steps_;
  options.observer = observer_;
  options.next_step = &next_step_;
  auto session = std::make_shared<MasterSession>(std::move(options));
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
  ASSIGN_OR_RETURN(auto tasks, FindTasks(filters, cancellation, std::chrono::steady_clock::time_point::max()));
  Status first;
  for (const auto& task : tasks) {
    Status status = task->Reset(containers);
    if (first.ok()) first = std::move(status);
  }
  return first;
}

StatusOr<std::vector<DeviceAttributes>> Master::ListDevices(const std::vector<std::string>& filters,
                                                            Cancellation* cancellation) {
  ASSIGN_OR_RETURN(auto tasks, FindTasks(filters, cancellation, std::chrono::steady_clock::time_point::max()));
  std::vector<DeviceAttributes> devices;
  for (const auto& task : tasks) devices.insert(devices.end(), task->devices().begin(), task->devices().end());
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
