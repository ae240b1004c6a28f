// SPDX-License-Identifier: Apache-2.0
#include "millstream/launch/job_registration.h"

#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <filesystem>

#include "absl/strings/ascii.h"
#include "millstream/base/logging.h"

namespace millstream::launch {
namespace {

constexpr int kMostOfOneName = 1000;

std::string ThisHost() {
  char name[256] = {};
  return gethostname(name, sizeof(name) - 1) == 0 ? name : "?";
}

std::string Now() {
  const std::time_t now = std::time(nullptr);
  std::tm local{};
  localtime_r(&now, &local);
  char text[32];
  std::strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S", &local);
  return text;
}

}  // namespace

bool IsJobName(absl::string_view name) {
  const auto allowed = [](unsigned char c) { return absl::ascii_isalnum(c) || c == '-' || c == '_' || c == '.'; };
  return !name.empty() && name[0] != '.' && std::all_of(name.begin(), name.end(), allowed);
}

JobRecord NewJobRecord(const std::string& name, const std::string& folder, const std::string& job_id) {
  JobRecord record;
  record.name = name;
  record.folder = folder;
  record.job_id = job_id;
  record.pid = getpid();
  record.host = ThisHost();
  record.since = Now();
  return record;
}

StatusOr<std::unique_ptr<HeldRecord>> HoldFolder(const JobRecord& record) {
  std::error_code error;
  std::filesystem::create_directories(record.folder, error);
  if (error) return errors::Unavailable("cannot make the folder ", record.folder, ": ", error.message());
  JobRecord holder;
  StatusOr<std::unique_ptr<HeldRecord>> held = HeldRecord::Hold(RecordPathIn(record.folder), record, &holder);
  if (held.ok() || !absl::IsAlreadyExists(held.status())) return held;
  if (!record.job_id.empty() && holder.job_id == record.job_id) return std::unique_ptr<HeldRecord>();
  return errors::AlreadyExists(record.folder, " is in use by ", holder.Describe(),
                               ": choose another folder, or end it with 'millstream stop ", record.folder, "'");
}

StatusOr<std::unique_ptr<JobRegistration>> JobRegistration::Make(const Options& options) {
  std::unique_ptr<JobRegistration> registration(new JobRegistration);
  registration->record_ = NewJobRecord(options.name, options.folder, options.job_id);
  if (!options.folder.empty()) {
    ASSIGN_OR_RETURN(registration->by_folder_, HoldFolder(registration->record_));
  }
  RETURN_IF_ERROR(registration->TakeName(options));
  return registration;
}

Status JobRegistration::TakeName(const Options& options) {
  const bool given = !options.name.empty();
  const std::string& base = given ? options.name : options.default_name;
  if (!IsJobName(base)) {
    return errors::InvalidArgument("'", base, "' cannot be the name of a job: letters, digits, '-', '_' and '.' only, ",
                                   "and no '.' in front");
  }
  const StatusOr<std::string> folder = JobsFolder();
  if (!folder.ok()) {
    LogWarning(absl::StrCat("the job cannot be found by its name: ", folder.status().message()));
    return OkStatus();
  }
  for (int i = 1; i < kMostOfOneName; ++i) {
    record_.name = i == 1 ? base : absl::StrCat(base, "-", i);
    JobRecord holder;
    auto held = HeldRecord::Hold(absl::StrCat(*folder, "/", record_.name, ".job"), record_, &holder);
    if (held.ok()) {
      by_name_ = *std::move(held);
      return by_folder_ == nullptr ? OkStatus() : by_folder_->Write(record_);
    }
    if (!absl::IsAlreadyExists(held.status())) return held.status();
    if (given) return errors::AlreadyExists("--name ", base, " is in use by ", holder.Describe());
  }
  return errors::ResourceExhausted("more than ", kMostOfOneName, " jobs of the name ", base);
}

Status JobRegistration::SetTasks(const ClusterSpec& cluster, const std::string& token_file) {
  record_.cluster = cluster.ToJson();
  record_.token_file = token_file;
  if (by_folder_ != nullptr) RETURN_IF_ERROR(by_folder_->Write(record_));
  return by_name_ == nullptr ? OkStatus() : by_name_->Write(record_);
}

}  // namespace millstream::launch
