// SPDX-License-Identifier: Apache-2.0
#include "millstream/base/file_root.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>

#include "millstream/base/file.h"
#include "millstream/base/open_path.h"

namespace millstream {
namespace {

class FileRootTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::string(::testing::TempDir()) + "/file_root_test";
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_ + "/in/deep");
    std::filesystem::create_directories(folder_ + "/in2");
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  Status SetFileRoots(const std::vector<std::string>& folders) {
    ASSIGN_OR_RETURN(roots_, FileRoots::Open(folders));
    return OkStatus();
  }
  StatusOr<std::string> ConfinedPath(const std::string& name) const { return roots_->Confine(name); }
  Status Check(const std::string& name) const { return ConfinedPath(name).status(); }
  std::vector<std::string> Names() const {
    std::vector<std::string> names = ListFolder(folder_).value();
    std::sort(names.begin(), names.end());
    return names;
  }
  std::string folder_;
  std::shared_ptr<const FileRoots> roots_;
};

TEST_F(FileRootTest, OnlyBelowTheFolders) {
  ASSERT_TRUE(SetFileRoots({folder_ + "/in/"}).ok());
  for (const char* path : {"/in", "/in/a", "/in/deep/not/there", "/in/deep/../a", "/in//a", "/in/./a"})
    EXPECT_TRUE(Check(folder_ + path).ok()) << path;
  for (const char* path : {"", "/in2/a", "/inside", "/in/../in2/a", "/in/nowhere/../../in2/a", "/in.index"}) {
    EXPECT_TRUE(absl::IsPermissionDenied(Check(folder_ + path))) << path;
  }
  EXPECT_TRUE(absl::IsPermissionDenied(Check("")));
  EXPECT_TRUE(Check("file://" + folder_ + "/in/a").ok());
  EXPECT_TRUE(absl::IsPermissionDenied(Check("file:///etc/passwd")));
  EXPECT_TRUE(absl::IsPermissionDenied(Check("file:///*")));
  EXPECT_TRUE(absl::IsPermissionDenied(Check("file://" + folder_ + "/*")));
  EXPECT_TRUE(absl::IsPermissionDenied(Check(std::string("/etc/passwd\0/../..", 18) + folder_ + "/in/a")));
  EXPECT_THAT(Check("/etc/passwd").message(), ::testing::HasSubstr("--file_root"));
  const std::string inside = ConfinedPath(folder_ + "/in/a").value();
  EXPECT_EQ(PlainPath(inside), folder_ + "/in/a");
  EXPECT_EQ(ConfinedPath(inside).value(), inside);
  EXPECT_TRUE(absl::IsPermissionDenied(Check("confined:/etc/passwd")));
  EXPECT_TRUE(absl::IsPermissionDenied(Check("confined:1:/etc/passwd")));
}

TEST_F(FileRootTest, WhatIsAppendedIsConfinedToo) {
  ASSERT_TRUE(SetFileRoots({folder_ + "/in"}).ok());
  const std::string root = ConfinedPath(folder_ + "/in").value();
  EXPECT_TRUE(absl::IsPermissionDenied(WriteFileAtomically(root + ".index", "x")));
  EXPECT_TRUE(absl::IsPermissionDenied(WriteFileAtomically(root + "/../a", "x")));
  EXPECT_TRUE(absl::IsPermissionDenied(MakeFolders(root + "/../new/folder")));
  EXPECT_EQ(Names(), (std::vector<std::string>{"in", "in2"}));
}

TEST_F(FileRootTest, Patterns) {
  ASSERT_TRUE(SetFileRoots({folder_ + "/in"}).ok());
  for (const char* good : {"/in/*", "/in/a-?????", "/in/deep/*/b[0-9]", "/in/a"}) {
    EXPECT_TRUE(Check(folder_ + good).ok()) << good;
  }
  for (const char* bad : {"/in*", "/*", "/in/*/../../in2/a", "/in2/a"}) {
    EXPECT_TRUE(absl::IsPermissionDenied(Check(folder_ + bad))) << bad;
  }
}

TEST_F(FileRootTest, SeveralFoldersAndMissingOnes) {
  ASSERT_TRUE(SetFileRoots({folder_ + "/in", folder_ + "/in2"}).ok());
  EXPECT_TRUE(Check(folder_ + "/in2/a").ok());
  EXPECT_TRUE(absl::IsNotFound(SetFileRoots({folder_ + "/missing"})));
  EXPECT_FALSE(Check("/etc/passwd").ok());
  ASSERT_TRUE(SetFileRoots({"/"}).ok());
  EXPECT_TRUE(ReadFile(ConfinedPath("/etc/passwd").value()).ok());
}

