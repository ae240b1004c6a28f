// SPDX-License-Identifier: Apache-2.0
// Sequences of calls and frames, chosen by an input, against the services of a task: several clients that open, extend,
// run, reset and close sessions in any order, by handles that are valid, stale or made up; that leave in the middle of
// steps that wait; and another task that registers parts, runs them, and takes part in collectives or fails in them.
// Every call is answered once its client has gone, the sessions of gone clients end, no step stays.
#include <cstdint>
#include <list>
#include <thread>

#include "millstream/base/logging.h"
#include "millstream/base/testing/proto_fuzzer.h"
#include "millstream/distributed/collective/task_ops.h"
#include "millstream/distributed/master/master.h"
#include "millstream/distributed/master/master_service.h"
#include "millstream/distributed/task_service.h"
#include "millstream/distributed/testing/direct_call.h"
#include "millstream/distributed/testing/waiting_program.h"
#include "millstream/distributed/wire/task_methods.h"
#include "millstream/graph/testing/random_program.h"
#include "millstream/proto/master.pb.h"
#include "millstream/proto/task.pb.h"
#include "millstream/tensor/allocator.h"

namespace millstream {
namespace {

using google::protobuf::Message;
using std::chrono::steady_clock;
using testing::Choices;
using testing::DirectCall;

constexpr int kMaxMoves = 40;
constexpr auto kLease = std::chrono::hours(1);
const char* const kTasks[] = {"/job:worker/replica:0/task:0", "/job:worker/replica:0/task:1"};

// The link to the other task, which the input speaks for. Remembers the last group that it was told of.
class OtherTask final : public PeerLink {
 public:
  OtherTask(const std::string& task, uint64_t incarnation) : PeerLink(task, incarnation) {}
  void Send(Frame frame) override {
    if (frame.kind != kCollectiveGroup) return;
    StatusOr<GroupNote> note = GroupNote::FromFrame(frame);
    MS_CHECK(note.ok());
    MutexLock lock(mu_);
    if (note->kind == GroupNote::kFormed) formed_ = *std::move(note);
  }
  void Close(Status) override {}
  const char* transport() const override { return "none"; }
  int64_t last_heard_ns() const override { return 0; }
  GroupNote formed() {
    MutexLock lock(mu_);
    return formed_;
  }

 private:
  Mutex mu_;
  GroupNote formed_ ABSL_GUARDED_BY(mu_);
};

// A server without its network.
class Services {
 public:
  // `self`: which of the two tasks it is. Task 0 leads collectives.
  explicit Services(int self) : self_(kTasks[self]), other_(kTasks[1 - self]) {
    TaskOpsOptions ops;
    ops.task = self_;
    for (const char* task : kTasks) ops.addresses[task] = "nowhere:1";
    ops.connect = [this](const std::string&) { return Link(); };
    collectives_ = MakeRef<TaskOps>(std::move(ops));
    MS_CHECK(worker_.resources()
                 .Create<collective::OpHub>(collective::OpHub::kContainer, collective::OpHub::kName,
                                            Ref<collective::OpHub>(collectives_))
                 .ok());
    router_.Route(Worker::kFrames, &worker_);
    router_.Route(TaskOps::kFrames, collectives_.get());
    TaskServiceOptions options;
    options.worker = &worker_;
    options.traces = &master_->traces();
    methods_ = MasterServiceMethods(master_.get());
    for (RpcMethod& method : TaskServiceMethods(options)) methods_.push_back(std::move(method));
    OpenLink(1);
  }

  // REQUIRES: all calls are answered and all clients have gone.
  ~Services() {
    master_->LookAfterClients(steady_clock::now());
    master_->LookAfterClients(steady_clock::now() + 2 * kLease);
    MS_CHECK(master_->num_sessions() == 0);
    LoseLink();
    while (worker_.num_running() > 0) std::this_thread::yield();  // for at most the fuzzer's time limit
    MS_CHECK(worker_.num_sessions() == 0);
    collectives_->Stop(errors::Unavailable("the end"));
    master_.reset();
  }

  Master& master() { return *master_; }
  FrameRouter& router() { return router_; }
  std::shared_ptr<OtherTask> link() {
    MutexLock lock(mu_);
    return link_;
  }
  const RpcMethod& Method(const std::string& path) const {
    for (const RpcMethod& method : methods_) {
      if (method.path == path) return method;
    }
    MS_CHECK(false);
  }
  void OpenLink(uint64_t incarnation) {
    auto link = std::make_shared<OtherTask>(other_, incarnation);
    router_.Opened(*link);
    MutexLock lock(mu_);
    link_ = std::move(link);
  }
  void LoseLink() {
    const std::shared_ptr<OtherTask> lost = link();
    router_.Closed(*lost, errors::Unavailable(other_, " has gone"));
  }

