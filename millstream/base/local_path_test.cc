// SPDX-License-Identifier: Apache-2.0
#include "millstream/base/local_path.h"

#include <unistd.h>

#include <filesystem>

#include "gtest/gtest.h"
#include "millstream/base/file.h"
#include "millstream/base/file_root.h"

namespace millstream {
namespace {

TEST(LocalPathTest, LeavesOutTheSchemeAndTheHost) {
  EXPECT_EQ(*LocalPath("file:///tmp/x"), "/tmp/x");
  EXPECT_EQ(*LocalPath("file://localhost/tmp/x"), "/tmp/x");
  EXPECT_EQ(*LocalPath("file://other/tmp/x"), "/tmp/x");
  EXPECT_EQ(*LocalPath("file://"), "");
  EXPECT_EQ(*LocalPath("file://host"), "");
  EXPECT_EQ(*LocalPrefix("file://host/a"), "file://host");
}

TEST(LocalPathTest, KeepsOtherNames) {
  for (const char* name : {"", "/", "a", "/tmp/x", "file:/tmp/x", "://x", "1a://x", "a/b://c", "a b://c", "file:"}) {
    EXPECT_EQ(*LocalPath(name), name);
  }
}

TEST(LocalPathTest, RefusesOtherSchemes) {
  for (const char* name : {"s3://bucket/x", "FILE:///tmp", "gs://", "a.b1://c"}) {
    EXPECT_TRUE(absl::IsUnimplemented(LocalPath(name).status())) << name;
    EXPECT_TRUE(absl::IsUnimplemented(WritableFile::Create(name).status())) << name;
    EXPECT_TRUE(absl::IsUnimplemented(MakeFolders(name))) << name;
    EXPECT_FALSE(FileExists(name));
  }
}

TEST(LocalPathTest, FilesAreFoundByBothNames) {
  const std::string folder =
      (std::filesystem::temp_directory_path() / absl::StrCat("local_path_test.", getpid())).string();
  const std::string uri = absl::StrCat("file://", folder);
  ASSERT_TRUE(MakeFolders(absl::StrCat(uri, "/a/b")).ok());
  ASSERT_TRUE(WriteFileAtomically(absl::StrCat(uri, "/a/b/x"), "text").ok());
  EXPECT_EQ(*ReadFile(absl::StrCat(folder, "/a/b/x")), "text");
  EXPECT_TRUE(FileExists(absl::StrCat(uri, "/a/b/x")));
  ASSERT_TRUE(RenameFile(absl::StrCat(uri, "/a/b/x"), absl::StrCat(uri, "/a/y")).ok());
  EXPECT_EQ(*ReadFile(absl::StrCat(uri, "/a/y")), "text");
  EXPECT_TRUE(DeleteFile(absl::StrCat(uri, "/a/y")).ok());
  const Status missing = ReadFile(absl::StrCat(uri, "/a/y")).status();
  EXPECT_EQ(missing.message(), absl::StrCat(uri, "/a/y; No such file or directory"));
  std::filesystem::remove_all(folder);
}

TEST(LocalPathTest, FoldersOfUris) {
  EXPECT_EQ(FolderOf("file:///x"), "file:///");
  EXPECT_EQ(FolderOf("file:///a/x"), "file:///a");
  EXPECT_EQ(FolderOf("file://host/x"), "file://host/");
  EXPECT_EQ(FolderOf("/x"), "/");
  EXPECT_EQ(FolderOf("x"), "");
}

}  // namespace
}  // namespace millstream
