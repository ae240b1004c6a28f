// SPDX-License-Identifier: Apache-2.0
#include "millstream/launch/manifest.h"

#include <CLI/CLI.hpp>
#include <cstdio>

#include "absl/strings/str_split.h"
#include "cli/command.h"
#include "cli/number_checks.h"

namespace millstream::cli {
namespace {

struct ManifestFlags {
  launch::ManifestOptions options;
  std::string kind = "jobs", volume;
  std::vector<std::string> words;
  bool no_flags = false;
};

int RunManifest(ManifestFlags flags) {
  if (!flags.words.empty())
    return FailFlags(errors::InvalidArgument("put -- before the program: millstream manifest ... -- ", flags.words[0]));
  launch::ManifestOptions& options = flags.options;
  options.job.command = ProgramArguments();
  options.job.pass_flags = !flags.no_flags;
  options.tfjob = flags.kind == "tfjob";
  if (!flags.volume.empty()) {
    const std::pair<std::string, std::string> parts = absl::StrSplit(flags.volume, absl::MaxSplits(':', 1));
    options.claim = parts.first;
    options.folder = parts.second;
  }
  const StatusOr<std::string> manifest = launch::MakeManifest(options);
  if (!manifest.ok()) return FailFlags(manifest.status());
  std::fputs(manifest->c_str(), stdout);
  return 0;
}

Command::Run AddManifestFlags(CLI::App& app) {
  auto flags = std::make_shared<ManifestFlags>();
  launch::ManifestOptions& options = flags->options;
  app.add_option("--kind", flags->kind, "jobs: plain Jobs and a Service; tfjob: a TFJob of Kubeflow (default: jobs)")
      ->check(CLI::IsMember({"jobs", "tfjob"}));
  app.add_option("--image", options.image, "image that holds the program");
  app.add_option("--name", options.name, "name of the job (default: millstream)");
  app.add_option("--namespace", options.name_space, "namespace (default: kubectl's)");
  app.add_option("--ps", options.job.ps, "tasks of job ps (default: 0)")->check(CLI::Range(0, 2000));
  app.add_option("--workers", options.job.workers, "tasks of job worker (default: 1)")->check(CLI::Range(0, 2000));
  app.add_flag("--chief", options.job.chief, "a task of job chief besides the workers");
  app.add_option("--port", options.port, "port of every task (default: 2222)")->check(CLI::Range(1, 65535));
  app.add_option("--max_restarts", options.job.max_restarts,
                 "how often a task that fails is started again (default: 0)")
      ->check(CLI::Range(0, 1000000));
  app.add_option("--grace", options.grace_s, "seconds a task has to end before it is killed (default: 60)")
      ->check(CLI::Range(0, 86400));
  app.add_option("--cpu", options.cpu, "CPUs that each task asks for, e.g. 2");
  app.add_option("--memory", options.memory, "memory of each task, e.g. 4Gi; more is not given");
  app.add_option("--volume", flags->volume, "claim:/folder: a PersistentVolumeClaim for data and checkpoints");
  app.add_option("--user", options.user, "user and group id of the processes (default: 1000)")->check(AboveZero());
  app.add_option("--file_root", options.job.file_root,
                 "folders in which graphs may read and write files (default: that of --volume)");
  app.add_flag("--no_flags", flags->no_flags,
               "pass the cluster in TF_CONFIG only, without --ps_hosts, --worker_hosts, --job_name, --task_index");
  app.add_flag("--insecure", options.job.insecure, "without a job token: everybody may connect who can reach the pods");
  app.add_option("program", flags->words, "-- and the program with its arguments")
      ->expected(0, CLI::detail::expected_max_vector_size);
  app.footer(
      "Each new manifest has a new token: delete the old job before you apply it. With --kind tfjob the image needs "
      "millstream itself, which turns the operator's TF_CONFIG into flags (unless --no_flags).");
  return [flags] { return RunManifest(*flags); };
}

const Registration<Command> kManifestCommand({
    .name = "manifest",
    .group = Command::Group::kJobs,
    .help = "Print a job for Kubernetes: the same as launch, in pods.\n"
            "Example: millstream manifest --image registry.example.com/train:1 --ps 1 --workers 2 -- python train.py | "
            "kubectl apply -f -",
    .takes_program = true,
    .add_flags = AddManifestFlags,
});

}  // namespace
}  // namespace millstream::cli
