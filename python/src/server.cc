// SPDX-License-Identifier: Apache-2.0
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <atomic>
#include <chrono>
#include <map>
#include <thread>

#include "millstream/distributed/link/hub_registry.h"
#include "millstream/framework/monitoring/evaluation_results.h"
#include "millstream/proto/tensorflow_server.pb.h"
#include "millstream/status/evaluation_message.h"
#include "millstream/status/start_server.h"
#include "python/src/errors.h"
#include "python/src/exit_deadline.h"
#include "python/src/gil.h"
#include "python/src/interrupt.h"
#include "python/src/module.h"
#include "python/src/servers.h"

namespace nb = nanobind;

namespace millstream::python {
namespace {

// What the servers of a Python process share.
struct Servers {
  const std::shared_ptr<HubRegistry> neighbours = std::make_shared<HubRegistry>();
  Mutex mu;
  std::map<std::string, Server*> by_target ABSL_GUARDED_BY(mu);  // those that run
  static Servers& OfProcess() {
    static auto* const servers = new Servers;
    return *servers;
  }
};

ServerOptions OptionsFrom(nb::bytes server_def) {
  proto::ServerDef def;
  if (!def.ParseFromArray(server_def.c_str(), static_cast<int>(server_def.size())))
    throw nb::value_error("not a ServerDef");
  ServerOptions options = Check(ServerOptions::FromProto(def));
  Check(options.ReadEnvironment());
  Check(options.Check());
  return options;
}

// The bytes of a ServerDef: `base` (may be empty) with what the others say.
nb::bytes MakeServerDef(nb::bytes base, const std::vector<std::tuple<std::string, int, std::string>>& tasks,
                        const std::string& job_name, int task_index, const std::string& protocol, nb::bytes config) {
  proto::ServerDef def;
  if (!def.ParseFromArray(base.c_str(), static_cast<int>(base.size()))) throw nb::value_error("not a ServerDef");
  for (const auto& [job, index, address] : tasks) {
    auto* jobs = def.mutable_cluster()->mutable_job();
    if (jobs->empty() || jobs->rbegin()->name() != job) jobs->Add()->set_name(job);
    (*jobs->rbegin()->mutable_tasks())[index] = address;
  }
  def.set_job_name(job_name);
  def.set_task_index(task_index);
  if (!protocol.empty() || def.protocol().empty()) def.set_protocol(protocol.empty() ? "grpc" : protocol);
  if (config.size() > 0 &&
      !def.mutable_default_session_config()->ParseFromArray(config.c_str(), static_cast<int>(config.size()))) {
    throw nb::value_error("not a ConfigProto");
  }
  std::string bytes;
  def.SerializeToString(&bytes);
  return nb::bytes(bytes.data(), bytes.size());
}

// Never destroyed: sessions that the program still holds use it until the process ends. Stop() ends its threads.
class PyServer {
 public:
  explicit PyServer(nb::bytes server_def) {
    ServerOptions options = OptionsFrom(server_def);
    options.neighbours = Servers::OfProcess().neighbours;
    StatusOr<std::unique_ptr<Server>> started = errors::Internal("");
    {
      ReleaseGil release;
      started = StartServer(options);
    }
    server_ = Check(std::move(started)).release();
    OnStuckStep([server = server_] { server->DropSilentPeers(); });
    server_->SetOnStop([this](const std::string&) { ToldToStop(); });
    MutexLock lock(Servers::OfProcess().mu);
    Servers::OfProcess().by_target[server_->target()] = server_;
  }

  std::string target() const { return server_->target(); }
  bool done() const { return server_->job_done(); }
  void Stop() {
    ReleaseGil release;
    {
      Servers& all = Servers::OfProcess();
      MutexLock lock(all.mu);
      const auto it = all.by_target.find(server_->target());
      if (it != all.by_target.end() && it->second == server_) all.by_target.erase(it);
    }
    server_->Stop();
  }
  // Looks for signals now and then: Ctrl-C ends a server that waits.
  void Join() {
    const Joining joining(this);
    while (!server_->ended()) {
      {
        ReleaseGil release;
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
      }
      if (PyErr_CheckSignals() != 0) throw nb::python_error();
    }
  }
  bool has_ps() const { return server_->membership().has_ps(); }
  bool AnyPsAnswers() const {
    ReleaseGil release;
    return server_->membership().AnyPsAnswers();
  }
  bool told_job_is_done() const { return server_->membership().JobIsDone(); }
  void TrainingEnded() { server_->membership().TrainingEnded(); }
  void ClientEnded() { server_->membership().ClientEnded(); }
  bool told_to_stop() const { return told_to_stop_; }
  void DropSilentPeers() {
    ReleaseGil release;
    server_->DropSilentPeers();
  }
  void SetCollectiveLeader(const std::string& task) { Check(server_->SetCollectiveLeader(task)); }
  void EndJob(const std::string& reason) {
    ends_itself_ = true;
    ReleaseGil release;
    server_->EndJob(reason);
  }

