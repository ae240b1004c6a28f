// SPDX-License-Identifier: Apache-2.0
// Whole steps over several processes of this host: what one costs with an op or a tensor on another task, and how it
// grows with the number of tasks.
#include "cli/bench.h"
#include "cli/bench_tasks.h"
#include "millstream/millstream.h"

namespace millstream::cli {
namespace {

std::string DeviceOf(int task) { return absl::StrCat("/job:task/task:", task); }

// The median time of a step that runs `target`.
StatusOr<double> MeasureStep(const BenchOptions& options, Session& session, const std::string& target) {
  ASSIGN_OR_RETURN(const Session::CallableHandle step, session.MakeCallable({}, {}, {target}));
  Status status;
  std::vector<Tensor> none;
  const double ns = MedianNanos(options.seconds, [&] {
    if (status.ok()) status = session.RunCallable(step, {}, &none);
  });
  RETURN_IF_ERROR(status);
  return ns / 1000;
}

struct Case {
  std::string name, target;
  uint64_t bytes;
};

// A variable on one task, of which another takes everything but uses one element.
Case AddTransfer(const Scope& root, int from, int to, uint64_t bytes, const std::string& label,
                 std::vector<std::string>* init) {
  const int64_t size = static_cast<int64_t>(bytes / sizeof(float));
  const std::string name = absl::StrCat(from == 0 ? "to_" : "from_", "other_", label);
  const Scope there = root.WithDevice(DeviceOf(from));
  Output variable = there.WithOpName(name + "_value")
                        .Op("VariableV2", {}, {{"dtype", DType::kFloat}, {"shape", PartialShape({size})}});
  Output zeros = there.Op("Fill", {there.Constant({static_cast<int32_t>(size)}), there.Const<float>(0)});
  Node* assign = there.Add("Assign", {variable, zeros});
  if (assign != nullptr) init->push_back(assign->name());
  const Scope here = root.WithDevice(DeviceOf(to));
  Output value = here.Op("Identity", {variable});
  here.WithOpName(name).Op("Slice", {value, here.Constant({0}), here.Constant({1})});
  return {name, name, bytes};
}

Status BenchTwoTasks(const BenchOptions& options, const std::string& links) {
  BenchTasks tasks;
  RETURN_IF_ERROR(tasks.Start({{"task", 2}}, "task", links));
  Scope root = Scope::Root();
  std::vector<std::string> init;
  std::vector<Case> cases;
  for (const int task : {0, 1}) {
    const std::string name = task == 0 ? "noop" : "noop_on_other";
    root.WithDevice(DeviceOf(task)).WithOpName(name).Add("NoOp", {});
    cases.push_back({name, name, 0});
  }
  const std::pair<const char*, uint64_t> sizes[] = {{"4KB", 4096}, {"1MB", 1 << 20}, {"large", options.bytes}};
  for (const auto& [label, bytes] : sizes) {
    cases.push_back(AddTransfer(root, 0, 1, bytes, label, &init));
    cases.push_back(AddTransfer(root, 1, 0, bytes, label, &init));
  }
  RETURN_IF_ERROR(root.status());
  ASSIGN_OR_RETURN(const std::unique_ptr<Session> session, tasks.NewSession(*root.graph()));
  RETURN_IF_ERROR(session->Run({}, {}, init, nullptr));
  for (const Case& one : cases) {
    const std::string name = absl::StrCat("step/", links, "/", one.name);
    if (name.find(options.filter) == std::string::npos) continue;
    ASSIGN_OR_RETURN(const double us, MeasureStep(options, *session, one.target));
    Report(name, us, "us");
    if (one.bytes >= 1'000'000) Report(name + "_rate", static_cast<double>(one.bytes) / us / 1000, "GB/s");
  }
  return OkStatus();
}

// A step with one no-op on each of `count` tasks.
StatusOr<double> BenchManyTasks(const BenchOptions& options, const std::string& links, int count) {
  BenchTasks tasks;
  RETURN_IF_ERROR(tasks.Start({{"task", count}}, "task", links));
  Scope root = Scope::Root();
  std::vector<Node*> noops;
  for (int i = 0; i < count; ++i) noops.push_back(root.WithDevice(DeviceOf(i)).Add("NoOp", {}));
  root.WithDevice(DeviceOf(0)).WithControlDependencies(noops).WithOpName("all").Add("NoOp", {});
  RETURN_IF_ERROR(root.status());
  ASSIGN_OR_RETURN(const std::unique_ptr<Session> session, tasks.NewSession(*root.graph()));
  ASSIGN_OR_RETURN(const double us, MeasureStep(options, *session, "all"));
  Report(absl::StrCat("step/", links, "/noop_on_", count, "_tasks"), us, "us");
  return us;
}

Status BenchStep(const BenchOptions& options) {
  for (const std::string links : {"shm", "tcp", "grpc"}) {
    if (!options.transport.empty() && options.transport != links) continue;
    RETURN_IF_ERROR(BenchTwoTasks(options, links));
    const std::string growth = absl::StrCat("step/", links, "/growth_per_task");
    if (growth.find(options.filter) == std::string::npos) continue;
    ASSIGN_OR_RETURN(const double few, BenchManyTasks(options, links, 2));
    RETURN_IF_ERROR(BenchManyTasks(options, links, 16).status());
    ASSIGN_OR_RETURN(const double many, BenchManyTasks(options, links, 64));
    Report(growth, (many - few) / 62, "us");
  }
  return OkStatus();
}

const Registration<BenchSuite> kStepSuite({.name = "step",
                                           .help = "steps over two and more tasks on this machine",
                                           .run = BenchStep});

}  // namespace
}  // namespace millstream::cli