TEST_F(FileRootTest, SeveralRootsInOneProcess) {
  ASSERT_EQ(WriteFileAtomically(folder_ + "/in/a", "one"), OkStatus());
  ASSERT_EQ(WriteFileAtomically(folder_ + "/in2/a", "two"), OkStatus());
  std::shared_ptr<const FileRoots> one = FileRoots::Open({folder_ + "/in"}).value();
  const std::shared_ptr<const FileRoots> two = FileRoots::Open({folder_ + "/in2"}).value();
  const std::string in_one = one->Confine(folder_ + "/in/a").value(), in_two = two->Confine(folder_ + "/in2/a").value();
  EXPECT_EQ(ReadFile(in_one).value(), "one");
  EXPECT_EQ(ReadFile(in_two).value(), "two");
  EXPECT_TRUE(absl::IsPermissionDenied(one->Confine(folder_ + "/in2/a").status()));
  EXPECT_TRUE(absl::IsPermissionDenied(two->Confine(in_one).status()));  // a name takes nobody into others' roots
  EXPECT_EQ(PlainPath(ConfineLike(in_one, folder_ + "/in/b").value()), folder_ + "/in/b");
  EXPECT_TRUE(absl::IsPermissionDenied(ConfineLike(in_one, folder_ + "/in2/b").status()));

  one.reset();
  EXPECT_TRUE(absl::IsPermissionDenied(ReadFile(in_one).status()));
  EXPECT_TRUE(absl::IsPermissionDenied(ConfineLike(in_one, folder_ + "/in/b").status()));
  EXPECT_EQ(ReadFile(in_two).value(), "two");
}

TEST_F(FileRootTest, OpenDescriptorsOutliveTheirRoots) {
  ASSERT_TRUE(SetFileRoots({folder_ + "/in"}).ok());
  const RootedPath rooted = FindRoot(ConfinedPath(folder_ + "/in/deep").value()).value();
  roots_.reset();
  const int fd = internal::OpenBelowByWalking(rooted, O_RDONLY | O_DIRECTORY, 0);
  EXPECT_GE(fd, 0);
  close(fd);
}

TEST_F(FileRootTest, LinksOutsideMayLeadIn) {
  std::filesystem::create_symlink(folder_ + "/in", folder_ + "/link");
  ASSERT_TRUE(SetFileRoots({folder_ + "/in"}).ok());
  ASSERT_EQ(WriteFileAtomically(ConfinedPath(folder_ + "/link/a").value(), "x"), OkStatus());
  EXPECT_EQ(ReadFile(folder_ + "/in/a").value(), "x");
}

TEST_F(FileRootTest, ARootThatIsALink) {
  std::filesystem::create_symlink(folder_ + "/in", folder_ + "/link");
  ASSERT_TRUE(SetFileRoots({folder_ + "/link"}).ok());
  ASSERT_EQ(WriteFileAtomically(ConfinedPath(folder_ + "/link/a").value(), "x"), OkStatus());
  EXPECT_EQ(ReadFile(ConfinedPath(folder_ + "/in/a").value()).value(), "x");
}

// With the kernel's help, and without.
class LinksTest : public FileRootTest, public ::testing::WithParamInterface<bool> {
 protected:
  Status Open(const std::string& path, int flags = O_RDONLY) {
    int fd = -1;
    if (GetParam()) {
      ASSIGN_OR_RETURN(fd, OpenPath(ConfinedPath(folder_ + path).value(), flags));
    } else {
      const RootedPath rooted = FindRoot(ConfinedPath(folder_ + path).value()).value();
      fd = internal::OpenBelowByWalking(rooted, flags, 0644);
      if (fd < 0) return errno == EXDEV ? OutsideOfRoots(path) : ErrnoStatus(errno, path);
    }
    close(fd);
    return OkStatus();
  }
};

