// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <filesystem>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "cli/command.h"
#include "millstream/launch/elastic_job.h"
#include "millstream/launch/job_registration.h"
#include "millstream/launch/ranks.h"
#include "millstream/launch/ssh.h"

namespace millstream::cli {
namespace {

struct LaunchFlags {
  launch::JobOptions job;
  launch::SshOptions ssh;
  launch::RankOptions ranks;
  launch::ElasticOptions elastic;
  std::string where = "auto";
  std::string workers;  // "4" or "2:8"; "": not given
  double elastic_timeout = 600;
  double rendezvous_timeout = 120;
  std::string name, hosts, ssh_command = "ssh";
  std::vector<std::string> words;  // that should have come after --
  bool no_flags = false;
  double grace = 10;
  double connect_timeout = 15;
};

std::chrono::milliseconds Milliseconds(double seconds) {
  return std::chrono::milliseconds(static_cast<int64_t>(seconds * 1000));
}

// "4", or "2:8" for a job whose workers come and go.
Status ReadWorkers(LaunchFlags& flags) {
  if (flags.workers.empty()) return OkStatus();
  const std::vector<std::string> numbers = absl::StrSplit(flags.workers, ':');
  const bool range = numbers.size() == 2;
  int least = 0;
  if (numbers.size() > 2 || !absl::SimpleAtoi(numbers[0], &least) || least < 0 ||
      !absl::SimpleAtoi(numbers.back(), &flags.job.workers) || flags.job.workers < 0) {
    return errors::InvalidArgument("--workers: '", flags.workers, "' is neither a number nor LEAST:MOST");
  }
  if (range && least < 1)
    return errors::InvalidArgument("--workers ", flags.workers, ": at least one worker is needed");
  if (range) flags.elastic.min_workers = least;
  return OkStatus();
}

bool IsElastic(const LaunchFlags& flags) { return absl::StrContains(flags.workers, ':'); }

StatusOr<launch::GroupResult> RunElastic(LaunchFlags& flags, const launch::GroupOptions& group) {
  if (!flags.ssh.hosts.empty() || (flags.where != "auto" && flags.where != "local")) {
    return errors::InvalidArgument("--workers ", flags.workers,
                                   ": a job whose number of workers changes runs on this machine (--in local)");
  }
  flags.elastic.timeout = Milliseconds(flags.elastic_timeout);
  return launch::RunElastically(flags.job, flags.elastic, group);
}

StatusOr<launch::GroupResult> RunJob(LaunchFlags& flags, const launch::GroupOptions& group) {
  if (IsElastic(flags)) return RunElastic(flags, group);
  if (!flags.elastic.discovery.empty()) return errors::InvalidArgument("--discovery needs --workers LEAST:MOST");
  if (!flags.ssh.hosts.empty()) {
    if (flags.where != "auto" && flags.where != "ssh")
      return errors::InvalidArgument("--hosts does not go with --in ", flags.where);
    return launch::RunOverSsh(flags.job, flags.ssh, group);
  }
  if (flags.where == "ssh") return errors::InvalidArgument("--in ssh: on which hosts? Give --hosts a,b");
  if (flags.where == "tf_config") return launch::RunTfConfig(flags.job, group);
  if (flags.where == "local") return launch::RunLocally(flags.job, group);
  ASSIGN_OR_RETURN(const std::optional<launch::Ranks> ranks, launch::FindRanks());
  if (flags.where != "auto" && (!ranks || ranks->system != flags.where)) {
    return errors::FailedPrecondition("--in ", flags.where, ": this process was not started by ",
                                      flags.where == "slurm" ? "srun" : "mpirun");
  }
  if (!ranks) return launch::RunLocally(flags.job, group);
  if (flags.workers.empty()) flags.job.workers = std::max(0, ranks->size - flags.job.ps - (flags.job.chief ? 1 : 0));
  return launch::RunInRanks(flags.job, *ranks, flags.ranks, group);
}

// "train-17" for "python train.py" in process 17.
std::string DefaultName(const std::vector<std::string>& command) {
  std::string name = command.empty() ? "job" : std::filesystem::path(command[0]).filename().string();
  for (const std::string& word : command) {
    const std::filesystem::path path(word);
    if (path.extension() != ".py") continue;
    name = path.stem().string();
    break;
  }
  std::replace_if(
      name.begin(), name.end(), [](unsigned char c) { return !absl::ascii_isalnum(c) && c != '_'; }, '-');
  return absl::StrCat(name, "-", getpid());
}

// So that check, stop and trace find the job by its name. Of ranks, the first one knows the job.
StatusOr<std::unique_ptr<launch::JobRegistration>> Register(const LaunchFlags& flags) {
  ASSIGN_OR_RETURN(const std::optional<launch::Ranks> ranks, launch::FindRanks());
  const bool in_ranks = flags.where != "local" && flags.where != "tf_config" && flags.ssh.hosts.empty();
  if (in_ranks && ranks.has_value() && ranks->rank != 0) return std::unique_ptr<launch::JobRegistration>();
  launch::JobRegistration::Options options;
  options.name = flags.name;
  options.default_name = DefaultName(flags.job.command);
  options.job_id = launch::NewJobId();
  return launch::JobRegistration::Make(options);
}

int RunLaunch(LaunchFlags flags) {
  if (!flags.words.empty())
    return FailFlags(errors::InvalidArgument("put -- before the program: millstream launch ... -- ", flags.words[0]));
  if (const Status status = ReadWorkers(flags); !status.ok()) return FailFlags(status);
  flags.job.command = ProgramArguments();
  flags.job.pass_flags = !flags.no_flags;
  flags.ssh.hosts = absl::StrSplit(flags.hosts, ',', absl::SkipEmpty());
  flags.ssh.ssh = absl::StrSplit(flags.ssh_command, ' ', absl::SkipEmpty());
  flags.ssh.connect_timeout = Milliseconds(flags.connect_timeout);
  flags.ranks.timeout = Milliseconds(flags.rendezvous_timeout);
  launch::GroupOptions group;
  group.grace = Milliseconds(flags.grace);
  StatusOr<std::unique_ptr<launch::JobRegistration>> registration = Register(flags);
  if (!registration.ok()) return FailFlags(registration.status());
  flags.job.registration = registration->get();
  const StatusOr<launch::GroupResult> result = RunJob(flags, group);
  if (!result.ok()) return FailFlags(result.status());
  if (const std::string report = result->Report(); !report.empty())
    std::fprintf(stderr, "millstream: %s\n", report.c_str());
  return result->exit_code();
}

Command::Run AddLaunchFlags(CLI::App& app) {
  auto flags = std::make_shared<LaunchFlags>();
  app.add_option("--ps", flags->job.ps, "tasks of job ps (default: 0)")->check(CLI::Range(0, 2000));
  app.add_option("--workers", flags->workers,
                 "tasks of job worker (default: 1; under srun and mpirun what is left). LEAST:MOST: workers may come\n"
                 "and go while the program trains (hvd.elastic)");
  app.add_option(
      "--discovery", flags->elastic.discovery,
      "with --workers LEAST:MOST: a command that prints how many may run now, 'localhost:4'; it is run every "
      "second");
  app.add_option("--elastic_timeout", flags->elastic_timeout,
                 "seconds that such a job waits for LEAST workers (default: 600)")
      ->check(CLI::Range(0.1, 86400.0));
  app.add_flag("--chief", flags->job.chief, "a task of job chief besides the workers");
  app.add_option("--max_restarts", flags->job.max_restarts, "how often a task that fails is started again (default: 0)")
      ->check(CLI::Range(0, 1000000));
  app.add_option("--grace", flags->grace, "seconds a task has to end before it is killed (default: 10)")
      ->check(CLI::Range(0.0, 86400.0));
  app.add_flag("--no_flags", flags->no_flags,
               "pass the cluster in TF_CONFIG only, without --ps_hosts, --worker_hosts, --job_name, --task_index\n"
               "(so it is anyway if there are workers alone)");
  app.add_option("--file_root", flags->job.file_root,
                 "folders in which graphs may read and write files, with ':' between them\n"
                 "(default: MILLSTREAM_FILE_ROOT, else everywhere here and the current folder on other hosts)");
  app.add_option("--status_port", flags->job.status_port,
                 "port of the status page, at the chief or worker 0; 0: any free one, -1: none\n"
                 "(default: MILLSTREAM_STATUS_PORT, else none)")
      ->envname("MILLSTREAM_STATUS_PORT")
      ->check(CLI::Range(-1, 65535));
  app.add_option("--name", flags->name,
                 "name of the job, for 'millstream check', 'stop' and 'trace' (default: program and process number)");
  app.add_option("--token_file", flags->job.token_file,
                 "file with the job token (default: MILLSTREAM_TOKEN_FILE, else a new token is made)");
  app.add_flag("--insecure", flags->job.insecure, "without a job token: everybody may connect who can reach the tasks");
  app.add_option("--in", flags->where,
                 "where: local, ssh (--hosts), slurm (srun), openmpi (mpirun), tf_config (the one task it names)\n"
                 "(default: auto: what the environment says, else local)")
      ->check(CLI::IsMember({"auto", "local", "ssh", "slurm", "openmpi", "tf_config"}));
  app.add_option("--rendezvous", flags->ranks.folder,
                 "srun, mpirun: folder that all hosts see (default: MILLSTREAM_RENDEZVOUS or ~/.millstream)");
  app.add_option("--rendezvous_timeout", flags->rendezvous_timeout,
                 "seconds to wait for all ranks there (default: 120)")
      ->check(CLI::Range(0.1, 86400.0));
  app.add_option("--hosts", flags->hosts, "host,user@host,host=address: run the tasks there, over ssh");
  app.add_option("--ssh", flags->ssh_command, "the ssh command with its options (default: ssh)");
  app.add_option("--connect_timeout", flags->connect_timeout, "seconds a host has to answer (default: 15)")
      ->check(CLI::Range(0.1, 3600.0));
  app.add_option("--remote_program", flags->ssh.program, "millstream on the hosts (default: the path of this one)");
  app.add_option("--remote_folder", flags->ssh.folder, "folder to start in on the hosts (default: the current one)");
  app.add_option("program", flags->words, "-- and the program with its arguments")
      ->expected(0, CLI::detail::expected_max_vector_size);
  app.footer(
      "Each task gets --ps_hosts, --worker_hosts, --job_name and --task_index, TF_CONFIG, and the job's token in the "
      "file that MILLSTREAM_TOKEN_FILE names. Its lines are printed behind [job:index]. When one fails, the others are "
      "stopped, and the exit code is that of the first failure. ps tasks are stopped when all others have ended. "
      "Ctrl-C "
      "is passed on; a second Ctrl-C kills.");
  return [flags] { return RunLaunch(*flags); };
}

const Registration<Command> kLaunchCommand({
    .name = "launch",
    .group = Command::Group::kJobs,
    .help = "Run a TF1 program as a cluster: every task is one process of it.\n"
            "Examples: millstream launch --ps 2 --workers 2 -- python train.py --batch_size 64\n"
            "          millstream launch --workers 4 -- python -m millstream horovod_program.py\n"
            "          millstream launch --workers 2:8 -- python -m millstream elastic_program.py",
    .takes_program = true,
    .add_flags = AddLaunchFlags,
});

}  // namespace
}  // namespace millstream::cli
