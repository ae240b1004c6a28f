// SPDX-License-Identifier: Apache-2.0
#include <chrono>

#include "cli/bench.h"
#include "millstream/graph/control_flow/control_flow_builders.h"
#include "millstream/graph/scope.h"
#include "millstream/runtime/session.h"

namespace millstream::cli {
namespace {

constexpr int kOps = 1000;

StatusOr<std::unique_ptr<Session>> SessionFor(const Scope& scope, const BenchOptions& options) {
  RETURN_IF_ERROR(scope.status());
  SessionOptions session_options;
  session_options.intra_op_threads = options.threads;
  session_options.rewrite = RewriteOptions::None();
  ASSIGN_OR_RETURN(std::unique_ptr<Session> session, NewSession(session_options));
  RETURN_IF_ERROR(session->Extend(*scope.graph()));
  return session;
}

// Microseconds per op of a graph with kOps of them.
Status Measure(const std::string& name, const Scope& scope, const Session::Feeds& feeds, const std::string& target,
               const BenchOptions& options) {
  if (name.find(options.filter) == std::string::npos) return OkStatus();
  ASSIGN_OR_RETURN(std::unique_ptr<Session> session, SessionFor(scope, options));
  Status status;
  std::vector<Tensor> out;
  const double ns = MedianNanos(options.seconds, [&] {
    if (status.ok()) status = session->Run(feeds, {}, {target}, &out);
  });
  RETURN_IF_ERROR(status);
  Report(name, ns / kOps / 1000, "us/op");
  return OkStatus();
}

Status Chain(const BenchOptions& options) {
  Scope s = Scope::Root();
  Output one = s.Const(1.0f);
  Output x = s.WithOpName("x").Op("Placeholder", {}, {{"dtype", DType::kFloat}});
  Output sum = x;
  for (int i = 0; i < kOps; ++i) sum = s.Op("AddV2", {sum, one});
  s.WithOpName("end").Add("Identity", {sum});
  return Measure("executor/chain_1000_adds", s, {{"x:0", Tensor::Scalar(0.0f)}}, "end", options);
}

Status Parallel(const BenchOptions& options) {
  Scope s = Scope::Root();
  Output x = s.WithOpName("x").Op("Placeholder", {}, {{"dtype", DType::kFloat}});
  std::vector<Node*> adds;
  for (int i = 0; i < kOps; ++i) adds.push_back(s.Add("AddV2", {x, s.Const(static_cast<float>(i))}));
  s.WithOpName("end").WithControlDependencies(adds).Add("NoOp", {});
  return Measure("executor/parallel_1000_adds", s, {{"x:0", Tensor::Scalar(0.0f)}}, "end", options);
}

// kOps iterations of a loop with three variables.
Status Loop(const BenchOptions& options) {
  Scope s = Scope::Root();
  Output x = s.WithOpName("x").Op("Placeholder", {}, {{"dtype", DType::kFloat}, {"shape", PartialShape(Shape())}});
  const std::vector<Output> last = WhileLoop(
      s,
      [](const Scope& in, const std::vector<Output>& v) {
        return in.Op("Less", {v[0], in.Const(kOps)});
      },
      [&](const Scope& in, const std::vector<Output>& v) {
        return std::vector<Output>{in.Op("AddV2", {v[0], in.Const(1)}), in.Op("AddV2", {v[1], v[2]}),
                                   in.Op("Mul", {v[2], x})};
      },
      {s.Const(0), s.Const(0.0f), s.Const(1.0f)});
  RETURN_IF_ERROR(s.status());
  s.WithOpName("end").Add("Identity", {last[1]});
  return Measure("executor/loop_1000_iterations", s, {{"x:0", Tensor::Scalar(1.0f)}}, "end", options);
}

// Seconds to compile a plan of many nodes.
Status CompileTime(const BenchOptions& options) {
  constexpr int kNodes = 100000;
  const std::string name = "executor/compile_100k_nodes";
  if (name.find(options.filter) == std::string::npos) return OkStatus();
  Scope s = Scope::Root();
  Output one = s.Const(1.0f);
  Output x = s.WithOpName("x").Op("Placeholder", {}, {{"dtype", DType::kFloat}});
  Output sum = x;
  for (int i = 0; i < kNodes; ++i) sum = s.Op("AddV2", {sum, one});
  ASSIGN_OR_RETURN(std::unique_ptr<Session> session, SessionFor(s, options));
  const auto start = std::chrono::steady_clock::now();
  RETURN_IF_ERROR(session->MakeCallable({"x:0"}, {sum.name()}, {}).status());
  Report(name, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count(), "s");
  return OkStatus();
}

Status BenchExecutor(const BenchOptions& options) {
  RETURN_IF_ERROR(Chain(options));
  RETURN_IF_ERROR(Parallel(options));
  RETURN_IF_ERROR(Loop(options));
  return CompileTime(options);
}

Status BenchSession(const BenchOptions& options) {
  Scope s = Scope::Root();
  Output x = s.WithOpName("x").Op("Placeholder", {}, {{"dtype", DType::kFloat}});
  s.WithOpName("y").Op("AddV2", {x, s.Const(1.0f)});
  s.WithOpName("noop").Add("NoOp", {});
  ASSIGN_OR_RETURN(std::unique_ptr<Session> session, SessionFor(s, options));
  Status status;
  std::vector<Tensor> out;
  const auto run = [&](const std::string& name, const std::function<Status()>& step) {
    if (name.find(options.filter) == std::string::npos || !status.ok()) return;
    const double ns = MedianNanos(options.seconds, [&] {
      if (status.ok()) status = step();
    });
    if (status.ok()) Report(name, ns / 1000, "us");
  };
  const Session::Feeds none, feeds = {{"x:0", Tensor::Scalar(1.0f)}};
  const std::vector<std::string> nothing, noop = {"noop"}, fetch = {"y:0"};
  run("session/noop", [&] { return session->Run(none, nothing, noop, &out); });
  run("session/add_feed_fetch", [&] { return session->Run(feeds, fetch, nothing, &out); });
  ASSIGN_OR_RETURN(const Session::CallableHandle callable, session->MakeCallable({"x:0"}, {"y:0"}, {}));
  const std::vector<Tensor> args = {Tensor::Scalar(1.0f)};
  run("session/add_callable", [&] { return session->RunCallable(callable, args, &out); });
  return status;
}

const Registration<BenchSuite> kExecutorSuite({.name = "executor",
                                               .help = "cost of an op in graphs of 1000",
                                               .run = BenchExecutor});
const Registration<BenchSuite> kSessionSuite({.name = "session",
                                              .help = "cost of a call of a local session",
                                              .run = BenchSession});

}  // namespace
}  // namespace millstream::cli
