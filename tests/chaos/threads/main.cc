// SPDX-License-Identifier: Apache-2.0
// Disturbs training jobs whose tasks are threads of this process, in virtual time, and checks that nothing hangs, is
// lost or is applied twice:
//
//   cluster_chaos [--seed N] [--faults N] [--only NAME,NAME] [--mode async|sync|allreduce] [--patience SECONDS]
//
// The seed chooses the jobs and their faults; threads run as they do. Ends with 1 if an invariant was violated.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <optional>
#include <random>

#include "absl/strings/numbers.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "tests/chaos/threads/faults.h"
#include "tests/chaos/threads/network.h"
#include "tests/chaos/threads/virtual_time.h"

namespace millstream::chaos {
namespace {

using std::chrono::steady_clock;

struct Settings {
  uint64_t seed = 1;
  int faults = 100;
  int faults_per_job = 33;
  double patience = 120;  // virtual seconds after which a worker without a step hangs
  std::vector<std::string> only;
  std::optional<Mode> mode;  // none: all of them, by turns
};

steady_clock::duration Seconds(double seconds) {
  return std::chrono::duration_cast<steady_clock::duration>(std::chrono::duration<double>(seconds));
}

class Run {
 public:
  explicit Run(const Settings& settings) : settings_(settings) {}

  bool RunAll() {
    for (int done = 0, job = 0; done < settings_.faults; ++job) {
      const int count = std::min(settings_.faults_per_job, settings_.faults - done);
      RunJob(job, done, count);
      done += count;
    }
    PrintTable();
    return violations_ == 0;
  }

 private:
  void RunJob(int job, int first, int count) {
    std::mt19937_64 random(settings_.seed * 1'000'003 + static_cast<uint64_t>(job));
    Cluster::Options options;
    constexpr Mode kTurns[] = {Mode::kAsync, Mode::kSync, Mode::kAllReduce};
    options.mode = settings_.mode.value_or(kTurns[job % 3]);
    const bool has_ps = options.mode != Mode::kAllReduce;
    options.ps = has_ps ? 1 + static_cast<int>(random() % 3) : 0;
    options.workers = has_ps ? 1 + static_cast<int>(random() % 3) : 2 + static_cast<int>(random() % 2);
    options.links = random() % 3 == 0 ? "grpc" : "tcp";
    options.saves = random() % 3 != 0;
    std::printf("job %d: %s, %d ps, %d workers, %s links%s\n", job, NameOf(options.mode), options.ps, options.workers,
                options.links.c_str(), options.saves ? ", saves" : "");
    Cluster cluster(options);
    AwaitSteps(cluster, "the start");
    for (int done = 0; done < count;) done += Disturb(cluster, random, first + done, count - done);
    steps_ += cluster.record().steps();
  }

  // One fault, or two at the same time.
  int Disturb(Cluster& cluster, std::mt19937_64& random, int number, int most) {
    std::vector<const Fault*> faults;
    std::vector<Broken> broken;
    double seconds = 0;
    const int count = random() % 3 == 0 ? std::min(2, most) : 1;
    for (int i = 0; i < count; ++i) {
      faults.push_back(&Choose(random));
      broken.push_back(faults.back()->inflict(cluster, random));
      seconds = std::max(seconds, broken.back().seconds);
    }
    std::this_thread::sleep_for(Seconds(seconds));
    std::string what;
    for (const Broken& one : broken) {
      one.mend();
      absl::StrAppend(&what, what.empty() ? "" : "; ", one.what);
    }
    const double took = AwaitSteps(cluster, what);
    std::printf("%5d %s; all went on after %.1f s\n", number + 1, what.c_str(), took);
    std::fflush(stdout);
    for (const Fault* fault : faults) recoveries_[fault->name].push_back(took);
    return count;
  }

  const Fault& Choose(std::mt19937_64& random) const {
    std::vector<const Fault*> faults;
    for (const Fault& fault : Faults()) {
      if (settings_.only.empty() || std::count(settings_.only.begin(), settings_.only.end(), fault.name) > 0)
        faults.push_back(&fault);
    }
    return *faults[random() % faults.size()];
  }

