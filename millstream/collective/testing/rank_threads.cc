// SPDX-License-Identifier: Apache-2.0
#include "millstream/collective/testing/rank_threads.h"

#include <gtest/gtest.h>

#include <thread>

namespace millstream::testing {

using collective::Group;
using collective::GroupOptions;
using collective::Member;
using collective::ThreadNetwork;

std::vector<Member> MakeMembers(int ranks, const std::vector<std::string>& hosts) {
  std::vector<Member> members;
  for (int i = 0; i < ranks; ++i) {
    const std::string host = hosts.empty() ? "one" : hosts[static_cast<size_t>(i)];
    members.push_back({absl::StrCat("worker:", i), absl::StrCat(host, ":", 2222 + i), host});
  }
  return members;
}

void RunRankThreads(int ranks, const std::function<void(int rank)>& body) {
  std::vector<std::thread> threads;
  threads.reserve(static_cast<size_t>(ranks));
  for (int rank = 0; rank < ranks; ++rank) threads.emplace_back([&body, rank] { body(rank); });
  for (std::thread& thread : threads) thread.join();
}

void SpawnGroup(int ranks, const GroupOptions& options, const std::function<void(Group&)>& body,
                const std::vector<std::string>& hosts) {
  const auto network = ThreadNetwork::Make(ranks);
  RunRankThreads(ranks, [&](int rank) {
    auto group = Group::Make(MakeMembers(ranks, hosts), rank, network->Join(rank), options);
    ASSERT_TRUE(group.ok()) << group.status();
    body(**group);
  });
}

}  // namespace millstream::testing
