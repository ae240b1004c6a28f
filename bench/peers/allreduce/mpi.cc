// SPDX-License-Identifier: Apache-2.0
// Time of an all-reduce with Open MPI, as `millstream bench allreduce` measures it:
// allreduce_mpi TRANSPORT SECONDS BYTES..., under mpirun.
#include <mpi.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

namespace {

constexpr int kRounds = 7;

double TimeRound(std::vector<float>& data, int count) {
  MPI_Barrier(MPI_COMM_WORLD);
  const double start = MPI_Wtime();
  for (int i = 0; i < count; ++i) {
    MPI_Allreduce(MPI_IN_PLACE, data.data(), static_cast<int>(data.size()), MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
  }
  return MPI_Wtime() - start;
}

int CountFor(double seconds_each, double seconds) {
  int count = std::clamp(static_cast<int>(seconds / kRounds / seconds_each), 1, 1'000'000);
  MPI_Bcast(&count, 1, MPI_INT, 0, MPI_COMM_WORLD);
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
  MPI_Init(&argc, &argv);
  int rank = 0, ranks = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (argc < 3) return 2;
  const double seconds = std::atof(argv[2]);
  for (int i = 3; i < argc; ++i) {
    const long bytes = std::atol(argv[i]);
    std::vector<float> data(static_cast<size_t>(bytes) / sizeof(float));
    TimeRound(data, 1);
    int count = CountFor(TimeRound(data, 2) / 2, seconds / 10);
    count = CountFor(TimeRound(data, count) / count, seconds);
    std::vector<double> rounds;
    for (int r = 0; r < kRounds; ++r) rounds.push_back(TimeRound(data, count) / count);
    std::nth_element(rounds.begin(), rounds.begin() + kRounds / 2, rounds.end());
    if (rank == 0) {
      std::printf("{\"name\": \"allreduce/mpi/%s/%d_ranks/%s\", \"value\": %.3f, \"unit\": \"us\"}\n", argv[1], ranks,
                  SizeName(bytes).c_str(), rounds[kRounds / 2] * 1e6);
      std::fflush(stdout);
    }
  }
  MPI_Finalize();
  return 0;
}
