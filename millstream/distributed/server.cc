// SPDX-License-Identifier: Apache-2.0
#include "millstream/distributed/server.h"

#include <cstdlib>

#include "absl/strings/str_join.h"
#include "millstream/base/logging.h"
#include "millstream/base/random.h"
#include "millstream/base/untrusted_log.h"
#include "millstream/distributed/link/sockets.h"
#include "millstream/distributed/master/master_service.h"
#include "millstream/distributed/task_service.h"
#include "millstream/distributed/wire/grpc_link.h"
#include "millstream/framework/graph_files.h"
#include "millstream/runtime/local_server.h"

namespace millstream {
namespace {

// A session whose master is in this process. Closes it at the master when it goes.
class InProcessSession final : public Session {
 public:
  InProcessSession(Master* master, std::shared_ptr<MasterSession> session)
      : master_(master), session_(std::move(session)) {}
  ~InProcessSession() override { Close().IgnoreError(); }

  Status Create(const proto::GraphDef& graph) override {
    RETURN_IF_ERROR(session_->AwaitTasksOf(graph, nullptr));
    return session_->Create(graph);
  }
  Status Extend(const proto::GraphDef& graph) override {
    RETURN_IF_ERROR(session_->AwaitTasksOf(graph, nullptr));
    return session_->Extend(graph);
  }
  Status Extend(const Graph& graph) override {
    RETURN_IF_ERROR(session_->AwaitTasksOf(graph, nullptr));
    return session_->Extend(graph);
  }
  Status Run(const RunOptions& options, const Feeds& feeds, const std::vector<std::string>& fetches,
             const std::vector<std::string>& targets, std::vector<Tensor>* outputs,
             proto::RunMetadata* metadata) override {
    return session_->Run(options, feeds, fetches, targets, outputs, metadata);
  }
  StatusOr<CallableHandle> MakeCallable(const std::vector<std::string>& feeds, const std::vector<std::string>& fetches,
                                        const std::vector<std::string>& targets) override {
    return session_->MakeCallable(feeds, fetches, targets);
  }
  Status RunCallable(CallableHandle handle, const std::vector<Tensor>& feeds, std::vector<Tensor>* outputs,
                     const RunOptions& options, proto::RunMetadata* metadata) override {
    return session_->RunCallable(handle, feeds, outputs, options, metadata);
  }
  Status ReleaseCallable(CallableHandle handle) override { return session_->ReleaseCallable(handle); }
  StatusOr<std::string> PartialRunSetup(const std::vector<std::string>& feeds, const std::vector<std::string>& fetches,
                                        const std::vector<std::string>& targets) override {
    return session_->PartialRunSetup(feeds, fetches, targets);
  }
  Status PartialRun(const std::string& handle, const Feeds& feeds, const std::vector<std::string>& fetches,
                    std::vector<Tensor>* outputs) override {
    return session_->PartialRun(handle, feeds, fetches, outputs);
  }
  std::vector<DeviceAttributes> ListDevices() override {
    session_->LookForAbsentTasks(nullptr);
    return session_->ListDevices();
  }
  Status Close() override {
    if (closed_.exchange(true)) return OkStatus();
    return master_->Close(session_->handle());
  }

 private:
  Master* const master_;
  const std::shared_ptr<MasterSession> session_;
  std::atomic<bool> closed_{false};
};

// How many share the cores with this task: those of its job, since other jobs tend to wait while it computes; but all
// of them where there are more tasks than cores.
int TasksOnHost(const ServerOptions& options, const std::string& host) {
  int same_job = 0, all = 0;
  for (const ClusterSpec::Task& task : options.cluster.all_tasks()) {
    const StatusOr<HostPort> at = ParseHostPort(task.address);
    if (!at.ok() || at->host != host) continue;
    ++all;
    if (task.job == options.job_name) ++same_job;
  }
  return all > NumCores() ? all : same_job;
}

std::vector<std::string> WorkersOf(const ClusterSpec& cluster) {
  std::vector<std::string> workers;
  for (const ClusterSpec::Task& task : cluster.all_tasks()) {
    if (task.job != kPsJob) workers.push_back(task.name());
  }
  return workers;
}

}  // namespace

// What session options hold of a server: it may be asked when the server is gone.
class Server::Local final : public LocalServer {
 public:
  Local(Server* server, std::shared_ptr<JobMember> job) : server_(server), job_(std::move(job)) {}