  // Virtual seconds until every worker has had steps answered.
  double AwaitSteps(Cluster& cluster, const std::string& after) {
    const int64_t since = VirtualTime::now_ns();
    const std::vector<int> behind =
        cluster.record().AwaitSteps(since, 2, steady_clock::now() + Seconds(settings_.patience));
    if (!behind.empty()) {
      Violation(absl::StrCat("no step for ", settings_.patience, " s after ", after, " at worker ",
                             absl::StrJoin(behind, ", ")));
    }
    for (const std::string& violation : cluster.record().TakeViolations())
      Violation(absl::StrCat(violation, ", after ", after));
    if (cluster.checkpoints() != nullptr) {
      for (const std::string& unreadable : cluster.checkpoints()->Unreadable())
        Violation(absl::StrCat("a checkpoint cannot be read after ", after, ": ", unreadable));
    }
    for (const std::string& ended : cluster.EndedPrograms())
      Violation(absl::StrCat("a program ended after ", after, ": ", ended));
    if (!behind.empty()) {
      PrintTable();
      std::fflush(stdout);
      std::_Exit(1);  // a task that hangs could not be stopped
    }
    return static_cast<double>(VirtualTime::now_ns() - since) / 1e9;
  }

  void Violation(const std::string& what) {
    ++violations_;
    std::printf("VIOLATION (seed %llu): %s\n", static_cast<unsigned long long>(settings_.seed), what.c_str());
    std::fflush(stdout);
  }

  void PrintTable() {
    size_t faults = 0;
    for (const auto& [name, seconds] : recoveries_) faults += seconds.size();
    std::printf("seed %llu: %zu faults, %d violations, %lld steps, %.0f s of virtual time (%llu jumps)\n",
                static_cast<unsigned long long>(settings_.seed), faults, violations_, static_cast<long long>(steps_),
                static_cast<double>(VirtualTime::skipped_ns()) / 1e9,
                static_cast<unsigned long long>(VirtualTime::jumps()));
    for (auto& [name, seconds] : recoveries_) {
      std::sort(seconds.begin(), seconds.end());
      std::printf("  %-12s %5zu times, went on after %5.1f s (median), %5.1f s (most)\n", name.c_str(), seconds.size(),
                  seconds[seconds.size() / 2], seconds.back());
    }
  }

  const Settings settings_;
  int violations_ = 0;
  int64_t steps_ = 0;
  std::map<std::string, std::vector<double>> recoveries_;
};

bool Parse(int argc, char** argv, Settings* settings) {
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string name = argv[i], value = argv[i + 1];
    const bool known = (name == "--seed" && absl::SimpleAtoi(value, &settings->seed)) ||
                       (name == "--faults" && absl::SimpleAtoi(value, &settings->faults)) ||
                       (name == "--patience" && absl::SimpleAtod(value, &settings->patience));
    if (name == "--only")
      settings->only = absl::StrSplit(value, ',');
    else if (name == "--mode")
      settings->mode = ModeNamed(value);
    else if (!known)
      return false;
    if (name == "--mode" && !settings->mode.has_value()) return false;
  }
  return argc % 2 == 1;
}

}  // namespace
}  // namespace millstream::chaos

int main(int argc, char** argv) {
  millstream::chaos::Settings settings;
  if (!millstream::chaos::Parse(argc, argv, &settings)) {
    std::fprintf(stderr, "usage: %s [--seed N] [--faults N] [--only NAME,NAME] [--mode NAME] [--patience SECONDS]\n",
                 argv[0]);
    return 2;
  }
  setenv("MILLSTREAM_KEEP_PS", "1", 1);        // a worker that is killed has not ended its job
  setenv("MILLSTREAM_MIN_LOG_LEVEL", "2", 0);  // what tasks say of faults; set it to 0 to read it
  millstream::chaos::VirtualTime::Start();
  return millstream::chaos::Run(settings).RunAll() ? 0 : 1;
}
