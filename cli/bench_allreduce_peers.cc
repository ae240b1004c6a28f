// SPDX-License-Identifier: Apache-2.0
// All-reduce by Open MPI and Gloo, for comparison: programs of their own (bench/peers/allreduce), which are built where
// the packages are.
#include "cli/bench_allreduce_peers.h"

#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <thread>

#include "absl/strings/str_cat.h"
#include "millstream/launch/child_process.h"

namespace millstream::cli {
namespace {

using Arguments = std::vector<std::string>;

StatusOr<std::string> FindProgram(const std::string& backend) {
  std::error_code error;
  const std::filesystem::path here = std::filesystem::read_symlink("/proc/self/exe", error).parent_path();
  const std::filesystem::path program = here / absl::StrCat("allreduce_", backend);
  if (!error && access(program.c_str(), X_OK) == 0) return program.string();
  return errors::FailedPrecondition("There is no ", program.string(),
                                    ": it is built where the package is installed (Debian: libopenmpi-dev openmpi-bin "
                                    "for mpi, libgloo-dev for gloo)");
}

// Runs a process for each command, and prints what they print.
Status RunAll(const std::vector<Arguments>& commands) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::hours(1);
  std::vector<Status> ends(commands.size());
  std::vector<std::thread> threads;
  for (size_t i = 0; i < commands.size(); ++i) {
    threads.emplace_back([&, i] {
      launch::ProcessSpec spec;
      spec.command = commands[i];
      const StatusOr<launch::Captured> run = launch::RunToEnd(spec, deadline);
      ends[i] = run.status();
      if (!run.ok()) return;
      std::fputs(run->out.c_str(), stdout);
      if (run->exit_code != 0) ends[i] = errors::Unavailable(commands[i][0], " failed: ", run->err);
    });
  }
  for (std::thread& thread : threads) thread.join();
  Status status;
  for (const Status& end : ends) status.Update(end);
  return status;
}

Status RunMpi(const std::string& program, const BenchOptions& options, const std::string& transport,
              const Arguments& sizes) {
  Arguments command = {"mpirun", "--allow-run-as-root", "--oversubscribe", "-np", absl::StrCat(options.ranks)};
  for (const char* one : {"--mca", "pml", "ob1", "--mca", "btl"}) command.emplace_back(one);
  command.emplace_back(transport == "shm" ? "self,vader" : "self,tcp");
  command.insert(command.end(), {program, transport, absl::StrCat(options.seconds)});
  command.insert(command.end(), sizes.begin(), sizes.end());
  return RunAll({command});
}

Status RunGloo(const std::string& program, const BenchOptions& options, const Arguments& sizes) {
  char folder[] = "/tmp/allreduce_gloo_XXXXXX";
  if (mkdtemp(folder) == nullptr) return errors::Unavailable("There is no temporary folder");
  std::vector<Arguments> commands;
  for (int rank = 0; rank < options.ranks; ++rank) {
    commands.push_back(
        {program, folder, absl::StrCat(rank), absl::StrCat(options.ranks), absl::StrCat(options.seconds)});
    commands.back().insert(commands.back().end(), sizes.begin(), sizes.end());
  }
  const Status status = RunAll(commands);
  std::error_code ignored;
  std::filesystem::remove_all(folder, ignored);
  return status;
}

}  // namespace

Status BenchPeerAllReduce(const BenchOptions& options, const std::string& transport,
                          const std::vector<uint64_t>& sizes) {
  ASSIGN_OR_RETURN(const std::string program, FindProgram(options.backend));
  Arguments texts;
  for (const uint64_t bytes : sizes) texts.push_back(absl::StrCat(bytes));
  if (options.backend == "mpi") return RunMpi(program, options, transport, texts);
  if (transport == "shm")
    return options.transport.empty() ? OkStatus() : errors::InvalidArgument("Gloo has no shared memory");
  return RunGloo(program, options, texts);
}

}  // namespace millstream::cli
