// SPDX-License-Identifier: Apache-2.0
#include "millstream/base/file_root.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

namespace millstream {
namespace {

// Roots stay once they are set: what holds before that is looked at by the first test.
class FileRootTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::string(::testing::TempDir()) + "/file_root_test";
    std::filesystem::create_directories(folder_ + "/in/deep");
    std::filesystem::create_directories(folder_ + "/in2");
  }
  void TearDown() override {
    ASSERT_TRUE(SetFileRoots({"/"}).ok());
    std::filesystem::remove_all(folder_);
  }
  std::string folder_;
};

TEST_F(FileRootTest, OnlyBelowTheFolders) {
  EXPECT_TRUE(CheckFileAccess("/etc/passwd").ok());
  EXPECT_TRUE(CheckPatternAccess("/etc/*/../*").ok());
  ASSERT_TRUE(SetFileRoots({folder_ + "/in/"}).ok());
  for (const char* path : {"/in", "/in/a", "/in/deep/not/there", "/in/deep/../a", "/in//a"})
    EXPECT_TRUE(CheckFileAccess(folder_ + path).ok()) << path;
  for (const char* path : {"", "/in2/a", "/inside", "/in/../in2/a", "/in/nowhere/../../in2/a"}) {
    EXPECT_TRUE(absl::IsPermissionDenied(CheckFileAccess(folder_ + path))) << path;
  }
  EXPECT_TRUE(absl::IsPermissionDenied(CheckFileAccess("")));
  EXPECT_TRUE(CheckFileAccess("file://" + folder_ + "/in/a").ok());
  EXPECT_TRUE(absl::IsPermissionDenied(CheckFileAccess("file:///etc/passwd")));
  EXPECT_TRUE(absl::IsPermissionDenied(CheckPatternAccess("file:///*")));
  EXPECT_TRUE(absl::IsPermissionDenied(CheckPatternAccess("file://" + folder_ + "/*")));
  EXPECT_TRUE(absl::IsPermissionDenied(CheckFileAccess(std::string("/etc/passwd\0/../..", 18) + folder_ + "/in/a")));
  EXPECT_THAT(CheckFileAccess("/etc/passwd").message(), ::testing::HasSubstr("--file_root"));
}

TEST_F(FileRootTest, Patterns) {
  ASSERT_TRUE(SetFileRoots({folder_ + "/in"}).ok());
  for (const char* good : {"/in/*", "/in/a-?????", "/in/deep/*/b[0-9]", "/in/a"}) {
    EXPECT_TRUE(CheckPatternAccess(folder_ + good).ok()) << good;
  }
  for (const char* bad : {"/in*", "/*", "/in/*/../../in2/a", "/in2/a"}) {
    EXPECT_TRUE(absl::IsPermissionDenied(CheckPatternAccess(folder_ + bad))) << bad;
  }
}

TEST_F(FileRootTest, LinksAreFollowed) {
  std::filesystem::create_symlink("/etc", folder_ + "/in/out");
  std::filesystem::create_symlink(folder_ + "/in/deep", folder_ + "/in/there");
  ASSERT_TRUE(SetFileRoots({folder_ + "/in"}).ok());
  EXPECT_TRUE(absl::IsPermissionDenied(CheckFileAccess(folder_ + "/in/out/passwd")));
  EXPECT_TRUE(CheckFileAccess(folder_ + "/in/there/a").ok());
}

TEST_F(FileRootTest, SeveralFoldersAndMissingOnes) {
  ASSERT_TRUE(SetFileRoots({folder_ + "/in", folder_ + "/in2"}).ok());
  EXPECT_TRUE(CheckFileAccess(folder_ + "/in2/a").ok());
  EXPECT_TRUE(absl::IsNotFound(SetFileRoots({folder_ + "/missing"})));
  EXPECT_FALSE(CheckFileAccess("/etc/passwd").ok());
  ASSERT_TRUE(SetFileRoots({"/"}).ok());
  EXPECT_TRUE(CheckFileAccess("/etc/passwd").ok());
}

}  // namespace
}  // namespace millstream
