// SPDX-License-Identifier: Apache-2.0
#include "millstream/distributed/cluster/cluster_spec.h"

#include <cstdlib>
#include <nlohmann/json.hpp>
#include <set>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "millstream/proto/cluster.pb.h"

namespace millstream {
namespace {

using Json = nlohmann::ordered_json;

bool IsJobName(absl::string_view name) {
  if (name.empty() || !absl::ascii_isalpha(static_cast<unsigned char>(name[0]))) return false;
  return std::all_of(name.begin(), name.end(), [](unsigned char c) { return absl::ascii_isalnum(c) || c == '_'; });
}

Status NotHostPort(absl::string_view address) {
  return errors::InvalidArgument("Could not interpret \"", address, "\" as a host-port pair.");
}

StatusOr<int> ParseIndex(absl::string_view job, absl::string_view text) {
  int index = 0;
  if (!absl::SimpleAtoi(text, &index) || index < 0) {
    return errors::InvalidArgument("job '", job, "': task index '", text, "' is not a number from 0 on");
  }
  return index;
}

StatusOr<ClusterSpec::Tasks> TasksFromJson(const std::string& job, const Json& json) {
  ClusterSpec::Tasks tasks;
  if (json.is_array()) {
    for (const Json& address : json) {
      if (!address.is_string()) return errors::InvalidArgument("job '", job, "': task addresses must be strings");
      tasks.emplace(static_cast<int>(tasks.size()), address.get<std::string>());
    }
    return tasks;
  }
  if (!json.is_object()) {
    return errors::InvalidArgument("job '", job, "' must be a list of addresses, or a map from task index to address");
  }
  for (const auto& [key, address] : json.items()) {
    if (!address.is_string()) return errors::InvalidArgument("job '", job, "': task addresses must be strings");
    ASSIGN_OR_RETURN(const int index, ParseIndex(job, key));
    if (!tasks.emplace(index, address.get<std::string>()).second) {
      return errors::InvalidArgument("job '", job, "': task ", index, " is there twice");
    }
  }
  return tasks;
}

StatusOr<Json> ParseObject(absl::string_view what, absl::string_view text) {
  Json json = Json::parse(text.begin(), text.end(), nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) return errors::InvalidArgument(what, " is not a JSON object: ", text.substr(0, 200));
  return json;
}

StatusOr<ClusterSpec> ClusterFromJson(const Json& json) {
  std::map<std::string, ClusterSpec::Tasks> jobs;
  for (const auto& [job, tasks] : json.items()) {
    ASSIGN_OR_RETURN(ClusterSpec::Tasks parsed, TasksFromJson(job, tasks));
    jobs.emplace(job, std::move(parsed));
  }
  return ClusterSpec::Make(std::move(jobs));
}

}  // namespace

StatusOr<HostPort> ParseHostPort(absl::string_view address) {
  const size_t colon = address.rfind(':');
  if (colon == absl::string_view::npos || colon == 0) return NotHostPort(address);
  absl::string_view host = address.substr(0, colon);
  const absl::string_view port = address.substr(colon + 1);
  HostPort parsed;
  const bool digits = !port.empty() && port.size() <= 5 &&
                      std::all_of(port.begin(), port.end(), [](unsigned char c) { return absl::ascii_isdigit(c); });
  if (!digits || !absl::SimpleAtoi(port, &parsed.port) || parsed.port > 65535) return NotHostPort(address);
  if (host.front() == '[') {
    if (host.size() < 4 || host.back() != ']') return NotHostPort(address);
    host = host.substr(1, host.size() - 2);
    if (!absl::StrContains(host, ':')) return NotHostPort(address);
  } else if (absl::StrContains(host, ':')) {
    return NotHostPort(address);
  }
  for (unsigned char c : host) {
    if (!absl::ascii_isalnum(c) && c != '.' && c != '-' && c != '_' && c != ':' && c != '%')
      return NotHostPort(address);
  }
  parsed.host = std::string(host);
  return parsed;
}

std::string TaskName(absl::string_view job, int task) { return absl::StrCat("/job:", job, "/replica:0/task:", task); }

StatusOr<ClusterSpec> ClusterSpec::Make(std::map<std::string, Tasks> jobs) {
  std::map<std::string, std::string> owners;  // address -> task
  for (const auto& [job, tasks] : jobs) {
    if (!IsJobName(job)) {
      return errors::InvalidArgument("'", job, "' is not a job name: a letter, followed by letters, digits and '_'");
    }
    for (const auto& [index, address] : tasks) {
      if (index < 0) return errors::InvalidArgument("job '", job, "': task index ", index, " is negative");
      StatusOr<HostPort> parsed = ParseHostPort(address);
      if (!parsed.ok()) return WithContext(parsed.status(), TaskName(job, index));
      if (parsed->port == 0) continue;  // any free port: not the same one
      const auto [owner, added] = owners.emplace(address, TaskName(job, index));
      if (!added)
        return errors::InvalidArgument(owner->second, " and ", TaskName(job, index), " have the same address ",
                                       address);
    }
  }
  ClusterSpec cluster;
  cluster.jobs_ = std::move(jobs);
  return cluster;
}

StatusOr<ClusterSpec> ClusterSpec::FromJson(absl::string_view text) {
  ASSIGN_OR_RETURN(const Json json, ParseObject("the cluster", text));
  return ClusterFromJson(json);
}

StatusOr<ClusterSpec> ClusterSpec::FromProto(const proto::ClusterDef& def) {
  std::map<std::string, Tasks> jobs;
  for (const proto::JobDef& job : def.job()) {
    const auto [it, added] = jobs.emplace(job.name(), Tasks(job.tasks().begin(), job.tasks().end()));
    if (!added) return errors::InvalidArgument("Duplicate job ID in cluster specification: ", job.name());
  }
  return Make(std::move(jobs));
}

StatusOr<ClusterSpec> ClusterSpec::FromHosts(const std::vector<std::pair<std::string, std::string>>& hosts) {
  std::map<std::string, Tasks> jobs;
  for (const auto& [job, list] : hosts) {
    if (list.empty()) continue;
    Tasks tasks;
    for (absl::string_view address : absl::StrSplit(list, ',')) {
      tasks.emplace(static_cast<int>(tasks.size()), std::string(absl::StripAsciiWhitespace(address)));
    }
    if (!jobs.emplace(job, std::move(tasks)).second) return errors::InvalidArgument("job '", job, "' is there twice");
  }
  return Make(std::move(jobs));
}

std::vector<std::string> ClusterSpec::jobs() const {
  std::vector<std::string> names;
  for (const auto& [job, tasks] : jobs_) names.push_back(job);
  return names;
}

int ClusterSpec::num_tasks() const {
  size_t count = 0;
  for (const auto& [job, tasks] : jobs_) count += tasks.size();
  return static_cast<int>(count);
}

bool ClusterSpec::Has(absl::string_view job, int task) const {
  auto it = jobs_.find(std::string(job));
  return it != jobs_.end() && it->second.count(task) > 0;
}

StatusOr<const ClusterSpec::Tasks*> ClusterSpec::tasks(absl::string_view job) const {
  auto it = jobs_.find(std::string(job));
  if (it != jobs_.end()) return &it->second;
  return errors::InvalidArgument("Job \"", job,
                                 "\" was not defined in cluster (its jobs: ", absl::StrJoin(jobs(), ", "), ")");
}

StatusOr<std::string> ClusterSpec::address(absl::string_view job, int task) const {
  ASSIGN_OR_RETURN(const Tasks* const all, tasks(job));
  auto it = all->find(task);
  if (it != all->end()) return it->second;
  const auto index = [](std::string* out, const Tasks::value_type& t) { absl::StrAppend(out, t.first); };
  return errors::InvalidArgument("Task ", task, " was not defined in job \"", job,
                                 "\" (its tasks: ", absl::StrJoin(*all, ", ", index), ")");
}

std::vector<ClusterSpec::Task> ClusterSpec::all_tasks() const {
  std::vector<Task> all;
  for (const auto& [job, tasks] : jobs_) {
    for (const auto& [index, address] : tasks) all.push_back({job, index, address});
  }
  return all;
}

StatusOr<ClusterSpec> ClusterSpec::With(const std::string& job, int task, const std::string& address) const {
  RETURN_IF_ERROR(this->address(job, task).status());
  std::map<std::string, Tasks> jobs = jobs_;
  jobs[job][task] = address;
  return Make(std::move(jobs));
}

void ClusterSpec::ToProto(proto::ClusterDef* cluster) const {
  cluster->Clear();
  for (const auto& [name, tasks] : jobs_) {
    proto::JobDef* job = cluster->add_job();
    job->set_name(name);
    for (const auto& [index, address] : tasks) (*job->mutable_tasks())[index] = address;
  }
}

std::string ClusterSpec::ToJson() const {
  Json json = Json::object();
  for (const auto& [name, tasks] : jobs_) {
    const bool dense = tasks.empty() || tasks.rbegin()->first == static_cast<int>(tasks.size()) - 1;
    Json& job = json[name] = dense ? Json::array() : Json::object();
    for (const auto& [index, address] : tasks) {
      if (dense)
        job.push_back(address);
      else
        job[absl::StrCat(index)] = address;
    }
  }
  return json.dump();
}

bool IsPsTask(const std::string& task) { return absl::StartsWith(task, absl::StrCat("/job:", kPsJob, "/")); }

StatusOr<TfConfig> TfConfig::FromJson(absl::string_view text) {
  ASSIGN_OR_RETURN(const Json json, ParseObject("TF_CONFIG", text));
  TfConfig config;
  if (json.contains("cluster")) {
    if (!json["cluster"].is_object()) return errors::InvalidArgument("TF_CONFIG: \"cluster\" must be an object");
    ASSIGN_OR_RETURN(config.cluster, ClusterFromJson(json["cluster"]));
  }
  if (!json.contains("task")) return config;
  const Json& task = json["task"];
  if (!task.is_object()) return errors::InvalidArgument("TF_CONFIG: \"task\" must be an object");
  if (task.contains("type")) {
    if (!task["type"].is_string()) return errors::InvalidArgument("TF_CONFIG: \"type\" of the task must be a string");
    config.job = task["type"].get<std::string>();
  }
  if (!task.contains("index")) return config;
  const Json& index = task["index"];
  if (!index.is_string() && !index.is_number_integer())
    return errors::InvalidArgument("TF_CONFIG: \"index\" of the task must be a number");
  ASSIGN_OR_RETURN(config.task, ParseIndex(config.job, index.is_string() ? index.get<std::string>() : index.dump()));
  return config;
}

StatusOr<TfConfig> TfConfig::FromEnvironment() {
  const char* text = std::getenv("TF_CONFIG");
  if (text == nullptr || *text == '\0') return TfConfig();
  return FromJson(text);
}

}  // namespace millstream
