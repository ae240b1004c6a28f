// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_TESTS_CHAOS_THREADS_FAULTS_H_
#define MILLSTREAM_TESTS_CHAOS_THREADS_FAULTS_H_

#include <functional>
#include <random>
#include <string>
#include <vector>

#include "tests/chaos/threads/cluster.h"

namespace millstream::chaos {

// What a fault has done, for how long it lasts (by the virtual clock), and how it is mended.
struct Broken {
  std::string what;
  double seconds = 0;
  std::function<void()> mend;
};

struct Fault {
  std::string name;
  std::function<Broken(Cluster& cluster, std::mt19937_64& random)> inflict;
};

// All faults. A new one is an entry here.
const std::vector<Fault>& Faults();

}  // namespace millstream::chaos

#endif  // MILLSTREAM_TESTS_CHAOS_THREADS_FAULTS_H_
