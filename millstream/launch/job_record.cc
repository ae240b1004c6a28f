// SPDX-License-Identifier: Apache-2.0
#include "millstream/launch/job_record.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <thread>

#include "absl/strings/match.h"
#include "absl/strings/str_join.h"
#include "millstream/base/file.h"
#include "millstream/base/logging.h"
#include "millstream/launch/child_process.h"

namespace millstream::launch {
namespace {

namespace fs = std::filesystem;

constexpr char kRecordFile[] = ".millstream-job";
constexpr char kRecordEnding[] = ".job";

std::string ReadAll(int fd) {
  std::string text;
  char buffer[4096];
  lseek(fd, 0, SEEK_SET);
  for (ssize_t got = 0; (got = read(fd, buffer, sizeof(buffer))) > 0;) text.append(buffer, static_cast<size_t>(got));
  return text;
}

// True if `path` still names the open file: its former holder may have removed it meanwhile.
bool IsSameFile(int fd, const std::string& path) {
  struct stat open_file = {}, named = {};
  return fstat(fd, &open_file) == 0 && stat(path.c_str(), &named) == 0 && open_file.st_ino == named.st_ino &&
         open_file.st_dev == named.st_dev;
}

// 0, or the error. Whoever reads a record holds it for a moment, which is no reason to give up.
int Lock(int fd) {
  for (int i = 0;; ++i) {
    if (flock(fd, LOCK_EX | LOCK_NB) == 0) return 0;
    if (errno != EWOULDBLOCK || i == 5) return errno;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
}

}  // namespace

std::string JobRecord::ToJson() const {
  nlohmann::ordered_json json;
  json["name"] = name;
  json["job_id"] = job_id;
  json["pid"] = pid;
  json["host"] = host;
  json["since"] = since;
  json["folder"] = folder;
  json["cluster"] = cluster;
  json["token_file"] = token_file;
  return json.dump();
}

StatusOr<JobRecord> JobRecord::FromJson(absl::string_view text) {
  const auto json = nlohmann::json::parse(text.begin(), text.end(), nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) return errors::InvalidArgument("not the record of a job");
  const auto field = [&](const char* key) {
    const auto it = json.find(key);
    return it != json.end() && it->is_string() ? it->get<std::string>() : std::string();
  };
  JobRecord record;
  record.name = field("name");
  record.job_id = field("job_id");
  const auto pid = json.find("pid");
  if (pid != json.end() && pid->is_number_integer()) record.pid = pid->get<int64_t>();
  record.host = field("host");
  record.since = field("since");
  record.folder = field("folder");
  record.cluster = field("cluster");
  record.token_file = field("token_file");
  return record;
}

std::string JobRecord::Describe() const {
  return absl::StrCat("job ", name.empty() ? "without a name" : name, " (pid ", pid, " on host ", host, ", since ",
                      since, ")");
}

StatusOr<std::unique_ptr<HeldRecord>> HeldRecord::Hold(const std::string& path, const JobRecord& record,
                                                       JobRecord* holder) {
  while (true) {
    const int fd = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
    if (fd < 0) return ErrnoStatus(errno, path);
    std::unique_ptr<HeldRecord> held(new HeldRecord("", fd));
    const int error = Lock(fd);
    if (error == EWOULDBLOCK) {
      const StatusOr<JobRecord> other = JobRecord::FromJson(ReadAll(fd));
      if (holder != nullptr && other.ok()) *holder = *other;
      return errors::AlreadyExists(path, " is held by ", other.ok() ? other->Describe() : "another process");
    }
    if (error == 0 && !IsSameFile(fd, path)) continue;
    if (error != 0) {
      LogWarning(absl::StrCat(path, " cannot be locked (", std::strerror(error),
                              "): another job that uses the same folder will not be noticed"));
    }
    held->path_ = path;
    RETURN_IF_ERROR(held->Write(record));
    return held;
  }
}

HeldRecord::~HeldRecord() {
  if (!path_.empty()) unlink(path_.c_str());
  close(fd_);
}

Status HeldRecord::Write(const JobRecord& record) {
  const std::string text = record.ToJson() + "\n";
  // Not emptied first: others may read it meanwhile.
  if (lseek(fd_, 0, SEEK_SET) != 0 || !WriteAll(fd_, text) || ftruncate(fd_, static_cast<off_t>(text.size())) != 0)
    return ErrnoStatus(errno, path_);
  return OkStatus();
}

StatusOr<JobRecord> ReadHeldRecord(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return errors::NotFound(path, ": ", std::strerror(errno));
  const bool held = flock(fd, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
  const std::string text = ReadAll(fd);
  close(fd);
  if (!held) return errors::NotFound("the job of ", path, " is no longer running");
  return JobRecord::FromJson(text);
}

std::string RecordPathIn(const std::string& folder) { return absl::StrCat(folder, "/", kRecordFile); }

StatusOr<std::string> JobsFolder() {
  const char* runtime = std::getenv("XDG_RUNTIME_DIR");
  const bool usable = runtime != nullptr && access(runtime, W_OK | X_OK) == 0;
  const std::string folder =
      usable ? absl::StrCat(runtime, "/millstream-jobs") : absl::StrCat("/tmp/millstream-jobs-", getuid());
  if (mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST) return ErrnoStatus(errno, folder);
  struct stat info = {};
  if (lstat(folder.c_str(), &info) != 0) return ErrnoStatus(errno, folder);
  // Whoever can write there could name servers that get our token.
  if (!S_ISDIR(info.st_mode) || info.st_uid != getuid() || (info.st_mode & 077) != 0)
    return errors::PermissionDenied(folder, " must be a folder that only you can access");
  return folder;
}

std::vector<JobRecord> RunningJobs() {
  std::vector<JobRecord> jobs;
  const StatusOr<std::string> folder = JobsFolder();
  if (!folder.ok()) return jobs;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(*folder, error)) {
    if (entry.path().extension() != kRecordEnding) continue;
    StatusOr<JobRecord> record = ReadHeldRecord(entry.path());
    if (record.ok()) jobs.push_back(*std::move(record));
  }
  return jobs;
}

StatusOr<JobRecord> FindJob(const std::string& name_or_folder) {
  std::error_code error;
  if (fs::is_directory(name_or_folder, error)) {
    StatusOr<JobRecord> record = ReadHeldRecord(RecordPathIn(name_or_folder));
    if (record.ok()) return record;
    if (absl::StrContains(name_or_folder, '/')) return errors::NotFound("no running job writes to ", name_or_folder);
  }
  std::vector<std::string> names;
  for (JobRecord& job : RunningJobs()) {
    if (job.name == name_or_folder) return std::move(job);
    names.push_back(job.name);
  }
  return errors::NotFound("no job '", name_or_folder, "' runs on this host for this user; ",
                          names.empty() ? "none does" : absl::StrCat("running: ", absl::StrJoin(names, ", ")));
}

}  // namespace millstream::launch
