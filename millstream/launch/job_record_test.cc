// SPDX-License-Identifier: Apache-2.0
#include "millstream/launch/job_record.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdlib>
#include <filesystem>

#include "millstream/launch/job_registration.h"

namespace millstream::launch {
namespace {

using ::testing::HasSubstr;

class JobRecordTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string folder = ::testing::TempDir() + "/job_record_XXXXXX";
    ASSERT_NE(mkdtemp(folder.data()), nullptr);
    folder_ = folder;
    setenv("XDG_RUNTIME_DIR", folder.c_str(), 1);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  JobRegistration::Options Named(const std::string& name) {
    JobRegistration::Options options;
    options.name = name;
    options.job_id = "id-" + name;
    return options;
  }
  std::string folder_;
};

TEST_F(JobRecordTest, IsReadAsItWasWritten) {
  JobRecord record = NewJobRecord("n", "/f", "id");
  record.cluster = "{\"ps\":[\"a:1\"]}";
  record.token_file = "/t";
  const StatusOr<JobRecord> read = JobRecord::FromJson(record.ToJson());
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(read->ToJson(), record.ToJson());
  EXPECT_THAT(read->Describe(), HasSubstr(absl::StrCat("job n (pid ", getpid(), " on host ")));
  for (const char* bad : {"", "[]", "{", "{\"name\":3,\"pid\":\"x\"}"}) {
    const StatusOr<JobRecord> odd = JobRecord::FromJson(bad);
    EXPECT_TRUE(!odd.ok() || (odd->name.empty() && odd->pid == 0)) << bad;
  }
}

TEST_F(JobRecordTest, JobsAreFoundByNameAndFolderWhileTheyRun) {
  JobRegistration::Options options = Named("one");
  options.folder = folder_ + "/logs/deep";
  {
    StatusOr<std::unique_ptr<JobRegistration>> job = JobRegistration::Make(options);
    ASSERT_TRUE(job.ok()) << job.status();
    ASSERT_TRUE((*job)->SetTasks(ClusterSpec::FromJson("{\"ps\":[\"a:1\"]}").value(), "/token").ok());
    for (const std::string& by : {std::string("one"), options.folder, options.folder + "/"}) {
      const StatusOr<JobRecord> found = FindJob(by);
      ASSERT_TRUE(found.ok()) << found.status();
      EXPECT_EQ(found->job_id, "id-one");
      EXPECT_EQ(found->token_file, "/token");
    }
    EXPECT_THAT(std::string(FindJob("two").status().message()), HasSubstr("running: one"));
  }
  EXPECT_TRUE(absl::IsNotFound(FindJob("one").status()));
  EXPECT_TRUE(absl::IsNotFound(FindJob(options.folder).status()));
}

TEST_F(JobRecordTest, NamesAndFoldersAreTakenOnce) {
  JobRegistration::Options options = Named("one");
  options.folder = folder_ + "/logs";
  StatusOr<std::unique_ptr<JobRegistration>> first = JobRegistration::Make(options);
  ASSERT_TRUE(first.ok());
  const Status name = JobRegistration::Make(Named("one")).status();
  EXPECT_TRUE(absl::IsAlreadyExists(name));
  EXPECT_THAT(std::string(name.message()), HasSubstr("--name one is in use by job one (pid "));
  options.name = "other";
  options.job_id = "id-other";
  const Status folder = JobRegistration::Make(options).status();
  EXPECT_TRUE(absl::IsAlreadyExists(folder));
  EXPECT_THAT(std::string(folder.message()), HasSubstr("/logs is in use by job one (pid "));
  JobRegistration::Options by_default;
  by_default.default_name = "one";
  StatusOr<std::unique_ptr<JobRegistration>> second = JobRegistration::Make(by_default);
  ASSERT_TRUE(second.ok());
  EXPECT_EQ((*second)->record().name, "one-2");
  EXPECT_TRUE(absl::IsInvalidArgument(JobRegistration::Make(Named("../one")).status()));
}

TEST_F(JobRecordTest, ATaskOfTheSameJobMayUseTheFolder) {
  JobRegistration::Options options = Named("one");
  options.folder = folder_ + "/logs";
  StatusOr<std::unique_ptr<JobRegistration>> job = JobRegistration::Make(options);
  ASSERT_TRUE(job.ok());
  const auto own = HoldFolder(NewJobRecord("", options.folder, "id-one"));
  ASSERT_TRUE(own.ok());
  EXPECT_EQ(*own, nullptr);
  EXPECT_TRUE(absl::IsAlreadyExists(HoldFolder(NewJobRecord("", options.folder, "")).status()));
}

TEST_F(JobRecordTest, WhatADeadProcessHeldIsTakenOver) {
  JobRegistration::Options options = Named("one");
  options.folder = folder_ + "/logs";
  std::array<int, 2> ready = {};
  ASSERT_EQ(pipe(ready.data()), 0);
  const pid_t child = fork();
  if (child == 0) {
    const auto job = JobRegistration::Make(options);
    [[maybe_unused]] const ssize_t written = write(ready[1], job.ok() ? "y" : "n", 1);
    pause();
    _exit(0);
  }
  char answer = 0;
  ASSERT_EQ(read(ready[0], &answer, 1), 1);
  ASSERT_EQ(answer, 'y');
  EXPECT_TRUE(absl::IsAlreadyExists(JobRegistration::Make(options).status()));
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  EXPECT_TRUE(std::filesystem::exists(RecordPathIn(options.folder)));
  EXPECT_TRUE(absl::IsNotFound(FindJob("one").status()));
  EXPECT_TRUE(JobRegistration::Make(options).ok());
}

TEST_F(JobRecordTest, AFolderOfOthersIsNotTrusted) {
  std::filesystem::create_directory(folder_ + "/millstream-jobs");
  std::filesystem::permissions(folder_ + "/millstream-jobs", std::filesystem::perms::all);
  EXPECT_TRUE(absl::IsPermissionDenied(JobsFolder().status()));
}

}  // namespace
}  // namespace millstream::launch