 private:
  StatusOr<std::shared_ptr<PeerLink>> Link() { return std::shared_ptr<PeerLink>(link()); }

  const std::string self_, other_;
  Mutex mu_;
  std::shared_ptr<OtherTask> link_ ABSL_GUARDED_BY(mu_);
  Worker worker_{[this] {
                   WorkerOptions options;
                   options.task = self_;
                   options.incarnation = 1;
                   options.session.intra_op_threads = 2;
                   options.max_tensor_bytes = options.max_early_bytes = 1 << 20;
                   return options;
                 }(),
                 [this](const std::string& task, const std::string&, uint64_t) -> StatusOr<std::shared_ptr<PeerLink>> {
                   if (task == other_) return Link();
                   return errors::Unavailable("no task ", task);
                 }};
  Peers peers_{PeersOptions(), nullptr};
  std::unique_ptr<Master> master_ =
      std::make_unique<Master>(&worker_, &peers_, nullptr, MasterLimits{.sessions = 16, .lease = kLease});
  Ref<TaskOps> collectives_;
  FrameRouter router_;
  std::vector<RpcMethod> methods_;
};

// A call that may wait, on a thread of its own.
struct Call {
  Call(const RpcMethod& called, const std::shared_ptr<const DirectCall::Connection>& from)
      : method(&called), call(called, from) {}
  const RpcMethod* method;
  DirectCall call;
  Status status;
  std::thread thread;
};

// The moves that an input chooses.
class Script {
 public:
  Script(Choices* choices, int self) : c_(*choices), services_(self) {
    for (int i = 0; i < 3; ++i) clients_.push_back(NewConnection());
  }
  ~Script() {
    for (size_t i = 0; i < clients_.size(); ++i) Leave(i);
  }

  void Move() {
    switch (c_.Below(12)) {
      case 0:
        return Leave(static_cast<size_t>(c_.Below(static_cast<int>(clients_.size()))));
      case 1:
        return Create();
      case 2:
        return Extend();
      case 3:
      case 4:
        return Run();
      case 5:
        return SetUpPartialRun();
      case 6:
        return MakeCallable();
      case 7:
        return RunCallable();
      case 8:
        return End();
      case 9:
        return AskTask();
      case 10:
        return SendWorkerFrame();
      default:
        return SendCollectiveFrame();
    }
  }

 private:
  static std::shared_ptr<const DirectCall::Connection> NewConnection() {
    static uint64_t number = 0;
    return std::make_shared<DirectCall::Connection>(DirectCall::Connection{++number});
  }

  // Somebody's call; answered before this returns unless it may wait.
  template <typename Response = Message>
  const Response* Ask(const std::string& path, const Message& request, bool may_wait = false) {
    const size_t client = static_cast<size_t>(c_.Below(static_cast<int>(clients_.size())));
    Call& call = calls_[client].emplace_back(services_.Method(path), clients_[client]);
    call.call.request().CopyFrom(request);
    const auto run = [&call] { call.status = call.call.Run(*call.method); };
    if (may_wait) {
      call.thread = std::thread(run);
      return nullptr;
    }
    run();
    return call.status.ok() ? static_cast<const Response*>(&call.call.response()) : nullptr;
  }

  // The connection ends, and its calls are cancelled: all of them are answered. Another client comes.
  void Leave(size_t client) {
    clients_[client] = NewConnection();
    for (Call& call : calls_[client]) call.call.cancellation()->StartCancel(errors::Cancelled("the client has gone"));
    services_.master().LookAfterClients(steady_clock::now());
    for (Call& call : calls_[client]) {
      if (call.thread.joinable()) call.thread.join();
    }
    calls_[client].clear();
  }

  // One that was given out, live or not, or one that never was.
  template <typename T>
  T Pick(const std::vector<T>& known, T made_up) {
    const int i = c_.Below(static_cast<int>(known.size()) + 1);
    return i < static_cast<int>(known.size()) ? known[static_cast<size_t>(i)] : made_up;
  }
  std::string Session() { return Pick<std::string>(sessions_, "made up"); }
  std::string Name() { return testing::WaitingProgram::Names()[c_.Byte() % testing::WaitingProgram::Names().size()]; }