TEST_P(LinksTest, AreFollowedWithinTheRoot) {
  const std::string in = folder_ + "/in";
  ASSERT_EQ(WriteFileAtomically(in + "/deep/file", "x"), OkStatus());
  std::filesystem::create_symlink(in + "/deep", in + "/absolute");
  std::filesystem::create_symlink("deep", in + "/relative");
  std::filesystem::create_symlink("../deep/file", in + "/deep/up");
  std::filesystem::create_symlink("relative/up", in + "/chain");
  ASSERT_TRUE(SetFileRoots({in}).ok());
  for (const char* path : {"/in/absolute/file", "/in/relative/file", "/in/deep/up", "/in/chain",
                           "/in/deep/../deep/file", "/in/relative/../chain"})
    EXPECT_EQ(Open(path), OkStatus()) << path;
  EXPECT_EQ(Open("/in", O_RDONLY | O_DIRECTORY), OkStatus());
  EXPECT_EQ(Open("/in/relative/new", O_WRONLY | O_CREAT | O_EXCL), OkStatus());
  EXPECT_TRUE(absl::IsNotFound(Open("/in/nothing")));
  EXPECT_TRUE(absl::IsNotFound(Open("/in/deep/file/x")));
}

TEST_P(LinksTest, DoNotLeadOut) {
  const std::string in = folder_ + "/in";
  ASSERT_EQ(WriteFileAtomically(folder_ + "/secret", "x"), OkStatus());
  std::filesystem::create_symlink("/etc", in + "/out");
  std::filesystem::create_symlink("../secret", in + "/up");
  std::filesystem::create_symlink("deep/../../secret", in + "/around");
  std::filesystem::create_symlink(folder_ + "/in2/new", in + "/dangling");
  std::filesystem::create_symlink(in + "/../secret", in + "/absolute");
  std::filesystem::create_symlink("up", in + "/chain");
  ASSERT_TRUE(SetFileRoots({in}).ok());
  for (const char* path : {"/in/out/passwd", "/in/out", "/in/up", "/in/around", "/in/chain", "/in/absolute"}) {
    EXPECT_TRUE(absl::IsPermissionDenied(Open(path))) << path << Open(path);
    EXPECT_TRUE(absl::IsPermissionDenied(Open(path, O_WRONLY | O_CREAT | O_TRUNC))) << path;
  }
  EXPECT_TRUE(absl::IsPermissionDenied(Open("/in/dangling", O_WRONLY | O_CREAT)));
  EXPECT_FALSE(Open("/in/up", O_WRONLY | O_CREAT | O_EXCL).ok());
  EXPECT_TRUE(std::filesystem::is_empty(folder_ + "/in2"));
  EXPECT_EQ(ReadFile(folder_ + "/secret").value(), "x");
}

TEST_P(LinksTest, LoopsEnd) {
  std::filesystem::create_symlink("b", folder_ + "/in/a");
  std::filesystem::create_symlink("a", folder_ + "/in/b");
  ASSERT_TRUE(SetFileRoots({folder_ + "/in"}).ok());
  EXPECT_FALSE(Open("/in/a").ok());
}

INSTANTIATE_TEST_SUITE_P(KernelAndWalk, LinksTest, ::testing::Bool());

TEST_F(FileRootTest, NamesOfLinksCanBeChangedNotWhatTheyLeadTo) {
  const std::string in = folder_ + "/in";
  ASSERT_EQ(WriteFileAtomically(folder_ + "/in2/file", "x"), OkStatus());
  std::filesystem::create_symlink(folder_ + "/in2", in + "/out");
  std::filesystem::create_symlink(folder_ + "/in2/file", in + "/link");
  ASSERT_TRUE(SetFileRoots({in}).ok());
  const std::string root = ConfinedPath(in).value();
  EXPECT_TRUE(absl::IsPermissionDenied(DeleteFile(root + "/out/file")));
  EXPECT_TRUE(absl::IsPermissionDenied(RenameFile(root + "/out/file", root + "/mine")));
  EXPECT_TRUE(absl::IsPermissionDenied(LinkFile(root + "/out/file", root + "/mine")));
  EXPECT_TRUE(absl::IsPermissionDenied(MakeFolders(root + "/out/new")));
  EXPECT_TRUE(absl::IsPermissionDenied(ListFolder(root + "/out").status()));
  EXPECT_TRUE(absl::IsPermissionDenied(WriteFileAtomically(root + "/out/file", "y")));
  EXPECT_FALSE(FileExists(root + "/out/file"));
  EXPECT_EQ(WriteFileAtomically(root + "/link", "y"), OkStatus());  // replaces the link
  EXPECT_EQ(ReadFile(folder_ + "/in2/file").value(), "x");
}

}  // namespace
}  // namespace millstream
