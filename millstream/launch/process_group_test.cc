// SPDX-License-Identifier: Apache-2.0
#include "millstream/launch/process_group.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <csignal>

#include "absl/strings/match.h"
#include "millstream/base/file.h"
#include "millstream/launch/free_ports.h"
#include "millstream/launch/job.h"
#include "millstream/launch/job_token.h"

namespace millstream::launch {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::UnorderedElementsAre;

ProcessSpec Shell(const std::string& name, const std::string& script) {
  ProcessSpec spec;
  spec.name = name;
  spec.command = {"sh", "-c", script};
  return spec;
}

struct Recorder {
  std::vector<std::string> lines, notes;
  GroupOptions Options() {
    GroupOptions options;
    options.grace = std::chrono::milliseconds(5000);
    options.service_grace = options.restart_delay = std::chrono::milliseconds(50);
    options.on_line = [this](const std::string& name, bool is_error, absl::string_view line) {
      lines.push_back(absl::StrCat(name, is_error ? "! " : ": ", line));
    };
    options.on_note = [this](absl::string_view note) { notes.emplace_back(note); };
    return options;
  }
};

TEST(ProcessGroupTest, PassesLinesOnAndEndsWell) {
  Recorder recorder;
  ProcessGroup group({Shell("a", "echo one; printf two >&2"), Shell("b", "echo $VALUE")}, recorder.Options());
  const GroupResult result = group.Run();
  EXPECT_EQ(result.exit_code(), 0);
  EXPECT_EQ(result.Report(), "");
  EXPECT_THAT(recorder.lines, UnorderedElementsAre("a: one", "a! two", "b: "));
}

// The delays before restarts double; after a good run they begin anew.
TEST(ProcessGroupTest, TheDelayBeforeARestartShrinksAfterAGoodRun) {
  for (const bool good : {false, true}) {
    Recorder recorder;
    GroupOptions options = recorder.Options();
    options.restart_delay = std::chrono::milliseconds(20);
    options.good_run = good ? std::chrono::milliseconds(0) : std::chrono::hours(1);
    ProcessSpec spec = Shell("a", "exit 3");
    spec.max_restarts = 3;
    ProcessGroup({spec}, options).Run();
    ASSERT_GE(recorder.notes.size(), 3u);
    EXPECT_THAT(recorder.notes[0], HasSubstr("starting it again in 0.02 s (1 of 3)"));
    EXPECT_THAT(recorder.notes[1], HasSubstr(good ? "in 0.02 s (2 of 3)" : "in 0.04 s (2 of 3)"));
    EXPECT_THAT(recorder.notes[2], HasSubstr(good ? "in 0.02 s (3 of 3)" : "in 0.08 s (3 of 3)"));
  }
}

// As an ssh whose connection hangs: more than a pipe holds, and nobody reads.
TEST(ProcessGroupTest, AProcessThatDoesNotReadItsInputHoldsUpNobody) {
  Recorder recorder;
  ProcessSpec deaf = Shell("deaf", "sleep 100");
  deaf.host = "elsewhere";
  deaf.input = std::string(1 << 20, 'x');
  ProcessGroup group({deaf, Shell("b", "echo here; exit 7")}, recorder.Options());
  const GroupResult result = group.Run();
  EXPECT_EQ(result.exit_code(), 7);
  EXPECT_THAT(recorder.lines, ElementsAre("b: here"));
}

TEST(ProcessGroupTest, TheFirstFailureGivesCodeAndReport) {
  Recorder recorder;
  ProcessGroup group({Shell("a", "sleep 100"), Shell("b", "echo broken; exit 7")}, recorder.Options());
  const GroupResult result = group.Run();
  EXPECT_EQ(result.exit_code(), 7);
  EXPECT_EQ(result.failures.size(), 1u);  // a was told to end
  EXPECT_EQ(result.Report(), "b failed first: exit code 7; its last output:\n  | broken");
}

TEST(ProcessGroupTest, AProcessThatWasStoppedIsReportedAndCanEnd) {
  Recorder recorder;
  GroupOptions options = recorder.Options();
  options.grace = std::chrono::seconds(60);
  ProcessGroup* running = nullptr;
  options.on_note = [&](absl::string_view note) {
    recorder.notes.emplace_back(note);
    if (absl::StrContains(note, "was stopped")) running->Stop(SIGTERM);
  };
  ProcessGroup group({Shell("a", "trap 'echo ends; exit 0' TERM; kill -STOP $$; while :; do sleep 0.05; done")},
                     options);
  running = &group;
  EXPECT_EQ(group.Run().exit_code(), 128 + SIGTERM);
  EXPECT_THAT(recorder.notes, Contains(HasSubstr("a was stopped (Stopped (signal))")));
  EXPECT_THAT(recorder.lines, ElementsAre("a: ends"));
}

TEST(ProcessGroupTest, StartsAgainAsOftenAsAllowed) {
  Recorder recorder;
  ProcessSpec spec = Shell("a", "echo try; exit 3");
  spec.max_restarts = 2;
  const GroupResult result = ProcessGroup({spec}, recorder.Options()).Run();
  EXPECT_EQ(result.exit_code(), 3);
  EXPECT_THAT(recorder.lines, ElementsAre("a: try", "a: try", "a: try"));
  EXPECT_THAT(result.failures[0].how, HasSubstr("after 2 restarts"));
  EXPECT_THAT(result.failures[0].last_lines, ElementsAre("try"));
}

TEST(ProcessGroupTest, ServicesEndWithTheOthers) {
  Recorder recorder;
  ProcessSpec service = Shell("ps", "trap 'echo stopped; exit 1' TERM; while :; do sleep 0.05; done");
  service.service = true;
  const GroupResult result = ProcessGroup({service, Shell("worker", "sleep 0.3")}, recorder.Options()).Run();
  EXPECT_EQ(result.exit_code(), 0);
  EXPECT_THAT(recorder.lines, Contains("ps: stopped"));
}

TEST(ProcessGroupTest, ServicesOutliveTheOthersThatAreToldToEnd) {
  Recorder recorder;
  ProcessSpec service = Shell("ps", "trap 'echo stopped; exit 0' TERM INT; while :; do sleep 0.05; done");
  service.service = true;
  ProcessSpec worker =
      Shell("worker", "trap 'sleep 0.5; echo saved; exit 0' INT; echo ready; while :; do sleep 0.05; done");
  GroupOptions options = recorder.Options();
  ProcessGroup* running = nullptr;
  const auto record = options.on_line;
  options.on_line = [&](const std::string& name, bool is_error, absl::string_view line) {
    record(name, is_error, line);
    if (line == "ready") running->Stop(SIGINT);
  };
  ProcessGroup group({service, worker}, std::move(options));
  running = &group;
  EXPECT_EQ(group.Run().exit_code(), 130);
  std::erase_if(recorder.lines, [](const std::string& line) {
    return absl::StrContains(line, "! ");
  });  // what became of a shell's sleep
  EXPECT_THAT(recorder.lines, ElementsAre("worker: ready", "worker: saved", "ps: stopped"));
}

TEST(ProcessGroupTest, WhatIgnoresTheRequestIsKilled) {
  Recorder recorder;
  GroupOptions options = recorder.Options();
  options.grace = std::chrono::milliseconds(100);
  ProcessGroup group({Shell("a", "trap '' TERM; while :; do sleep 0.05; done"), Shell("b", "sleep 0.2; exit 1")},
                     options);
  EXPECT_EQ(group.Run().exit_code(), 1);
}

TEST(ProcessGroupTest, NothingOfAGroupIsLeft) {
  Recorder recorder;
  ProcessGroup group({Shell("a", "sleep 1000 & echo $!")}, recorder.Options());
  EXPECT_EQ(group.Run().exit_code(), 0);
  ASSERT_EQ(recorder.lines.size(), 1u);
  const pid_t orphan = std::stoi(recorder.lines[0].substr(3));
  // It was killed, dies in its own time, and is gone or waits for whoever is the parent of orphans here.
  const auto is_left = [orphan] {
    const StatusOr<std::string> stat = ReadFile(absl::StrCat("/proc/", orphan, "/stat"));
    return stat.ok() && !absl::StrContains(*stat, " Z ");
  };
  for (int i = 0; i < 1000 && is_left(); ++i) usleep(10'000);
  EXPECT_FALSE(is_left());
}

TEST(ProcessGroupTest, SignalsArePassedOn) {
  Recorder recorder;
  GroupOptions options = recorder.Options();
  bool sent = false;
  options.on_line = [&](const std::string&, bool, absl::string_view line) {
    recorder.lines.emplace_back(line);
    if (!std::exchange(sent, true)) raise(SIGINT);
  };
  ProcessGroup group({Shell("a", "trap 'echo saved; exit 0' INT; echo ready; while :; do sleep 0.05; done")}, options);
  const GroupResult result = group.Run();
  EXPECT_EQ(result.signal, SIGINT);
  EXPECT_EQ(result.exit_code(), 130);
  EXPECT_THAT(recorder.lines, ElementsAre("ready", "saved"));
}

TEST(ProcessGroupTest, TheEndOfTheControlDescriptorStops) {
  Recorder recorder;
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  GroupOptions options = recorder.Options();
  options.control_fd = ends[0];
  options.on_line = [&](const std::string&, bool, absl::string_view) { close(ends[1]); };
  ProcessGroup group({Shell("a", "echo ready; sleep 100")}, options);
  EXPECT_EQ(group.Run().signal, SIGTERM);
  close(ends[0]);
}

TEST(ProcessGroupTest, ACommandThatCannotBeStartedIsAFailure) {
  Recorder recorder;
  ProcessSpec spec = Shell("worker:0", "");
  spec.command = {"no-such-program-anywhere"};
  const GroupResult result = ProcessGroup({spec, Shell("b", "sleep 100")}, recorder.Options()).Run();
  EXPECT_EQ(result.exit_code(), 127);
  EXPECT_THAT(result.Report(), HasSubstr("no-such-program-anywhere"));
}

TEST(ProcessGroupTest, TheScratchFolderIsRemoved) {
  Recorder recorder;
  StatusOr<TokenFile> file = WriteTokenFile("secret");
  ASSERT_TRUE(file.ok());
  GroupOptions options = recorder.Options();
  options.scratch_folder = file->folder;
  EXPECT_EQ(ProcessGroup({Shell("a", absl::StrCat("cat ", file->path))}, options).Run().exit_code(), 0);
  EXPECT_THAT(recorder.lines, ElementsAre("a: secret"));
  EXPECT_FALSE(FileExists(file->folder));
}

TEST(LineSplitterTest, CutsAndFinishes) {
  std::vector<std::string> lines;
  const auto on_line = [&](absl::string_view line) { lines.emplace_back(line); };
  LineSplitter splitter;
  splitter.Add("a", on_line);
  splitter.Add("b\n\nc", on_line);
  EXPECT_THAT(lines, ElementsAre("ab", ""));
  splitter.Finish(on_line);
  EXPECT_THAT(lines, ElementsAre("ab", "", "c"));
  lines.clear();
  splitter.Add(std::string(100 << 10, 'x'), on_line);
  EXPECT_EQ(lines.size(), 1u);
}

TEST(FreePortsTest, AreDifferent) {
  const StatusOr<FreePorts> free = FreePorts::Reserve(50);
  ASSERT_TRUE(free.ok());
  EXPECT_EQ(std::set<int>(free->ports().begin(), free->ports().end()).size(), 50u);
  EXPECT_TRUE(absl::IsResourceExhausted(FreePorts::Reserve(70000).status()));
}

// Binds `port` as a server does.
bool CanListen(int port) {
  const UniqueFd fd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const int on = 1;
  setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<uint16_t>(port));
  return bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0 && listen(fd.get(), 1) == 0;
}

// Two jobs that are started at the same time must not choose the same port, though no server listens on it yet.
TEST(FreePortsTest, AreReservedUntilAServerListens) {
  const StatusOr<FreePorts> first = FreePorts::Reserve(400);  // unreserved, some of the second would be the same
  ASSERT_TRUE(first.ok()) << first.status();
  const StatusOr<FreePorts> second = FreePorts::Reserve(400);
  ASSERT_TRUE(second.ok()) << second.status();
  std::set<int> all(first->ports().begin(), first->ports().end());
  all.insert(second->ports().begin(), second->ports().end());
  EXPECT_EQ(all.size(), 800u);
  EXPECT_TRUE(CanListen(first->ports()[0]));
}

TEST(JobTest, FlagsAndTfConfig) {
  JobOptions options;
  options.ps = 1;
  options.workers = 2;
  options.command = {"train"};
  StatusOr<ClusterSpec> cluster = ClusterOf(options, {"a:1", "b:2", "c:3"});
  ASSERT_TRUE(cluster.ok());
  const ProcessSpec process = ProcessOf(options, *cluster, {"worker", 1});
  EXPECT_THAT(process.command,
              ElementsAre("train", "--ps_hosts=a:1", "--worker_hosts=b:2,c:3", "--job_name=worker", "--task_index=1"));
  EXPECT_EQ(process.environment[0].second,
            R"({"cluster":{"ps":["a:1"],"worker":["b:2","c:3"]},"task":{"type":"worker","index":1}})");
  EXPECT_FALSE(process.service);
  EXPECT_TRUE(ProcessOf(options, *cluster, {"ps", 0}).service);
}

TEST(JobTest, OneTaskShowsTheStatusPage) {
  JobOptions options;
  options.ps = 1;
  options.workers = 2;
  options.status_port = 6006;
  const auto port_of = [&](const ClusterSpec& cluster, const JobTask& task) {
    std::string port = "as the environment says";
    for (const auto& [name, value] : ProcessOf(options, cluster, task).environment) {
      if (name == "MILLSTREAM_STATUS_PORT") port = value;
    }
    return port;
  };
  StatusOr<ClusterSpec> cluster = ClusterOf(options, {"a:1", "b:2", "c:3"});
  ASSERT_TRUE(cluster.ok());
  EXPECT_EQ(port_of(*cluster, {"worker", 0}), "6006");
  EXPECT_EQ(port_of(*cluster, {"worker", 1}), "");
  EXPECT_EQ(port_of(*cluster, {"ps", 0}), "");
  options.chief = true;
  cluster = ClusterOf(options, {"d:4", "a:1", "b:2", "c:3"});
  ASSERT_TRUE(cluster.ok());
  EXPECT_EQ(port_of(*cluster, {"chief", 0}), "6006");
  EXPECT_EQ(port_of(*cluster, {"worker", 0}), "");
}

TEST(JobTest, WrongOptions) {
  JobOptions options;
  EXPECT_THAT(CheckJob(options).message(), HasSubstr("which program?"));
  options.command = {"train"};
  EXPECT_TRUE(CheckJob(options).ok());
  options.workers = 0;
  EXPECT_THAT(CheckJob(options).message(), HasSubstr("at least one worker"));
}

}  // namespace
}  // namespace millstream::launch