 private:
  struct Joining {
    explicit Joining(PyServer* server) : server(server) { ++server->joining_, server->server_->BeginJoin(); }
    ~Joining() { --server->joining_, server->server_->EndJoin(); }
    PyServer* const server;
  };
  // By `millstream stop`. Who waits in join() sees it there; others are interrupted as by SIGTERM.
  void ToldToStop() {
    if (ends_itself_) return;
    told_to_stop_ = true;
    if (joining_ == 0 && !InterruptMainThread()) ExitAfter(kExitGrace, 0);
  }

  static constexpr std::chrono::seconds kExitGrace{8};
  Server* server_ = nullptr;
  std::atomic<int> joining_{0};
  std::atomic<bool> told_to_stop_{false}, ends_itself_{false};
};

void SendResults(const std::string& address, const std::string& run,
                 const std::vector<std::tuple<std::string, double>>& results, int64_t step) {
  constexpr std::chrono::milliseconds kTimeout{3'000};
  std::vector<EvaluationResult> all;
  for (const auto& [tag, value] : results) all.push_back({run, tag, value, step});
  const RpcChannelOptions channel = Check(ChannelOptionsFromEnvironment());
  Status status;
  {
    ReleaseGil release;
    status = SendEvaluation(address, channel, kTimeout, all);
  }
  Check(status);
}

}  // namespace

Server* FindServer(const std::string& target) {
  Servers& all = Servers::OfProcess();
  MutexLock lock(all.mu);
  const auto it = all.by_target.find(target);
  return it == all.by_target.end() ? nullptr : it->second;
}

void BindServer(nb::module_& m) {
  m.def(
      "evaluation_run", [](const std::string& folder) { return EvaluationResults::RunOf(folder); }, nb::arg("folder"),
      "What an event folder is called if it is one of an evaluation: 'eval' for 'logs/eval'. '' if it is not.");
  m.def(
      "report_evaluation",
      [](const std::string& run, const std::string& tag, double value, int64_t step) {
        ReleaseGil release;
        EvaluationResults::OfProcess().Report({run, tag, value, step});
      },
      nb::arg("run"), nb::arg("tag"), nb::arg("value"), nb::arg("step"),
      "A result of an evaluation for the status pages of this process; dropped if there are none.");
  m.def("send_evaluation", &SendResults, nb::arg("address"), nb::arg("run"), nb::arg("results"), nb::arg("step"),
        "Tells results, (tag, value) each, to the task at an address, for its status page.");
  m.def("server_def", &MakeServerDef, nb::arg("base"), nb::arg("tasks"), nb::arg("job_name"), nb::arg("task_index"),
        nb::arg("protocol"), nb::arg("config"));
  nb::class_<PyServer>(m, "Server", "A task of a cluster in this process; serves from the start.")
      .def(nb::init<nb::bytes>(), nb::arg("server_def"))
      .def("target", &PyServer::target)
      .def("done", &PyServer::done, "True once the server was stopped or its job is done.")
      .def("join", &PyServer::Join)
      .def("stop", &PyServer::Stop)
      .def("has_ps", &PyServer::has_ps)
      .def("any_ps_answers", &PyServer::AnyPsAnswers)
      .def("told_job_is_done", &PyServer::told_job_is_done, "Whether a ps said so when a session was last made.")
      .def("training_ended", &PyServer::TrainingEnded, "With success: stop() tells the ps tasks that this task leaves.")
      .def("client_ended", &PyServer::ClientEnded, "With success, after steps in plain sessions.")
      .def("told_to_stop", &PyServer::told_to_stop, "By `millstream stop`.")
      .def("drop_silent_peers", &PyServer::DropSilentPeers, "Nobody waits any more for tasks that do not answer.")
      .def("set_collective_leader", &PyServer::SetCollectiveLeader, nb::arg("task"),
           "The task that forms groups of collective ops from now on.")
      .def("end_job", &PyServer::EndJob);
  m.def(
      "leave_as_client",
      [](const std::string& target) {
        ReleaseGil release;
        LeaveAsClient(target).IgnoreError();
      },
      nb::arg("target"), "A training at another process's server has ended well.");
}

}  // namespace millstream::python
