// SPDX-License-Identifier: Apache-2.0
#include "millstream/base/temporary_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>

#include "millstream/base/file.h"

namespace millstream {
namespace {

class TemporaryFileTest : public ::testing::Test {
 protected:
  TemporaryFileTest() : folder_(std::string(::testing::TempDir()) + "/temporary_file_test") {
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
  }
  ~TemporaryFileTest() override { std::filesystem::remove_all(folder_); }
  const std::string folder_;
};

TEST_F(TemporaryFileTest, NamesTellTheFinalOne) {
  std::string name;
  const int fd = OpenTemporary(folder_ + "/model.ckpt-1.index", &name).value();
  EXPECT_EQ(FinalName(name), folder_ + "/model.ckpt-1.index");
  close(fd);
  EXPECT_EQ(FinalName("a.tmp-my-host-12-3"), "a");
  for (const char* other :
       {"a", "a.tmp", "a.tmp-1", "a.tmp-1-2", "a.tmp-host-1-x", "a.tmp-host-1-", ".tmp-host-1-2", "a.tmp123"})
    EXPECT_EQ(FinalName(other), "") << other;
}

TEST_F(TemporaryFileTest, AFileIsAbandonedWhenItsProcessIsDead) {
  int pipe_fds[2];
  ASSERT_EQ(pipe(pipe_fds), 0);
  const pid_t child = fork();
  if (child == 0) {
    std::string name;
    if (!OpenTemporary(folder_ + "/file", &name).ok()) _exit(1);
    (void)!write(pipe_fds[1], "x", 1);
    pause();
  }
  char byte;
  ASSERT_EQ(read(pipe_fds[0], &byte, 1), 1);
  const std::vector<std::string> names = ListFolder(folder_).value();
  ASSERT_EQ(names.size(), 1);
  EXPECT_FALSE(IsAbandoned(folder_ + "/" + names[0]));
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  EXPECT_TRUE(IsAbandoned(folder_ + "/" + names[0]));
  close(pipe_fds[0]);
  close(pipe_fds[1]);
}

TEST_F(TemporaryFileTest, OtherFilesAreNeverAbandoned) {
  ASSERT_EQ(WriteFileAtomically(folder_ + "/model.tmp", "x"), OkStatus());
  EXPECT_FALSE(IsAbandoned(folder_ + "/model.tmp"));
  EXPECT_FALSE(IsAbandoned(folder_ + "/nothing.tmp-host-1-2"));
  std::filesystem::create_directory(folder_ + "/folder.tmp-host-1-2");
  EXPECT_FALSE(IsAbandoned(folder_ + "/folder.tmp-host-1-2"));
  std::filesystem::create_symlink(folder_ + "/model.tmp", folder_ + "/link.tmp-host-1-2");
  EXPECT_FALSE(IsAbandoned(folder_ + "/link.tmp-host-1-2"));
}

TEST_F(TemporaryFileTest, NewFoldersAreMadeWithTheirParents) {
  EXPECT_EQ(MakeFolders(folder_ + "/a/b/c/"), OkStatus());
  EXPECT_EQ(MakeFolders(folder_ + "/a/b/c"), OkStatus());
  EXPECT_EQ(MakeFolders("file://" + folder_ + "/d/e"), OkStatus());
  EXPECT_TRUE(std::filesystem::is_directory(folder_ + "/a/b/c"));
  EXPECT_TRUE(std::filesystem::is_directory(folder_ + "/d/e"));
  ASSERT_EQ(WriteFileAtomically(folder_ + "/file", "x"), OkStatus());
  EXPECT_FALSE(MakeFolders(folder_ + "/file").ok());
  EXPECT_FALSE(MakeFolders(folder_ + "/file/below").ok());
  EXPECT_EQ(MakeFolders(""), OkStatus());
}

}  // namespace
}  // namespace millstream