  StatusOr<std::unique_ptr<Session>> NewSession(const SessionOptions& options) override {
    Server* server = nullptr;
    {
      MutexLock lock(mu_);
      server = server_;
    }
    if (server == nullptr) return errors::FailedPrecondition("The server at ", options.target, " has been stopped");
    proto::ConfigProto config;
    options.ToProto(&config);
    return server->NewSession(config);
  }
  std::shared_ptr<JobMember> job() const override { return job_; }
  void Detach() {
    MutexLock lock(mu_);
    server_ = nullptr;
  }

 private:
  Mutex mu_;
  Server* server_ ABSL_GUARDED_BY(mu_);
  const std::shared_ptr<JobMember> job_;
};

Server::Server(const ServerOptions& options, std::unique_ptr<ServerObserver> observer)
    : options_(options), task_(options.task_name()), observer_(std::move(observer)), router_(observer_.get()) {}

StatusOr<std::unique_ptr<Server>> Server::Start(const ServerOptions& options,
                                                std::unique_ptr<ServerObserver> observer) {
  RETURN_IF_ERROR(options.Check());
  if (options.status_port >= 0 && observer == nullptr) {
    return errors::InvalidArgument(
        "status_port: only StartServer() of millstream/status/start_server.h starts a server",
        " that has a status page");
  }
  std::unique_ptr<Server> server(new Server(options, std::move(observer)));
  RETURN_IF_ERROR(server->Serve());
  return server;
}

StatusOr<std::unique_ptr<Server>> Server::StartLocal() {
  ServerOptions options;
  ASSIGN_OR_RETURN(options.cluster, ClusterSpec::Make({{"local", {{0, "localhost:0"}}}}));
  options.job_name = "local";
  return Start(options);
}

Status Server::Serve() {
  ASSIGN_OR_RETURN(const std::string own_address, options_.cluster.address(options_.job_name, options_.task_index));
  ASSIGN_OR_RETURN(const HostPort own, ParseHostPort(own_address));
  ASSIGN_OR_RETURN(const HostPort bind, options_.AddressToBind());
  host_ = own.host;
  RETURN_IF_ERROR(MakeWorker());
  if (const std::vector<std::string> folders = options_.FileRootsFor(bind); !folders.empty()) {
    ASSIGN_OR_RETURN(std::shared_ptr<const FileRoots> roots, FileRoots::Open(folders));
    ConfineGraphs(std::move(roots), &worker_->resources());
  }
  RETURN_IF_ERROR(MakeCollectives());
  LinkOptions links;
  links.neighbours = options_.neighbours;
  links.shm = options_.shm;
  links.tcp = options_.tcp && !options_.tls.enabled();  // frames over TCP are not encrypted
  links.token = options_.token;
  links.admission = options_.admission();
  links.bind_address = bind.host;
  links.advertised_address = own.host;
  links.keepalive_timeout = options_.deadline;
  links.keepalive_interval = options_.deadline / 3;
  const auto accept = [this](const std::string&, uint64_t) -> StatusOr<FrameHandler*> { return &router_; };
  ASSIGN_OR_RETURN(hub_, LinkHub::Start(task_, worker_->incarnation(), links, accept));
  membership_ = std::make_shared<JobMembership>(options_);
  local_ = std::make_shared<Local>(this, membership_);
  if (options_.job_name == kPsJob) roll_ = std::make_unique<JobRoll>(WorkersOf(options_.cluster));
  ConnectPeers(links);
  MasterLimits limits;
  limits.lease = options_.session_lease;
  master_ = std::make_unique<Master>(worker_.get(), peers_.get(), observer_.get(), limits);
  graceful_stop_ = std::make_unique<GracefulStop>(worker_.get(), peers_.get(), master_.get(), &membership_->stop());
  if (options_.cluster.num_tasks() > 1) stuck_steps_ = std::make_unique<StuckSteps>(&options_, master_.get());
  AttachObserver(own_address);

  RpcServerOptions rpc;
  rpc.address = bind.host;
  rpc.port = bind.port;
  rpc.tls = options_.tls;
  rpc.token = options_.token;
  rpc.insecure = options_.insecure;
  rpc.name = task_;
  // A loopback address names another host on each host, so it is no name for callers from elsewhere.
  if (!IsLoopbackHost(own.host)) rpc.addresses.push_back(own_address);
  // Where protobuf is the limit, gRPC need not look.
  rpc.max_message_bytes = options_.max_message_bytes == INT32_MAX ? -1 : options_.max_message_bytes;
  if (options_.grpc) {
    rpc.links = std::make_shared<GrpcLinkService>(
        GrpcLinkService{worker_->incarnation(), hub_->endpoint().ticket, accept, links});
  }
  ASSIGN_OR_RETURN(rpc_, RpcServer::Start(rpc, Methods()));
  if (observer_ != nullptr) {
    // A task that was started on port 0 is found where it is.
    ASSIGN_OR_RETURN(const ClusterSpec cluster, options_.cluster.With(options_.job_name, options_.task_index,
                                                                      JoinHostPort(own.host, rpc_->port())));
    RETURN_IF_ERROR(observer_->Serve(cluster));
  }
  return OkStatus();
}

void Server::AttachObserver(const std::string& own_address) {
  if (observer_ == nullptr) return;
  ObservedServer server;
  server.options = &options_;
  server.worker = worker_.get();
  server.master = master_.get();
  server.address = own_address;
  server.job_done = [this] { return job_done(); };
  observer_->Attach(server);
}

Status Server::MakeWorker() {
  WorkerOptions worker;
  worker.task = task_;
  worker.max_tensor_bytes = options_.max_tensor_bytes;
  worker.ask_after = options_.deadline / 3;  // as links do
  worker.incarnation = RandomNumber() >> 1;  // clients keep it in an int64
  if (options_.default_session_config != nullptr) {
    ASSIGN_OR_RETURN(worker.session, SessionOptions::FromProto(*options_.default_session_config));
  }
  worker.tasks_on_host = TasksOnHost(options_, host_);
  worker_ = std::make_unique<Worker>(worker,
                                     [this](const std::string& task, const std::string& address, uint64_t incarnation) {
                                       return peers_->LinkTo({task, address}, incarnation);
                                     });
  router_.Route(Worker::kFrames, worker_.get());
  return OkStatus();
}

// Where the collective ops of this task's graphs meet those of other tasks.
Status Server::MakeCollectives() {
  TaskOpsOptions ops;
  ops.task = task_;
  for (const ClusterSpec::Task& task : options_.cluster.all_tasks()) ops.addresses[task.name()] = task.address;
  if (options_.default_session_config != nullptr) {
    ops.leader = options_.default_session_config->experimental().collective_group_leader();
    if (!ops.leader.empty() && !ops.addresses.contains(ops.leader)) {
      return errors::InvalidArgument("collective_group_leader: the cluster has no task ", ops.leader);
    }
  }
  const char* const backend = std::getenv("MILLSTREAM_COLLECTIVE_BACKEND");
  if (backend != nullptr && backend != std::string("own")) ops.backend = backend;
  ops.threads = worker_->pool()->parallelism();
  ops.connect = [this](const std::string& task) { return peers_->LinkTo({task, ""}, 0); };
  collectives_ = MakeRef<TaskOps>(std::move(ops));
  router_.Route(TaskOps::kFrames, collectives_.get());
  return worker_->resources().Create<collective::OpHub>(collective::OpHub::kContainer, collective::OpHub::kName,
                                                        Ref<collective::OpHub>(collectives_));
}

void Server::ConnectPeers(const LinkOptions& links) {
  PeersOptions peers;
  peers.task = task_;
  peers.incarnation = worker_->incarnation();
  for (const ClusterSpec::Task& task : options_.cluster.all_tasks()) {
    if (task.name() != task_) peers.addresses[task.name()] = task.address;
  }
  peers.job_id = options_.job_id;
  peers.max_tensor_bytes = options_.max_tensor_bytes;
  peers.channel = options_.channel_options();
  peers.deadline = options_.deadline;
  peers.grpc_links = options_.grpc;
  peers.links = links;
  peers.router = &router_;
  peers.stop = &membership_->stop();
  peers.on_ps_answer = [membership = membership_](bool job_done) { membership->SetJobIsDone(job_done); };
  peers_ = std::make_unique<Peers>(std::move(peers), hub_.get());
}

std::vector<RpcMethod> Server::Methods() {
  TaskServiceOptions task;
  task.worker = worker_.get();
  task.hub = hub_.get();
  task.traces = &master_->traces();
  task.observer = observer_.get();
  task.job_id = options_.job_id;
  task.roll = roll_.get();
  task.end_job = [this](const std::string& reason, bool tell_late) { EndJob(reason, tell_late); };
  task.job_done = [this] { return job_done(); };
  task.serves_only = [this] { return joining_ > 0 && master_->num_sessions() == 0; };
  task.client_left = [this] { ClientLeft(); };
  std::vector<RpcMethod> methods = MasterServiceMethods(master_.get());
  for (RpcMethod& method : TaskServiceMethods(task)) methods.push_back(std::move(method));
  return methods;
}

Server::~Server() { Stop(); }

std::string Server::target() const { return absl::StrCat("grpc://", host_, ":", rpc_->port()); }

SessionOptions Server::WithThisServer(SessionOptions options) const {
  options.target = target();
  options.server = local_;
  return options;
}

void Server::Stop() {
  MutexLock lock(stop_mu_);
  if (stopped_) return;
  stopped_ = true;
  const bool job_done_before = job_done();
  const Status why = errors::Unavailable(task_, " is shutting down");
  const uint64_t incarnation = worker_ == nullptr ? 0 : worker_->incarnation();
  if (graceful_stop_ != nullptr) graceful_stop_->End();
  stuck_steps_.reset();
  if (observer_ != nullptr) observer_->StopServing();
  if (rpc_ != nullptr) {
    local_->Detach();
    // Steps of clients end first: their calls must be answered before the service can go. So do the groups of
    // collectives: what they say last goes over links, those of the service among them.
    worker_->CancelAll(why);
    if (collectives_) collectives_->Stop(why);
    rpc_->Shutdown();
  }
  if (worker_ != nullptr) worker_->CancelAll(why);
  if (observer_ != nullptr) observer_->Detach();
  if (collectives_) collectives_->Stop(why);
  master_.reset();
  hub_.reset();
  peers_.reset();
  worker_.reset();
  if (roll_ != nullptr) roll_->Stop();
  if (late_.joinable()) late_.join();
  if (rpc_ != nullptr && !job_done_before) membership_->Leave(incarnation);
  if (!ended_.HasBeenNotified()) ended_.Notify();
}

void Server::Join() {
  BeginJoin();
  ended_.Wait();
  EndJoin();
}

void Server::EndJob(const std::string& reason, bool tell_late) {
  LogInfo(absl::StrCat(task_, ": the job ends: ", reason.empty() ? "asked to" : EscapeUntrusted(reason)));
  const std::vector<std::string> late = roll_ == nullptr ? std::vector<std::string>() : roll_->Close();
  const bool ending = ending_.exchange(true);
  if (!tell_late) {
    RequestStop(reason);
    return graceful_stop_->Drain([this] { ended_.Notify(); });
  }
  if (late.empty()) return ended_.Notify();
  if (ending) return;
  LogInfo(absl::StrCat(task_, ": stays ", options_.deadline.count() / 1000.0, " s at most to tell ",
                       EscapeUntrusted(absl::StrJoin(late, ", ")), ", who have not left"));
  late_ = std::thread([this] { TellLate(); });
}

void Server::ClientLeft() {
  if (joining_ == 0 || master_->num_sessions() > 0) return;
  const auto serving = membership_->EndForClient(worker_->incarnation());
  if (!serving.has_value()) return;
  if (roll_ != nullptr) {
    for (const JobMembership::Serving& task : *serving) roll_->Leave(task.task, task.incarnation);
  }
  EndJob("the only client has ended", /*tell_late=*/true);
}

void Server::RequestStop(const std::string& reason) {
  std::function<void(const std::string& reason)> on_stop;
  {
    MutexLock lock(on_stop_mu_);
    if (!stop_reason_.empty()) return;
    stop_reason_ = reason.empty() ? "asked to" : reason;
    on_stop = on_stop_;
  }
  graceful_stop_->Begin(reason.empty() ? "asked to" : reason);
  if (on_stop != nullptr) on_stop(reason);
}

void Server::SetOnStop(std::function<void(const std::string& reason)> on_stop) {
  std::string reason;
  {
    MutexLock lock(on_stop_mu_);
    on_stop_ = on_stop;
    reason = stop_reason_;
  }
  if (!reason.empty()) on_stop(reason);
}

void Server::DropSilentPeers() {
  MutexLock lock(stop_mu_);
  if (stopped_) return;
  for (const std::string& task : peers_->DropSilent(std::chrono::seconds(2)))
    LogWarning(absl::StrCat(task_, ": ", task, " does not answer; its link is closed"));
}

void Server::TellLate() {
  roll_->AwaitLate(std::chrono::steady_clock::now() + options_.deadline);
  // The last of them is just being answered.
  ended_.WaitUntil(std::chrono::steady_clock::now() + std::chrono::milliseconds(200));
  ended_.Notify();
}

StatusOr<std::unique_ptr<Session>> Server::NewSession(const proto::ConfigProto& config, Cancellation* cancellation) {
  ASSIGN_OR_RETURN(std::shared_ptr<MasterSession> session, master_->Open(config, target(), cancellation));
  return std::unique_ptr<Session>(std::make_unique<InProcessSession>(master_.get(), std::move(session)));
}

}  // namespace millstream