  void Create() {
    proto::CreateSessionRequest request;
    if (c_.Below(4) != 0) *request.mutable_graph_def() = testing::WaitingProgram::Graph();
    request.mutable_config()->set_isolate_session_state(c_.Below(2) == 0);
    if (const auto* made = Ask<proto::CreateSessionResponse>(MasterMethod("CreateSession"), request))
      sessions_.push_back(made->session_handle());
  }
  void Extend() {
    proto::ExtendSessionRequest request;
    request.set_session_handle(Session());
    request.set_current_graph_version(c_.Below(8));
    *request.mutable_graph_def() = testing::WaitingProgram::Graph(absl::StrCat("more", c_.Below(3), "_"));
    Ask(MasterMethod("ExtendSession"), request);
  }
  void Run() {
    proto::RunStepRequest request;
    request.set_session_handle(Session());
    for (int i = c_.Below(3); i > 0; --i) request.add_fetch(Name());
    for (int i = c_.Below(2); i > 0; --i) request.add_target(Name());
    if (c_.Below(4) != 0) *request.add_feed() = testing::WaitingProgram::Feed();
    if (c_.Below(2) == 0) request.set_partial_run_handle(Pick<std::string>(partial_, "made up"));
    if (c_.Below(4) == 0) request.mutable_options()->set_timeout_in_ms(1 + c_.Below(20));
    if (c_.Below(4) == 0) request.mutable_options()->set_trace_level(proto::RunOptions::FULL_TRACE);
    if (c_.Below(2) == 0) {
      request.set_millstream_client(1 + static_cast<uint64_t>(c_.Below(2)));
      request.set_millstream_step(static_cast<uint64_t>(c_.Below(3)));
    }
    request.set_store_errors_in_response_body(c_.Below(2) == 0);
    Ask(MasterMethod("RunStep"), request, /*may_wait=*/true);
  }
  void SetUpPartialRun() {
    proto::PartialRunSetupRequest request;
    request.set_session_handle(Session());
    request.add_feed("x:0");
    for (int i = c_.Below(4); i > 0; --i) request.add_fetch(Name());
    for (int i = c_.Below(2); i > 0; --i) request.add_target(Name());
    if (const auto* made = Ask<proto::PartialRunSetupResponse>(MasterMethod("PartialRunSetup"), request))
      partial_.push_back(made->partial_run_handle());
  }
  void MakeCallable() {
    proto::MakeCallableRequest request;
    request.set_session_handle(Session());
    if (c_.Below(4) != 0) request.mutable_options()->add_feed("x:0");
    for (int i = c_.Below(3); i > 0; --i) request.mutable_options()->add_fetch(Name());
    if (const auto* made = Ask<proto::MakeCallableResponse>(MasterMethod("MakeCallable"), request))
      callables_.push_back(made->handle());
  }
  void RunCallable() {
    proto::RunCallableRequest request;
    request.set_session_handle(Session());
    request.set_handle(Pick<int64_t>(callables_, -1));
    for (int i = c_.Below(3); i > 0; --i) *request.add_feed() = testing::WaitingProgram::Feed().tensor();
    Ask(MasterMethod("RunCallable"), request, /*may_wait=*/true);
  }
  // Of a session, of a callable, or of everything; and questions.
  void End() {
    const int what = c_.Below(8);
    if (what < 3) {
      proto::CloseSessionRequest request;
      request.set_session_handle(Session());
      Ask(MasterMethod("CloseSession"), request, /*may_wait=*/what == 0);
    } else if (what < 5) {
      proto::ReleaseCallableRequest request;
      request.set_session_handle(Session());
      request.set_handle(Pick<int64_t>(callables_, -1));
      Ask(MasterMethod("ReleaseCallable"), request);
    } else if (what == 5) {
      proto::ResetRequest request;
      if (c_.Below(2) == 0) request.add_container("made up");
      Ask(MasterMethod("Reset"), request, /*may_wait=*/c_.Below(2) == 0);
    } else if (what == 6) {
      proto::ListDevicesRequest request;
      if (c_.Below(2) == 0) request.set_session_handle(Session());
      Ask(MasterMethod("ListDevices"), request);
    } else {
      proto::TraceRequest request;
      request.set_timeout_ms(c_.Below(2) == 0 ? 1 : 100'000);
      Ask(TaskMethod("Trace"), request, /*may_wait=*/true);
    }
  }

  // What the other task's master asks of this task.
  void AskTask() {
    const std::string session = absl::StrCat("task", c_.Below(3));
    const int what = c_.Below(5);
    if (what == 0) {
      proto::CreateTaskSessionRequest request;
      request.set_session(session);
      request.set_master_task(services_.link()->peer());
      request.set_master_incarnation(services_.link()->peer_incarnation());
      request.set_isolate_state(c_.Below(2) == 0);
      Ask(TaskMethod("CreateSession"), request);
    } else if (what == 1) {
      proto::DeleteTaskSessionRequest request;
      request.set_session(session);
      Ask(TaskMethod("DeleteSession"), request);
    } else if (what < 4) {
      proto::RegisterPartRequest request;
      request.set_session(session);
      *request.mutable_graph() = testing::WaitingProgram::Graph();
      for (int i = c_.Below(3); i > 0; --i) request.add_ret(Name());
      for (int i = c_.Below(2); i > 0; --i) request.add_target(Name());
      Ask(TaskMethod("RegisterPart"), request);
    } else {
      proto::DeregisterPartRequest request;
      request.set_session(session);
      request.set_part(static_cast<uint32_t>(c_.Below(4)));
      Ask(TaskMethod("DeregisterPart"), request);
    }
  }

  void SendWorkerFrame() {
    Frame frame;
    frame.kind = Worker::kFrames[c_.Byte() % std::size(Worker::kFrames)];
    frame.step = static_cast<uint64_t>(c_.Below(6)) + 1;
    frame.edge = static_cast<uint32_t>(c_.Below(5));
    frame.tag = static_cast<uint64_t>(c_.Below(3));
    if (frame.kind == kRunPart) {
      frame.body.push_back(static_cast<char>(c_.Below(4)));
      for (int i = c_.Below(4); i > 0; --i) frame.body.push_back(static_cast<char>(c_.Below(4)));
    }
    services_.router().Receive(*services_.link(), std::move(frame));
  }

  // A note about a group, a frame of one, or the end of the link.
  void SendCollectiveFrame() {
    const std::shared_ptr<OtherTask> link = services_.link();
    const GroupNote formed = link->formed();
    const int what = c_.Below(16);
    if (what == 0) {
      services_.LoseLink();
      return services_.OpenLink(link->peer_incarnation() + static_cast<uint64_t>(c_.Below(2)));
    }
    Frame frame;
    if (what < 10) {
      GroupNote note;
      note.kind = static_cast<uint32_t>(c_.Below(9));
      note.group = c_.Below(4) != 0 ? "1" : formed.group;
      note.epoch = c_.Below(2) == 0 ? formed.epoch : static_cast<uint64_t>(c_.Below(3));
      const std::string words[] = {"2",  absl::StrCat(link->peer(), "/device:CPU:0"), link->peer(), "1", "0",
                                   "[]", absl::StrCat(kTasks[0], "/device:CPU:0"),    kTasks[0]};
      for (int i = c_.Below(8); i > 0; --i) note.words.push_back(words[c_.Byte() % std::size(words)]);
      if (c_.Below(2) == 0) note.words = {"2", words[1]};
      frame = note.ToFrame();
    } else {
      frame.kind = what < 13 ? kCollectiveMessage : kCollectiveControl;
      frame.edge = static_cast<uint32_t>(c_.Below(8));
      frame.tag = static_cast<uint64_t>(c_.Below(4));
      frame.step = collective::FrameExchange::Key("group 1", formed.epoch, {kTasks[0], kTasks[1]});
      frame.body.assign(static_cast<size_t>(c_.Below(40)), static_cast<char>(c_.Byte()));
    }
    services_.router().Receive(*link, std::move(frame));
  }

  Choices& c_;
  Services services_;
  std::vector<std::shared_ptr<const DirectCall::Connection>> clients_;
  std::map<size_t, std::list<Call>> calls_;  // of each client
  std::vector<std::string> sessions_, partial_;
  std::vector<int64_t> callables_;
};

}  // namespace
}  // namespace millstream

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 2) return 0;
  millstream::SetHostMemoryLimit(int64_t{256} << 20);
  millstream::testing::Choices choices(data + 1, std::min<size_t>(size - 1, 1000));
  millstream::Script script(&choices, data[0] % 2);
  for (size_t i = 0; i < std::min<size_t>(size, millstream::kMaxMoves); ++i) script.Move();
  return 0;
}
