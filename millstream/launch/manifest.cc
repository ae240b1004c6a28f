// SPDX-License-Identifier: Apache-2.0
#include "millstream/launch/manifest.h"

#include <cctype>

#include "absl/strings/str_join.h"
#include "millstream/launch/job_token.h"
#include "millstream/launch/yaml.h"

namespace millstream::launch {
namespace {

using Json = nlohmann::ordered_json;

constexpr char kTokenFolder[] = "/run/millstream";

Status CheckName(const std::string& what, const std::string& name) {
  bool good = !name.empty() && name.size() <= 40 && name.front() != '-' && name.back() != '-' &&
              !std::isdigit(static_cast<unsigned char>(name.front()));
  for (char c : name)
    good = good &&
           (std::islower(static_cast<unsigned char>(c)) || std::isdigit(static_cast<unsigned char>(c)) || c == '-');
  if (good) return OkStatus();
  return errors::InvalidArgument(what, ": '", name,
                                 "' must be 1 to 40 lower-case letters, digits and '-', and begin with a letter");
}

Status CheckManifest(const ManifestOptions& options) {
  RETURN_IF_ERROR(CheckJob(options.job));
  RETURN_IF_ERROR(CheckName("--name", options.name));
  if (!options.name_space.empty()) RETURN_IF_ERROR(CheckName("--namespace", options.name_space));
  if (options.image.empty())
    return errors::InvalidArgument("which image? Give --image, e.g. --image registry.example.com/train:1");
  if (options.port < 1 || options.port > 65535) return errors::InvalidArgument("--port must be 1 to 65535");
  if (options.claim.empty() != options.folder.empty())
    return errors::InvalidArgument("--volume names a claim and a folder: claim:/data");
  if (!options.folder.empty() && options.folder[0] != '/')
    return errors::InvalidArgument("--volume: '", options.folder, "' is no absolute path");
  return OkStatus();
}

Json Metadata(const ManifestOptions& options, const std::string& name) {
  Json metadata = {
      {"name", name},
      {"labels", {{"app.kubernetes.io/name", "millstream"}, {"app.kubernetes.io/instance", options.name}}}};
  if (!options.name_space.empty()) metadata["namespace"] = options.name_space;
  return metadata;
}

Json Secret(const ManifestOptions& options, const std::string& token) {
  return {{"apiVersion", "v1"},
          {"kind", "Secret"},
          {"metadata", Metadata(options, options.name + "-token")},
          {"type", "Opaque"},
          {"stringData", {{"token", token}}}};
}

// Gives every task a name, also before it is ready: the others wait for it by that.
Json Service(const ManifestOptions& options) {
  return {{"apiVersion", "v1"},
          {"kind", "Service"},
          {"metadata", Metadata(options, options.name)},
          {"spec",
           {{"clusterIP", "None"},
            {"publishNotReadyAddresses", true},
            {"selector", {{"app.kubernetes.io/instance", options.name}}},
            {"ports", Json::array({{{"name", "grpc"}, {"port", options.port}}})}}}};
}

Json Environment(const ManifestOptions& options) {
  Json environment = Json::array(
      {{{"name", "MILLSTREAM_JOB_ID"}, {"value", options.name}}, {{"name", "PYTHONUNBUFFERED"}, {"value", "1"}}});
  const auto set = [&](const char* name, const std::string& value) {
    environment.push_back({{"name", name}, {"value", value}});
  };
  if (options.job.insecure)
    set("MILLSTREAM_INSECURE", "1");
  else
    set("MILLSTREAM_TOKEN_FILE", absl::StrCat(kTokenFolder, "/token"));
  const std::string root = options.job.file_root.empty() ? options.folder : options.job.file_root;
  if (!root.empty()) set("MILLSTREAM_FILE_ROOT", root);
  return environment;
}

// A ps serves until its job is done: one that answers nobody is started again. Other tasks may close their server
// before they end.
void AddProbes(const ManifestOptions& options, bool is_ps, Json* container) {
  const Json socket = {{"tcpSocket", {{"port", options.port}}}};
  const auto probe = [&](int period, int failures) {
    Json probe = socket;
    probe["periodSeconds"] = period;
    probe["failureThreshold"] = failures;
    return probe;
  };
  if (is_ps) (*container)["startupProbe"] = probe(2, 150);
  (*container)["readinessProbe"] = probe(5, 3);
  if (is_ps) (*container)["livenessProbe"] = probe(10, 6);
}

Json Container(const ManifestOptions& options, const std::string& name, bool is_ps,
               const std::vector<std::string>& command, const Json& environment) {
  Json container = {{"name", name}, {"image", options.image}, {"command", command}, {"env", environment}};
  container["ports"] =
      Json::array({{{"name", options.tfjob ? "tfjob-port" : "grpc"}, {"containerPort", options.port}}});
  AddProbes(options, is_ps, &container);
  Json resources;
  if (!options.cpu.empty()) resources["cpu"] = options.cpu;
  if (!options.memory.empty()) resources["memory"] = options.memory;
  if (!resources.is_null()) container["resources"]["requests"] = resources;
  if (!options.memory.empty()) container["resources"]["limits"]["memory"] = options.memory;
  container["securityContext"] = {{"allowPrivilegeEscalation", false}, {"capabilities", {{"drop", {"ALL"}}}}};
  Json mounts = Json::array();
  if (!options.job.insecure) mounts.push_back({{"name", "token"}, {"mountPath", kTokenFolder}, {"readOnly", true}});
  if (!options.claim.empty()) mounts.push_back({{"name", "data"}, {"mountPath", options.folder}});
  if (!mounts.empty()) container["volumeMounts"] = mounts;
  return container;
}

Json PodSpec(const ManifestOptions& options, const Json& container) {
  constexpr int kReadableByGroup = 0440;
  Json pod = {{"terminationGracePeriodSeconds", options.grace_s}, {"automountServiceAccountToken", false}};
  pod["securityContext"] = {{"runAsNonRoot", true},
                            {"runAsUser", options.user},
                            {"runAsGroup", options.user},
                            {"fsGroup", options.user},
                            {"seccompProfile", {{"type", "RuntimeDefault"}}}};
  pod["containers"] = Json::array({container});
  Json volumes = Json::array();
  if (!options.job.insecure) {
    volumes.push_back(
        {{"name", "token"}, {"secret", {{"secretName", options.name + "-token"}, {"defaultMode", kReadableByGroup}}}});
  }
  if (!options.claim.empty())
    volumes.push_back({{"name", "data"}, {"persistentVolumeClaim", {{"claimName", options.claim}}}});
  if (!volumes.empty()) pod["volumes"] = volumes;
  return pod;
}

// One Job for each task: it ends with its task, and its pod keeps the name that the others know.
Json TaskJob(const ManifestOptions& options, const ClusterSpec& cluster, const JobTask& task) {
  const std::string name = absl::StrCat(options.name, "-", task.job, "-", task.index);
  std::vector<std::string> command = options.job.command;
  if (options.job.pass_flags) {
    for (std::string& flag : TaskFlags(cluster, task)) command.push_back(std::move(flag));
  }
  Json environment = Environment(options);
  environment.push_back({{"name", "TF_CONFIG"}, {"value", TfConfigOf(cluster, task)}});
  Json pod = PodSpec(options, Container(options, "task", task.job == "ps", command, environment));
  pod["hostname"] = name;
  pod["subdomain"] = options.name;
  pod["restartPolicy"] = options.job.max_restarts > 0 ? "OnFailure" : "Never";
  Json labels = Metadata(options, name)["labels"];
  labels["millstream/job"] = task.job;
  return {{"apiVersion", "batch/v1"},
          {"kind", "Job"},
          {"metadata", Metadata(options, name)},
          {"spec",
           {{"backoffLimit", options.job.max_restarts},
            {"ttlSecondsAfterFinished", 86400},
            {"template", {{"metadata", {{"labels", labels}}}, {"spec", pod}}}}}};
}

// The operator makes names, TF_CONFIG and the service; ps pods are removed when the workers have ended.
Json TfJob(const ManifestOptions& options) {
  std::vector<std::string> command = options.job.command;
  if (options.job.pass_flags) {
    const std::vector<std::string> launcher = {"millstream", "launch", "--in", "tf_config", "--"};
    command.insert(command.begin(), launcher.begin(), launcher.end());
  }
  Json specs;
  const auto add = [&](const char* kind, int replicas) {
    if (replicas == 0) return;
    const Json container =
        Container(options, "tensorflow", kind == absl::string_view("PS"), command, Environment(options));
    specs[kind] = {{"replicas", replicas},
                   {"restartPolicy", options.job.max_restarts > 0 ? "OnFailure" : "Never"},
                   {"template", {{"spec", PodSpec(options, container)}}}};
  };
  add("Chief", options.job.chief ? 1 : 0);
  add("PS", options.job.ps);
  add("Worker", options.job.workers);
  return {{"apiVersion", "kubeflow.org/v1"},
          {"kind", "TFJob"},
          {"metadata", Metadata(options, options.name)},
          {"spec",
           {{"runPolicy",
             {{"cleanPodPolicy", "Running"},
              {"backoffLimit", options.job.max_restarts},
              {"ttlSecondsAfterFinished", 86400}}},
            {"successPolicy", "AllWorkers"},
            {"tfReplicaSpecs", specs}}}};
}

}  // namespace

StatusOr<std::string> MakeManifest(const ManifestOptions& options) {
  RETURN_IF_ERROR(CheckManifest(options));
  std::vector<Json> documents;
  if (!options.job.insecure) {
    ASSIGN_OR_RETURN(const std::string token, MakeToken());
    documents.push_back(Secret(options, token));
  }
  if (options.tfjob) {
    documents.push_back(TfJob(options));
  } else {
    documents.push_back(Service(options));
    const std::vector<JobTask> tasks = TasksOf(options.job);
    std::vector<std::string> addresses;
    for (const JobTask& task : tasks) {
      addresses.push_back(
          absl::StrCat(options.name, "-", task.job, "-", task.index, ".", options.name, ":", options.port));
    }
    ASSIGN_OR_RETURN(const ClusterSpec cluster, ClusterOf(options.job, addresses));
    for (const JobTask& task : tasks) documents.push_back(TaskJob(options, cluster, task));
  }
  std::vector<std::string> texts;
  for (const Json& document : documents) texts.push_back(ToYaml(document));
  return absl::StrJoin(texts, "---\n");
}

}  // namespace millstream::launch
