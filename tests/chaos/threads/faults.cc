// SPDX-License-Identifier: Apache-2.0
#include "tests/chaos/threads/faults.h"

#include <algorithm>
#include <thread>

#include "absl/strings/str_cat.h"
#include "millstream/distributed/link/sockets.h"

namespace millstream::chaos {
namespace {

using Random = std::mt19937_64;

size_t Below(Random& random, size_t n) { return random() % n; }

double OneOf(Random& random, const std::vector<double>& values) { return values[Below(random, values.size())]; }

struct Pair {
  std::string from, to;
};

// A ps and another task, in either order: workers have little to say to each other. Any two where there is no ps.
Pair TwoTasks(Cluster& cluster, Random& random) {
  const size_t n = cluster.tasks().size();
  const size_t ps = Below(random, cluster.num_ps() > 0 ? static_cast<size_t>(cluster.num_ps()) : n);
  const size_t other = (ps + 1 + Below(random, n - 1)) % n;
  const std::string &a = cluster.tasks()[ps], &b = cluster.tasks()[other];
  return Below(random, 2) == 0 ? Pair{a, b} : Pair{b, a};
}

Broken Killed(Cluster& cluster, const std::vector<size_t>& tasks, double seconds) {
  Broken broken;
  broken.what = "killed";
  for (const size_t task : tasks) {
    cluster.Kill(task);
    absl::StrAppend(&broken.what, " ", cluster.tasks()[task]);
  }
  absl::StrAppend(&broken.what, ", started again after ", seconds, " s");
  broken.seconds = seconds;
  broken.mend = [&cluster, tasks] {
    for (const size_t task : tasks) cluster.Start(task);
  };
  return broken;
}

Broken KillPs(Cluster& cluster, Random& random) {
  return Killed(cluster, {Below(random, static_cast<size_t>(cluster.num_roots()))}, OneOf(random, {0, 1, 5, 40}));
}

// All workers where there is no ps.
Broken KillAllPs(Cluster& cluster, Random& random) {
  std::vector<size_t> all(cluster.num_ps() > 0 ? static_cast<size_t>(cluster.num_ps()) : cluster.tasks().size());
  for (size_t i = 0; i < all.size(); ++i) all[i] = i;
  std::shuffle(all.begin(), all.end(), random);
  return Killed(cluster, all, OneOf(random, {0, 2}));
}

Broken KillWorker(Cluster& cluster, Random& random) {
  const size_t ps = static_cast<size_t>(cluster.num_ps());
  return Killed(cluster, {ps + Below(random, cluster.tasks().size() - ps)}, OneOf(random, {0, 1, 5, 40}));
}

// The first worker, which leads, when what it says to one task arrives late: in the middle of what it does at several.
Broken KillInStep(Cluster& cluster, Random& random) {
  const size_t ps = static_cast<size_t>(cluster.num_ps());
  const size_t other = ps > 0 ? Below(random, ps) : 1;
  const auto ms = static_cast<int64_t>(OneOf(random, {300, 2500}));
  const int64_t after_ms = ms * static_cast<int64_t>(200 + Below(random, 400)) / 100;
  cluster.network().Delay(cluster.tasks()[ps], cluster.tasks()[other], ms);
  std::this_thread::sleep_for(std::chrono::milliseconds(after_ms));
  Broken broken = Killed(cluster, {ps}, OneOf(random, {0, 1, 5, 40}));
  cluster.network().Heal();
  absl::StrAppend(&broken.what, ", when what it says to ", cluster.tasks()[other], " came ", ms, " ms late");
  return broken;
}

std::function<void()> Heal(Cluster& cluster) {
  return [&cluster] { cluster.network().Heal(); };
}

// What one task sends to another does not arrive; it believes that all is well.
Broken HalfOpen(Cluster& cluster, Random& random) {
  const auto [from, to] = TwoTasks(cluster, random);
  const double seconds = OneOf(random, {0.5, 3, 12, 28, 35, 45, 60, 90});
  cluster.network().Hold(from, to, true);
  return {absl::StrCat("lost what ", from, " sends to ", to, " for ", seconds, " s"), seconds, Heal(cluster)};
}

Broken Cut(Cluster& cluster, Random& random) {
  const auto [a, b] = TwoTasks(cluster, random);
  const double seconds = OneOf(random, {0.5, 3, 12, 28, 35, 60});
  cluster.network().Hold(a, b, true);
  cluster.network().Hold(b, a, true);
  return {absl::StrCat("cut ", a, " and ", b, " apart for ", seconds, " s"), seconds, Heal(cluster)};
}

// A task that is stopped, or whose host is unreachable.
Broken Freeze(Cluster& cluster, Random& random) {
  const std::string task = cluster.tasks()[Below(random, cluster.tasks().size())];
  const double seconds = OneOf(random, {1, 4, 12, 35, 60});
  for (const std::string& other : cluster.tasks()) {
    cluster.network().Hold(task, other, true);
    cluster.network().Hold(other, task, true);
  }
  return {absl::StrCat("froze ", task, " for ", seconds, " s"), seconds, Heal(cluster)};
}

Broken Reset(Cluster& cluster, Random& random) {
  const auto [a, b] = TwoTasks(cluster, random);
  cluster.network().Reset(a, b);
  return {absl::StrCat("reset connections between ", a, " and ", b), 0, Heal(cluster)};
}

// Held for a while, and then the connections end with what was held.
Broken LoseHeld(Cluster& cluster, Random& random) {
  const auto [from, to] = TwoTasks(cluster, random);
  const double seconds = OneOf(random, {0.5, 3, 12});
  cluster.network().Hold(from, to, true);
  return {absl::StrCat("lost for good what ", from, " sends to ", to, " in ", seconds, " s"), seconds,
          [&cluster, from = from, to = to] {
            cluster.network().Reset(from, to);
            cluster.network().Heal();
          }};
}

Broken Delay(Cluster& cluster, Random& random) {
  const auto [from, to] = TwoTasks(cluster, random);
  const auto ms = static_cast<int64_t>(OneOf(random, {20, 300, 2500}));
  cluster.network().Delay(from, to, ms);
  return {absl::StrCat("delayed what ", from, " sends to ", to, " by ", ms, " ms"), 10, Heal(cluster)};
}

// Another program holds the address of a task.
Broken Squat(Cluster& cluster, Random& random) {
  static const char* const kAnswers[] = {"", "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n", "\x17nonsense"};
  const std::string task = cluster.tasks()[Below(random, cluster.tasks().size())];
  const size_t answer = Below(random, std::size(kAnswers));
  cluster.network().Squat(task, kAnswers[answer]);
  return {absl::StrCat("another program at the address of ", task, " (", answer, ")"), OneOf(random, {1, 6, 40}),
          Heal(cluster)};
}

// Somebody who knows nothing sends garbage.
Broken Stranger(Cluster& cluster, Random& random) {
  const size_t task = Below(random, cluster.tasks().size());
  std::string bytes(Below(random, 2000), '\0');
  for (char& byte : bytes) byte = static_cast<char>(random());
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(5);
  const StatusOr<UniqueFd> socket = ConnectTcp(cluster.address(task), deadline);
  if (socket.ok()) SendAll(socket->get(), bytes, -1, deadline).IgnoreError();
  return {absl::StrCat("garbage to ", cluster.tasks()[task]), 0, Heal(cluster)};
}

// Half of the latest checkpoint is gone. Nobody notices until something is restored.
Broken Damage(Cluster& cluster, Random& /*random*/) {
  if (cluster.checkpoints() == nullptr) return {"damaged no checkpoint", 0, [] {}};
  const std::string name = cluster.checkpoints()->DamageLatest();
  cluster.record().CheckpointLost(cluster.checkpoints()->restorable_step());
  return {name.empty() ? "damaged no checkpoint" : absl::StrCat("damaged ", name), 0, [] {}};
}

}  // namespace

const std::vector<Fault>& Faults() {
  static const auto* const faults = new std::vector<Fault>{
      {"kill_ps", KillPs},
      {"kill_all_ps", KillAllPs},
      {"kill_worker", KillWorker},
      {"kill_in_step", KillInStep},
      {"half_open", HalfOpen},
      {"cut", Cut},
      {"freeze", Freeze},
      {"reset", Reset},
      {"lose_held", LoseHeld},
      {"delay", Delay},
      {"squat", Squat},
      {"stranger", Stranger},
      {"damage", Damage},
  };
  return *faults;
}

}  // namespace millstream::chaos
