// SPDX-License-Identifier: Apache-2.0
#include "millstream/base/file.h"

#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <vector>

#include "millstream/base/mutex.h"

namespace fs = std::filesystem;

namespace {

// The folders that were synced, in order.
class Synced {
 public:
  void Add(int fd) {
    std::error_code error;
    const fs::path path = fs::read_symlink("/proc/self/fd/" + std::to_string(fd), error);
    millstream::MutexLock lock(mu_);
    if (!error && fs::is_directory(path, error)) folders_.push_back(path);
  }
  std::vector<fs::path> Take() {
    millstream::MutexLock lock(mu_);
    return std::exchange(folders_, {});
  }

 private:
  millstream::Mutex mu_;
  std::vector<fs::path> folders_ ABSL_GUARDED_BY(mu_);
};

Synced& AllSynced() {
  static Synced* const synced = new Synced;
  return *synced;
}

}  // namespace

// In front of the C library's.
extern "C" int fsync(int fd) {
  AllSynced().Add(fd);
  return static_cast<int>(syscall(SYS_fsync, fd));
}

namespace millstream {
namespace {

class FileTest : public ::testing::Test {
 protected:
  FileTest() {
    fs::remove_all(folder_);
    fs::create_directories(folder_);
    AllSynced().Take();
  }
  ~FileTest() override { fs::remove_all(folder_); }

  const fs::path folder_ =
      fs::canonical(::testing::TempDir()) /
      absl::StrCat("file_test_", ::testing::UnitTest::GetInstance()->current_test_info()->name(), "_", getpid());
};

// A folder whose entry is not on the disk is gone with all that is in it when the machine goes down.
TEST_F(FileTest, NewFoldersAreSyncedInTheirParents) {
  ASSERT_TRUE(MakeFolders((folder_ / "a" / "b" / "c").string()).ok());
  EXPECT_EQ(AllSynced().Take(), (std::vector<fs::path>{folder_, folder_ / "a", folder_ / "a" / "b"}));
  ASSERT_TRUE(MakeFolders((folder_ / "a" / "b" / "d").string() + "//").ok());
  EXPECT_EQ(AllSynced().Take(), (std::vector<fs::path>{folder_ / "a" / "b"}));
  ASSERT_TRUE(MakeFolders((folder_ / "a" / "b").string()).ok());
  EXPECT_EQ(AllSynced().Take(), std::vector<fs::path>());
}

TEST_F(FileTest, FoldersOfRelativeNamesAreSynced) {
  const fs::path before = fs::current_path();
  fs::current_path(folder_);
  const Status status = MakeFolders("a/b");
  fs::current_path(before);
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_EQ(AllSynced().Take(), (std::vector<fs::path>{folder_, folder_ / "a"}));
}

TEST_F(FileTest, AFolderThatCannotBeReadNeedNotBeSynced) {
  if (geteuid() == 0) GTEST_SKIP() << "root reads everything";
  fs::permissions(folder_, fs::perms::owner_write | fs::perms::owner_exec);
  const Status status = MakeFolders((folder_ / "a").string());
  fs::permissions(folder_, fs::perms::owner_all);
  EXPECT_TRUE(status.ok()) << status;
}

TEST_F(FileTest, AFileThatTookItsNameIsSyncedInItsFolder) {
  ASSERT_TRUE(WriteFileAtomically((folder_ / "f").string(), "x").ok());
  EXPECT_EQ(AllSynced().Take(), (std::vector<fs::path>{folder_}));
  EXPECT_EQ(*ReadFile((folder_ / "f").string()), "x");
}

TEST_F(FileTest, SyncingTheFolderOfNothingSaysSo) {
  EXPECT_TRUE(absl::IsNotFound(SyncFolderOf((folder_ / "none" / "f").string())));
  EXPECT_EQ(AllSynced().Take(), std::vector<fs::path>());
}

}  // namespace
}  // namespace millstream
