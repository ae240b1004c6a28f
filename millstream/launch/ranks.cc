// SPDX-License-Identifier: Apache-2.0
#include "millstream/launch/ranks.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdlib>
#include <set>

#include "absl/strings/numbers.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "millstream/launch/free_ports.h"
#include "millstream/launch/job_registration.h"
#include "millstream/launch/rendezvous.h"

namespace millstream::launch {
namespace {

using Clock = std::chrono::steady_clock;

std::string Env(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

StatusOr<int> EnvNumber(const char* name) {
  int number = 0;
  const std::string text = Env(name);
  if (!absl::SimpleAtoi(text, &number) || number < 0)
    return errors::InvalidArgument(name, ": '", text, "' is no number");
  return number;
}

std::string HostName() {
  std::array<char, 256> name = {};
  return gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "localhost";
}

StatusOr<Ranks> MakeRanks(const char* system, const std::string& job, const char* rank, const char* size) {
  Ranks ranks;
  ranks.system = system;
  // It becomes the name of a folder.
  for (char c : job) ranks.job.push_back(std::isalnum(static_cast<unsigned char>(c)) ? c : '-');
  ASSIGN_OR_RETURN(ranks.rank, EnvNumber(rank));
  ASSIGN_OR_RETURN(ranks.size, EnvNumber(size));
  if (ranks.rank >= ranks.size)
    return errors::InvalidArgument(rank, " is ", ranks.rank, ", ", size, " is ", ranks.size);
  ranks.host = HostName();
  return ranks;
}

std::string FolderFor(const Ranks& ranks, const RankOptions& options) {
  std::string folder = options.folder.empty() ? Env("MILLSTREAM_RENDEZVOUS") : options.folder;
  if (folder.empty()) folder = absl::StrCat(Env("HOME").empty() ? "." : Env("HOME"), "/.millstream");
  return absl::StrCat(folder, "/", ranks.system, "-", ranks.job);
}

std::vector<JobTask> TasksAt(const JobOptions& options, int rank, int size) {
  const std::vector<JobTask> all = TasksOf(options);
  std::vector<JobTask> tasks;
  for (size_t i = static_cast<size_t>(rank); i < all.size(); i += static_cast<size_t>(size)) tasks.push_back(all[i]);
  return tasks;
}

// "host port port ..." of each rank as addresses in the order of the tasks. One host alone: loopback will do.
StatusOr<std::vector<std::string>> AddressesOf(const std::vector<std::string>& texts, size_t tasks) {
  std::vector<std::vector<std::string>> words;
  bool one_host = true;
  for (const std::string& text : texts) {
    words.push_back(absl::StrSplit(text, ' ', absl::SkipEmpty()));
    if (words.back().empty()) return errors::Internal("a rank did not report its host");
    one_host = one_host && words.back()[0] == words[0][0];
  }
  std::vector<std::string> addresses;
  for (size_t i = 0; i < tasks; ++i) {
    const std::vector<std::string>& own = words[i % words.size()];
    const size_t port = 1 + i / words.size();
    if (port >= own.size())
      return errors::InvalidArgument("rank ", i % words.size(), " was started with other flags: it has too few tasks");
    addresses.push_back(absl::StrCat(one_host ? "localhost" : own[0], ":", own[port]));
  }
  return addresses;
}

// What a rank says of itself: its tasks other than ps have ended well; it has ended; it has failed.
constexpr absl::string_view kDone = "done", kGone = "gone", kFailed = "failed";

// Looks twice a second what the other ranks say.
class Watcher {
 public:
  Watcher(const JobOptions& options, const Ranks& ranks, Rendezvous& rendezvous)
      : rank_(ranks.rank), rendezvous_(rendezvous) {
    for (int rank = 0; rank < ranks.size; ++rank) {
      for (const JobTask& task : TasksAt(options, rank, ranks.size)) {
        if (task.job != "ps") waits_for_.insert(rank);
      }
    }
  }

  void Look(ProcessGroup& group) {
    if (Clock::now() < next_ || group.stopping()) return;
    next_ = Clock::now() + std::chrono::milliseconds(500);
    if (!said_done_ && group.num_running(false) == 0) {
      said_done_ = true;
      rendezvous_.Say(std::string(kDone)).IgnoreError();
    }
    const std::map<int, std::string> words = rendezvous_.Words();
    for (const auto& [rank, word] : words) {
      if (rank == rank_ || word != kFailed) continue;
      group.Note(absl::StrCat("rank ", rank, " has failed; stopping the tasks of rank ", rank_));
      stopped_by_other_ = true;
      group.Stop(SIGTERM);
      return;
    }
    if (std::all_of(waits_for_.begin(), waits_for_.end(), [&](int rank) { return words.count(rank) > 0; }))
      group.ReleaseServices();
  }

  bool stopped_by_other() const { return stopped_by_other_; }

 private:
  const int rank_;
  Rendezvous& rendezvous_;
  std::set<int> waits_for_;
  Clock::time_point next_ = {};
  bool said_done_ = false;
  bool stopped_by_other_ = false;
};

// The last one tidies up.
void Leave(Rendezvous& rendezvous, int size, bool well) {
  rendezvous.Say(std::string(well ? kGone : kFailed)).IgnoreError();
  const std::map<int, std::string> words = rendezvous.Words();
  const auto left = std::count_if(words.begin(), words.end(), [](const auto& word) { return word.second != kDone; });
  if (left == size) rendezvous.Remove();
}

Status CheckRanks(const JobOptions& options, const Ranks& ranks) {
  RETURN_IF_ERROR(CheckJob(options));
  const size_t tasks = TasksOf(options).size();
  if (tasks < static_cast<size_t>(ranks.size)) {
    return errors::InvalidArgument(ranks.system, " has started ", ranks.size, " processes, but the job has only ",
                                   tasks, " tasks: start ", tasks, ", or leave --workers out to take what there is");
  }
  return OkStatus();
}

}  // namespace

StatusOr<std::optional<Ranks>> FindRanks() {
  // Set by srun alone: a batch script or an allocation is no rank.
  if (!Env("SLURM_STEP_NUM_TASKS").empty() && !Env("SLURM_PROCID").empty()) {
    const std::string job =
        absl::StrCat(Env("SLURM_JOB_ID"), "-", Env("SLURM_STEP_ID"), "-", Env("SLURM_RESTART_COUNT"));
    ASSIGN_OR_RETURN(Ranks ranks, MakeRanks("slurm", job, "SLURM_PROCID", "SLURM_STEP_NUM_TASKS"));
    if (!Env("SLURMD_NODENAME").empty()) ranks.host = Env("SLURMD_NODENAME");
    return ranks;
  }
  if (!Env("OMPI_COMM_WORLD_RANK").empty()) {
    // The name is short enough to come twice; mpirun's address does not.
    const std::string job =
        absl::StrCat(Env("PMIX_NAMESPACE"), "-", absl::Hex(std::hash<std::string>()(Env("OMPI_MCA_orte_hnp_uri"))));
    ASSIGN_OR_RETURN(Ranks ranks, MakeRanks("openmpi", job, "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"));
    return ranks;
  }
  return std::nullopt;
}

StatusOr<GroupResult> RunInRanks(const JobOptions& options, const Ranks& ranks, const RankOptions& rank_options,
                                 GroupOptions group) {
  RETURN_IF_ERROR(CheckRanks(options, ranks));
  const std::vector<JobTask> tasks = TasksAt(options, ranks.rank, ranks.size);
  ASSIGN_OR_RETURN(const FreePorts free, FreePorts::Reserve(static_cast<int>(tasks.size())));
  std::string token;
  if (ranks.rank == 0) {
    ASSIGN_OR_RETURN(token, TokenOf(options));
  }
  ASSIGN_OR_RETURN(Rendezvous rendezvous, Rendezvous::Open(FolderFor(ranks, rank_options), ranks.rank, ranks.size));
  ASSIGN_OR_RETURN(const Rendezvous::Meeting meeting,
                   rendezvous.Meet(absl::StrCat(ranks.host, " ", absl::StrJoin(free.ports(), " ")), token,
                                   Clock::now() + rank_options.timeout));
  ASSIGN_OR_RETURN(const std::vector<std::string> addresses, AddressesOf(meeting.texts, TasksOf(options).size()));
  ASSIGN_OR_RETURN(const ClusterSpec cluster, ClusterOf(options, addresses));
  ASSIGN_OR_RETURN(std::vector<ProcessSpec> processes, ProcessesOf(options, cluster, tasks, meeting.common,
                                                                   absl::StrCat(ranks.system, "-", ranks.job), &group));
  if (ranks.rank == 0 && options.registration != nullptr) {
    const std::string token_path = group.scratch_folder.empty() ? "" : absl::StrCat(group.scratch_folder, "/token");
    RETURN_IF_ERROR(options.registration->SetTasks(cluster, token_path));
  }
  Watcher watcher(options, ranks, rendezvous);
  ProcessGroup* running = nullptr;
  group.hold_services = true;
  group.on_tick = [&] { watcher.Look(*running); };
  ProcessGroup processes_here(std::move(processes), std::move(group));
  running = &processes_here;
  if (ranks.rank == 0)
    running->Note(absl::StrCat("starting ", cluster.ToJson(), " in ", ranks.size, " ranks of ", ranks.system));
  GroupResult result = running->Run();
  if (watcher.stopped_by_other()) result.signal = 0;  // the rank that failed gives the exit code
  Leave(rendezvous, ranks.size, result.exit_code() == 0);
  return result;
}

StatusOr<RankAddresses> MeetRanks(const Ranks& ranks, const RankOptions& options) {
  ASSIGN_OR_RETURN(const FreePorts free, FreePorts::Reserve(1));
  RankAddresses result;
  std::string token;
  if (ranks.rank == 0) {
    ASSIGN_OR_RETURN(token, TokenOf({}));
  }
  ASSIGN_OR_RETURN(Rendezvous rendezvous, Rendezvous::Open(FolderFor(ranks, options), ranks.rank, ranks.size));
  ASSIGN_OR_RETURN(const Rendezvous::Meeting meeting, rendezvous.Meet(absl::StrCat(ranks.host, " ", free.ports()[0]),
                                                                      token, Clock::now() + options.timeout));
  ASSIGN_OR_RETURN(result.addresses, AddressesOf(meeting.texts, static_cast<size_t>(ranks.size)));
  for (const std::string& text : meeting.texts) result.hosts.push_back(text.substr(0, text.find(' ')));
  result.token = meeting.common;
  Leave(rendezvous, ranks.size, /*well=*/true);
  return result;
}

StatusOr<GroupResult> RunTfConfig(const JobOptions& options, GroupOptions group) {
  if (options.command.empty()) return CheckJob(options);
  ASSIGN_OR_RETURN(const TfConfig config, TfConfig::FromEnvironment());
  if (config.cluster.empty() || config.job.empty())
    return errors::InvalidArgument("--in tf_config: TF_CONFIG names no cluster and task");
  const JobTask task = {config.job, config.task};
  ProcessSpec process = ProcessOf(options, config.cluster, task);
  process.service = false;
  return ProcessGroup({process}, std::move(group)).Run();
}

}  // namespace millstream::launch
