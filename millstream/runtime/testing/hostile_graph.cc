// SPDX-License-Identifier: Apache-2.0
#include "millstream/runtime/testing/hostile_graph.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <thread>

#include "google/protobuf/text_format.h"
#include "millstream/base/memory_budget.h"
#include "millstream/proto/graph.pb.h"

namespace millstream {
namespace {

constexpr unsigned kSecondsBeforeAHang = 300;

void LimitChild() {
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // their shadow memory is larger than any limit
  const rlimit address_space{kHostileAddressSpace, kHostileAddressSpace};
  setrlimit(RLIMIT_AS, &address_space);
#endif
  const rlimit no_core{0, 0};
  setrlimit(RLIMIT_CORE, &no_core);
  SetMemoryLimit(kHostileMemoryLimit);
  alarm(kSecondsBeforeAHang);
}

Status RunOrdinaryStep() {
  Scope s = Scope::Root();
  s.WithOpName("sum").Op("Add", {s.Const(1.f), s.Const(2.f)});
  return RunOnce(s, "sum:0");
}

[[noreturn]] void AttackInChild(std::initializer_list<absl::StatusCode> codes, const std::function<Status()>& attack) {
  LimitChild();
  const Status status = attack();
  const bool expected = std::find(codes.begin(), codes.end(), status.code()) != codes.end();
  std::fprintf(stderr, "The attack ended with %s\n", status.ToString().substr(0, 2000).c_str());
  Status after = RunOrdinaryStep();
  // What the attack held goes back to the system soon, not at once.
  for (int i = 0; i < 1000 && absl::IsResourceExhausted(after); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    after = RunOrdinaryStep();
  }
  if (!after.ok()) std::fprintf(stderr, "Afterwards: %s\n", after.ToString().c_str());
  std::fflush(stderr);
  _exit(expected && after.ok() ? 0 : 1);
}

}  // namespace

void ExpectSurvives(std::initializer_list<absl::StatusCode> codes, const std::function<Status()>& attack) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(AttackInChild(codes, attack), ::testing::ExitedWithCode(0), "The attack ended with");
}

Status RunOnce(const Scope& s, const std::string& fetch, const std::string& target, const SessionOptions& options) {
  RETURN_IF_ERROR(s.status());
  ASSIGN_OR_RETURN(std::unique_ptr<Session> session, NewSession(options));
  RETURN_IF_ERROR(session->Extend(*s.graph()));
  std::vector<std::string> fetches, targets;
  if (!fetch.empty()) fetches.push_back(fetch);
  if (!target.empty()) targets.push_back(target);
  std::vector<Tensor> out;
  return session->Run({}, fetches, targets, &out);
}

Status RunText(const std::string& graph, const std::string& fetch, const SessionOptions& options) {
  proto::GraphDef def;
  if (!google::protobuf::TextFormat::ParseFromString(graph, &def)) return errors::Internal("not a program: ", graph);
  ASSIGN_OR_RETURN(std::unique_ptr<Session> session, NewSession(options));
  RETURN_IF_ERROR(session->Create(def));
  std::vector<Tensor> out;
  return session->Run({}, {fetch}, {}, &out);
}

std::string NodeInText(const std::string& name, const std::string& op, std::initializer_list<std::string> inputs,
                       const std::string& attrs) {
  std::string text = absl::StrCat("name: '", name, "' op: '", op, "' ");
  for (const std::string& input : inputs) absl::StrAppend(&text, "input: '", input, "' ");
  return text + attrs;
}

std::string FunctionInText(const std::string& name, const std::string& body, const std::string& result) {
  return absl::StrCat("function { signature { name: '", name,
                      "' input_arg { name: 'x' type: DT_FLOAT } output_arg { name: 'y' type: DT_FLOAT } } ", body,
                      " ret { key: 'y' value: '", result, "' } }");
}

}  // namespace millstream
