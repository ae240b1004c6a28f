// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_COLLECTIVE_TESTING_RANK_THREADS_H_
#define MILLSTREAM_COLLECTIVE_TESTING_RANK_THREADS_H_

#include <functional>
#include <memory>
#include <vector>

#include "millstream/collective/group.h"
#include "millstream/collective/transport/thread_transport.h"

namespace millstream::testing {

// Members "worker:0" ... on the hosts given; on one if none are.
std::vector<collective::Member> MakeMembers(int ranks, const std::vector<std::string>& hosts = {});

// Runs `body` for every rank on a thread of its own, and waits for all of them.
void RunRankThreads(int ranks, const std::function<void(int rank)>& body);

// Makes a group of threads and calls `body` with each rank's; a group that cannot be made is a failure of the test.
void SpawnGroup(int ranks, const collective::GroupOptions& options, const std::function<void(collective::Group&)>& body,
                const std::vector<std::string>& hosts = {});

}  // namespace millstream::testing

#endif  // MILLSTREAM_COLLECTIVE_TESTING_RANK_THREADS_H_
