// SPDX-License-Identifier: Apache-2.0
#include "millstream/launch/rendezvous.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <thread>

#include "absl/strings/match.h"
#include "millstream/base/file.h"
#include "millstream/launch/agent.h"
#include "millstream/launch/ranks.h"
#include "millstream/launch/yaml.h"

namespace millstream::launch {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

using Clock = std::chrono::steady_clock;

std::string NewFolder(const char* name) {
  const std::string folder = absl::StrCat(::testing::TempDir(), "/", name, "-", getpid());
  std::filesystem::remove_all(folder);
  return folder;
}

// All ranks at once, in threads.
std::vector<StatusOr<Rendezvous::Meeting>> MeetAll(std::vector<Rendezvous>& ranks, const std::string& word) {
  std::vector<StatusOr<Rendezvous::Meeting>> meetings(ranks.size());
  std::vector<std::thread> threads;
  for (size_t i = 0; i < ranks.size(); ++i) {
    threads.emplace_back([&, i] {
      meetings[i] = ranks[i].Meet(absl::StrCat(word, i), i == 0 ? word : "", Clock::now() + std::chrono::seconds(60));
    });
  }
  for (std::thread& thread : threads) thread.join();
  return meetings;
}

std::vector<Rendezvous> OpenAll(const std::string& folder, int size) {
  std::vector<Rendezvous> ranks;
  for (int i = 0; i < size; ++i) ranks.push_back(*Rendezvous::Open(folder, i, size));
  return ranks;
}

TEST(RendezvousTest, AllGetTheSame) {
  const std::string folder = NewFolder("meet");
  std::vector<Rendezvous> ranks = OpenAll(folder, 3);
  for (const auto& meeting : MeetAll(ranks, "a")) {
    ASSERT_TRUE(meeting.ok()) << meeting.status();
    EXPECT_THAT(meeting->texts, ElementsAre("a0", "a1", "a2"));
    EXPECT_EQ(meeting->common, "a");
  }
  EXPECT_THAT(ranks[0].Words(), ElementsAre());
  ASSERT_TRUE(ranks[2].Say("gone").ok());
  EXPECT_THAT(ranks[0].Words(), ElementsAre(Pair(2, "gone")));
  ranks[0].Remove();
  EXPECT_FALSE(std::filesystem::exists(folder));
}

TEST(RendezvousTest, WhatAnEarlierRunHasLeftDoesNoHarm) {
  const std::string folder = NewFolder("again");
  std::vector<Rendezvous> first = OpenAll(folder, 3);
  MeetAll(first, "old");
  ASSERT_TRUE(first[1].Say("failed").ok());
  std::vector<Rendezvous> second = OpenAll(folder, 3);
  for (const auto& meeting : MeetAll(second, "new")) EXPECT_THAT(meeting->texts, ElementsAre("new0", "new1", "new2"));
  EXPECT_THAT(second[0].Words(), ElementsAre());
  second[0].Remove();
}

// Whether a file of the folder has the word in it.
bool Keeps(const std::string& folder, const std::string& word) {
  for (const auto& file : std::filesystem::directory_iterator(folder)) {
    if (absl::StrContains(ReadFile(file.path().string()).value_or(""), word)) return true;
  }
  return false;
}

TEST(RendezvousTest, TheTokenDoesNotStayInTheFolder) {
  const std::string folder = NewFolder("secret");
  std::vector<Rendezvous> ranks = OpenAll(folder, 3);
  for (const auto& meeting : MeetAll(ranks, "token")) EXPECT_EQ(meeting->common, "token");
  EXPECT_FALSE(Keeps(folder, "\"token\""));
  // Nor when some have come and one never answers.
  std::vector<Rendezvous> others = OpenAll(folder, 3);
  const auto soon = Clock::now() + std::chrono::milliseconds(200);
  std::thread second([&] { EXPECT_FALSE(others[1].Meet("x", "", soon).ok()); });
  EXPECT_FALSE(others[0].Meet("x", "token", soon).ok());
  second.join();
  EXPECT_FALSE(Keeps(folder, "\"token\""));
  ranks[0].Remove();
}

TEST(RendezvousTest, SaysWhoIsMissing) {
  const std::string folder = NewFolder("missing");
  std::vector<Rendezvous> ranks = OpenAll(folder, 3);
  const auto soon = Clock::now() + std::chrono::milliseconds(100);
  EXPECT_THAT(ranks[0].Meet("x", "", soon).status().message(), HasSubstr(": 1, 2."));
  EXPECT_THAT(ranks[1].Meet("x", "", soon).status().message(), HasSubstr("waited for rank 0"));
  ranks[0].Remove();
}

TEST(RendezvousTest, AFolderThatOthersMayEnterIsRefused) {
  const std::string folder = NewFolder("open");
  ASSERT_EQ(mkdir(folder.c_str(), 0700), 0);
  ASSERT_EQ(chmod(folder.c_str(), 0755), 0);
  EXPECT_TRUE(absl::IsPermissionDenied(Rendezvous::Open(folder, 0, 1).status()));
  rmdir(folder.c_str());
  EXPECT_FALSE(Rendezvous::Open(folder, 3, 3).ok());
}

TEST(RanksTest, FromTheEnvironment) {
  for (const char* name : {"SLURM_STEP_NUM_TASKS", "SLURM_PROCID", "OMPI_COMM_WORLD_RANK"}) unsetenv(name);
  EXPECT_FALSE(FindRanks()->has_value());
  setenv("OMPI_COMM_WORLD_RANK", "1", 1);
  setenv("OMPI_COMM_WORLD_SIZE", "3", 1);
  setenv("PMIX_NAMESPACE", "12/../34", 1);
  EXPECT_EQ((*FindRanks())->rank, 1);
  EXPECT_THAT((*FindRanks())->job, ::testing::StartsWith("12----34-"));
  setenv("OMPI_COMM_WORLD_SIZE", "many", 1);
  EXPECT_THAT(FindRanks().status().message(), HasSubstr("OMPI_COMM_WORLD_SIZE"));
  for (const char* name : {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "PMIX_NAMESPACE"}) unsetenv(name);
}

TEST(AgentTest, RequestsTravelAsOneLine) {
  AgentRequest request;
  request.process.name = "ps:0";
  request.process.command = {"a b", "line\nbreak", "'"};
  request.process.environment = {{"A", "=\""}};
  request.process.folder = "/tmp";
  request.token = "secret";
  const std::string line = request.ToLine();
  EXPECT_EQ(line.find('\n'), line.size() - 1);
  StatusOr<AgentRequest> back = AgentRequest::FromLine(line.substr(0, line.size() - 1));
  ASSERT_TRUE(back.ok());
  EXPECT_EQ(back->process.command, request.process.command);
  EXPECT_EQ(back->process.environment, request.process.environment);
  EXPECT_EQ(back->token, "secret");
  for (const char* bad : {"", "[]", "{}", "{\"name\":1}", "\xff"})
    EXPECT_FALSE(AgentRequest::FromLine(bad).ok()) << bad;
}

TEST(AgentTest, PortsBehindABanner) {
  EXPECT_THAT(*ParsePorts("Welcome!\n" + AnswerPorts({10, 20}) + "\n"), ElementsAre(10, 20));
  EXPECT_FALSE(ParsePorts("Welcome!\n").ok());
  EXPECT_THAT(ParsePorts("millstream-agent 0.0.0 1\n").status().message(), HasSubstr("version 0.0.0"));
}

TEST(YamlTest, QuotesWhatNeedsIt) {
  const nlohmann::ordered_json value = {{"a", {{"b", "plain"}, {"yes", "no"}}},
                                        {"list", {1, "2", {{"x", 1}, {"k", {"z"}}}}},
                                        {"empty", nlohmann::ordered_json::array()}};
  EXPECT_EQ(ToYaml(value),
            "a:\n  b: plain\n  \"yes\": \"no\"\nlist:\n  - 1\n  - \"2\"\n  - x: 1\n    k:\n      - z\nempty: []\n");
}

}  // namespace
}  // namespace millstream::launch
