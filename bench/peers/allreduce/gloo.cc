// SPDX-License-Identifier: Apache-2.0
// Time of an all-reduce with Gloo, as `millstream bench allreduce` measures it:
// allreduce_gloo FOLDER RANK RANKS SECONDS BYTES...
#include <gloo/allreduce_halving_doubling.h>
#include <gloo/allreduce_ring_chunked.h>
#include <gloo/barrier.h>
#include <gloo/broadcast.h>
#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/file_store.h>
#include <gloo/transport/tcp/device.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;
constexpr int kRounds = 7;

double TimeRound(const std::shared_ptr<gloo::Context>& context, gloo::Algorithm& algorithm, int count) {
  gloo::BarrierOptions barrier(context);
  gloo::barrier(barrier);
  const auto start = Clock::now();
  for (int i = 0; i < count; ++i) algorithm.run();
  return std::chrono::duration<double>(Clock::now() - start).count();
}

int CountFor(const std::shared_ptr<gloo::Context>& context, double seconds_each, double seconds) {
  int count = std::clamp(static_cast<int>(seconds / kRounds / seconds_each), 1, 1'000'000);
  gloo::BroadcastOptions options(context);
  options.setOutput(&count, 1);
  options.setRoot(0);
  gloo::broadcast(options);
  return count;
}

// "64KB", as `millstream bench allreduce` names sizes.
std::string SizeName(long bytes) {
  if (bytes >= (1 << 20) && bytes % (1 << 20) == 0) return std::to_string(bytes >> 20) + "MB";
  if (bytes >= 1024 && bytes % 1024 == 0) return std::to_string(bytes >> 10) + "KB";
  return std::to_string(bytes) + "B";
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 6) return 2;
  const int rank = std::atoi(argv[2]), ranks = std::atoi(argv[3]);
  const double seconds = std::atof(argv[4]);
  gloo::transport::tcp::attr attributes;
  attributes.hostname = "127.0.0.1";
  auto device = gloo::transport::tcp::CreateDevice(attributes);
  gloo::rendezvous::FileStore store(argv[1]);
  auto context = std::make_shared<gloo::rendezvous::Context>(rank, ranks);
  context->connectFullMesh(store, device);
  for (int i = 5; i < argc; ++i) {
    const long bytes = std::atol(argv[i]);
    std::vector<float> data(static_cast<size_t>(bytes) / sizeof(float));
    const std::vector<float*> pointers = {data.data()};
    gloo::AllreduceHalvingDoubling<float> algorithm(context, pointers, static_cast<int>(data.size()));
    TimeRound(context, algorithm, 1);
    int count = CountFor(context, TimeRound(context, algorithm, 2) / 2, seconds / 10);
    count = CountFor(context, TimeRound(context, algorithm, count) / count, seconds);
    std::vector<double> rounds;
    for (int r = 0; r < kRounds; ++r) rounds.push_back(TimeRound(context, algorithm, count) / count);
    std::nth_element(rounds.begin(), rounds.begin() + kRounds / 2, rounds.end());
    if (rank == 0) {
      std::printf("{\"name\": \"allreduce/gloo/tcp/%d_ranks/%s\", \"value\": %.3f, \"unit\": \"us\"}\n", ranks,
                  SizeName(bytes).c_str(), rounds[kRounds / 2] * 1e6);
      std::fflush(stdout);
    }
  }
  return 0;
}
