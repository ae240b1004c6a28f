// SPDX-License-Identifier: Apache-2.0
// The simulated network against costs that are known in closed form.
#include <gtest/gtest.h>

#include <numeric>

#include "millstream/collective/simulation/replay.h"
#include "millstream/collective/simulation/training.h"

namespace millstream::collective {
namespace {

constexpr double kLatency = 100e-6, kRate = 1e9, kMessage = 10e-6, kByte = 1e-10;

NetworkOptions Plain() {
  NetworkOptions options;
  options.between_hosts = {kLatency, kRate, 0};
  options.message_s = kMessage;
  options.byte_s = kByte;
  return options;
}

std::vector<int> HostEach(int ranks) {
  std::vector<int> hosts(static_cast<size_t>(ranks));
  std::iota(hosts.begin(), hosts.end(), 0);
  return hosts;
}

TEST(SimulatedNetworkTest, OneMessageTakesLatencyAndBytes) {
  SimulatedNetwork network(Plain(), HostEach(2));
  double sent = 0, delivered = 0;
  network.Send(
      0, 1, 1e6, [&] { sent = network.now(); }, [&] { delivered = network.now(); });
  network.Run();
  EXPECT_DOUBLE_EQ(sent, 1e6 / kRate);
  EXPECT_DOUBLE_EQ(delivered, kLatency + 1e6 / kRate);
}

TEST(SimulatedNetworkTest, MessagesShareTheSendersAndTheReceiversEnd) {
  for (const bool to_one : {false, true}) {
    SimulatedNetwork network(Plain(), HostEach(5));
    double last = 0;
    for (int i = 1; i < 5; ++i) {
      network.Send(to_one ? i : 0, to_one ? 0 : i, 1e6, nullptr, [&] { last = network.now(); });
    }
    network.Run();
    EXPECT_NEAR(last, kLatency + 4 * 1e6 / kRate, 1e-12) << to_one;
  }
}

TEST(SimulatedNetworkTest, ProcessesOfAHostDoNotUseTheNetwork) {
  NetworkOptions options = Plain();
  options.inside_host = {1e-6, 1e10, 0};
  SimulatedNetwork network(options, {0, 0, 1});
  double inside = 0, between = 0;
  network.Send(0, 1, 1e6, nullptr, [&] { inside = network.now(); });
  network.Send(0, 2, 1e6, nullptr, [&] { between = network.now(); });
  network.Run();
  EXPECT_DOUBLE_EQ(inside, 1e-6 + 1e6 / 1e10);
  EXPECT_DOUBLE_EQ(between, kLatency + 1e6 / kRate);
}

TEST(SimulatedNetworkTest, LinksMayDiffer) {
  NetworkOptions options = Plain();
  options.links[{0, 1}] = {1, kRate, 0};
  SimulatedNetwork network(options, HostEach(2));
  double there = 0, back = 0;
  network.Send(0, 1, 0, nullptr, [&] { there = network.now(); });
  network.Send(1, 0, 0, nullptr, [&] { back = network.now(); });
  network.Run();
  EXPECT_DOUBLE_EQ(there, 1);
  EXPECT_DOUBLE_EQ(back, kLatency);
}

TEST(SimulatedNetworkTest, LossesCostTimeAndAreTheSameForASeed) {
  const auto run = [](double loss, uint64_t seed) {
    NetworkOptions options = Plain();
    options.between_hosts.loss = loss;
    options.seed = seed;
    SimulatedNetwork network(options, HostEach(2));
    double last = 0;
    for (int i = 0; i < 100; ++i) network.Send(0, 1, 1e6, nullptr, [&] { last = network.now(); });
    network.Run();
    EXPECT_EQ(network.lost_packets() > 0, loss > 0);
    return last;
  };
  EXPECT_NEAR(run(0, 1), kLatency + 100 * 1e6 / kRate, 1e-9);
  EXPECT_GT(run(0.01, 1), run(0, 1) * 1.005);
  EXPECT_EQ(run(0.01, 7), run(0.01, 7));
  EXPECT_NE(run(0.01, 7), run(0.01, 8));
}

// 2 (n - 1) rounds; in each, a part is sent, travels, and is received.
TEST(ReplayTest, RingTakesWhatItsRoundsTake) {
  for (const int n : {2, 3, 8, 64}) {
    const uint64_t bytes = 4u * 1000 * static_cast<uint64_t>(n);  // parts of 4,000 bytes: one segment
    auto schedules = RecordAllReduce(HostEach(n), Algorithm::kRing, bytes);
    ASSERT_TRUE(schedules.ok()) << schedules.status();
    const double part = 4000, round = kLatency + part / kRate + kMessage + part * kByte;
    // The first send of each half begins at once; the sender's own time is over before the first part comes. A round
    // that begins after a receive begins with a send.
    EXPECT_NEAR(SecondsOf(Plain(), HostEach(n), *schedules), 2 * (n - 1) * round, 2 * n * kMessage) << n;
  }
}

TEST(ReplayTest, EveryAlgorithmEndsAndSendsWhatItMust) {
  for (const int n : {2, 3, 5, 16}) {
    for (const Algorithm algorithm :
         {Algorithm::kFlat, Algorithm::kTree, Algorithm::kRing, Algorithm::kHalvingDoubling, Algorithm::kTwoLevel}) {
      std::vector<int> hosts = HostEach(n);
      if (algorithm == Algorithm::kTwoLevel) {
        for (int& host : hosts) host /= 2;
      }
      auto schedules = RecordAllReduce(hosts, algorithm, 4'000'000);
      ASSERT_TRUE(schedules.ok()) << schedules.status();
      uint64_t sends = 0, awaits = 0;
      for (const Schedule& schedule : *schedules) {
        for (const ScheduleStep& step : schedule) {
          if (step.kind == ScheduleStep::Kind::kSend) sends += step.bytes;
          if (step.kind == ScheduleStep::Kind::kAwait) awaits += step.bytes;
        }
      }
      EXPECT_EQ(sends, awaits) << AlgorithmName(algorithm) << " " << n;
      EXPECT_GE(sends, 2u * static_cast<uint64_t>(n - 1) * 4'000'000 * (algorithm == Algorithm::kTwoLevel ? 0 : 1))
          << AlgorithmName(algorithm) << " " << n;
      const double seconds = SecondsOf(Plain(), hosts, *schedules);
      EXPECT_GT(seconds, 0) << AlgorithmName(algorithm) << " " << n;
      EXPECT_EQ(seconds, SecondsOf(Plain(), hosts, *schedules)) << AlgorithmName(algorithm) << " " << n;
    }
  }
}

TrainingOptions Job(TrainingMode mode, int workers) {
  TrainingOptions options;
  options.network = Plain();
  options.mode = mode;
  options.workers = workers;
  options.model_bytes = 1'000'000;
  options.compute_s = 0.01;
  options.jitter = 0;
  options.apply_byte_s = 0;
  return options;
}

double StepOf(const TrainingOptions& options) {
  const auto result = SimulateTraining(options);
  EXPECT_TRUE(result.ok()) << result.status();
  return result.ok() ? result->step_s : 0;
}

constexpr double kModel = 1e6;

TEST(SimulatedTrainingTest, OneAsynchronousWorkerPaysForItsExchange) {
  const double receive = kMessage + kModel * kByte;
  const double exchange = 2 * (kLatency + kModel / kRate) + 2 * receive + kMessage;
  EXPECT_NEAR(StepOf(Job(TrainingMode::kAsyncPs, 1)), 0.01 + exchange, 1e-9);
}

// Both ends of the ps' connection carry every worker's model.
TEST(SimulatedTrainingTest, OnePsLimitsItsWorkers) {
  for (const TrainingMode mode : {TrainingMode::kSyncPs, TrainingMode::kAsyncPs}) {
    const double step = StepOf(Job(mode, 64));
    EXPECT_GT(step, 0.9 * 64 * kModel / kRate) << TrainingModeName(mode);
    TrainingOptions many = Job(mode, 64);
    many.ps = 16;
    EXPECT_LT(StepOf(many), step / 4) << TrainingModeName(mode);
  }
}

TEST(SimulatedTrainingTest, AStragglerHoldsWhoWaitsForIt) {
  std::map<TrainingMode, double> slowdown;
  for (const TrainingMode mode : {TrainingMode::kSyncPs, TrainingMode::kAsyncPs, TrainingMode::kSsp,
                                  TrainingMode::kAllReduce, TrainingMode::kHierarchical, TrainingMode::kLocalSgd}) {
    TrainingOptions options = Job(mode, 8);
    options.ps = 8;
    options.steps = 16;
    options.workers_per_host = 2;
    const double even = StepOf(options);
    options.straggler_share = 1.0 / 8;
    options.straggler_factor = 5;
    slowdown[mode] = StepOf(options) / even;
  }
  EXPECT_GT(slowdown[TrainingMode::kSyncPs], 3);
  EXPECT_GT(slowdown[TrainingMode::kAllReduce], 3);
  EXPECT_LT(slowdown[TrainingMode::kAsyncPs], 1.6);
  EXPECT_LT(slowdown[TrainingMode::kHierarchical], 2.5);
  EXPECT_GT(slowdown[TrainingMode::kSsp], slowdown[TrainingMode::kAsyncPs]);
  EXPECT_LE(slowdown[TrainingMode::kSsp], slowdown[TrainingMode::kSyncPs]);
}

TEST(SimulatedTrainingTest, TheSameSeedGivesTheSameTimes) {
  for (const TrainingMode mode : {TrainingMode::kSyncPs, TrainingMode::kAsyncPs, TrainingMode::kSsp,
                                  TrainingMode::kAllReduce, TrainingMode::kHierarchical, TrainingMode::kLocalSgd}) {
    TrainingOptions options = Job(mode, 6);
    options.workers_per_host = 2;
    options.jitter = 0.3;
    options.network.between_hosts.loss = 0.001;
    EXPECT_EQ(StepOf(options), StepOf(options)) << TrainingModeName(mode);
    TrainingOptions other = options;
    other.seed = 2;
    EXPECT_NE(StepOf(options), StepOf(other)) << TrainingModeName(mode);
  }
}

TEST(SimulatedTrainingTest, RefusesNonsense) {
  TrainingOptions options = Job(TrainingMode::kAllReduce, 0);
  EXPECT_TRUE(absl::IsInvalidArgument(SimulateTraining(options).status()));
  options = Job(TrainingMode::kAllReduce, 2);
  options.network.between_hosts.bytes_per_s = 0;
  EXPECT_TRUE(absl::IsInvalidArgument(SimulateTraining(options).status()));
}

}  // namespace
}  // namespace millstream::collective
