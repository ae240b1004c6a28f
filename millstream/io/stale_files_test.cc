// SPDX-License-Identifier: Apache-2.0
#include "millstream/io/stale_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>

#include "millstream/io/bundle_reader.h"
#include "millstream/io/bundle_writer.h"
#include "millstream/io/checkpoint_files.h"

namespace millstream {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr char kHex[] = "0123456789abcdef0123456789abcdef";

class StaleFilesTest : public ::testing::Test {
 protected:
  StaleFilesTest() : folder_(std::string(::testing::TempDir()) + "/stale_files_test") {
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
  }
  ~StaleFilesTest() override { std::filesystem::remove_all(folder_); }

  std::vector<std::string> Names() const {
    std::vector<std::string> names = ListFolder(folder_).value();
    std::sort(names.begin(), names.end());
    return names;
  }
  std::string Prefix(const std::string& name) const { return folder_ + "/" + name; }
  static Tensor Model() { return Tensor::Of<float>(Shape({4}), {1, 2, 3, 4}); }
  static Status Save(const std::string& prefix) {
    ASSIGN_OR_RETURN(const std::unique_ptr<BundleWriter> writer, BundleWriter::Create(prefix));
    RETURN_IF_ERROR(writer->Add("w", Model()));
    return writer->Finish();
  }
  // Runs `body` in another process, which then dies or stays.
  template <typename F>
  static pid_t InProcess(F body, bool stays) {
    int pipe_fds[2];
    EXPECT_EQ(pipe(pipe_fds), 0);
    const pid_t child = fork();
    if (child == 0) {
      body();
      (void)!write(pipe_fds[1], "x", 1);
      if (stays) pause();
      kill(getpid(), SIGKILL);
    }
    close(pipe_fds[1]);
    char byte;
    EXPECT_EQ(read(pipe_fds[0], &byte, 1), 1);
    close(pipe_fds[0]);
    if (!stays) waitpid(child, nullptr, 0);
    return child;
  }
  static void Overwrite(const std::string& path, const std::string& bytes) {  // without a sync
    auto file = std::move(WritableFile::Create(path)).value();
    EXPECT_EQ(file->Write(bytes), OkStatus());
    EXPECT_EQ(file->Close(), OkStatus());
  }
  static void End(pid_t child) {
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
  }

  const std::string folder_;
};

TEST_F(StaleFilesTest, UnfinishedDataOfTheDeadGoesThatOfTheLivingStays) {
  const auto begin = [this] {
    auto* writer = std::move(BundleWriter::Create(Prefix("m-1"))).value().release();
    writer->Add("w", Model()).IgnoreError();
  };
  InProcess(begin, /*stays=*/false);
  const pid_t living = InProcess(begin, /*stays=*/true);
  EXPECT_EQ(Names().size(), 2);
  RemoveStaleFiles(folder_);
  EXPECT_EQ(Names().size(), 1);
  End(living);
  RemoveStaleFiles(folder_);
  EXPECT_THAT(Names(), IsEmpty());
}

TEST_F(StaleFilesTest, FilesOfUsersAndCheckpointsStay) {
  ASSERT_EQ(Save(Prefix("m-1")), OkStatus());
  for (const char* name : {"notes.tmp", "model.tmp-old", "other.data-00000-of-00001", "x_temp_y", "graph.pbtxt.tmp123"})
    ASSERT_EQ(WriteFileAtomically(Prefix(name), "x"), OkStatus());
  ASSERT_EQ(MakeFolders(Prefix(absl::StrCat("mine_temp_", kHex))), OkStatus());
  ASSERT_EQ(WriteFileAtomically(Prefix(absl::StrCat("mine_temp_", kHex, "/file")), "x"), OkStatus());
  const std::vector<std::string> before = Names();
  RemoveStaleFiles(folder_);
  EXPECT_EQ(Names(), before);
}

TEST_F(StaleFilesTest, PartsGoWithTheirSave) {
  const std::string parts = absl::StrCat(Prefix("m-2_temp_"), kHex);
  const auto save = [&] {
    new SaveInProgress(Prefix("m-2"));
    Save(parts + "/part-00000-of-00002").IgnoreError();
  };
  const pid_t living = InProcess(save, /*stays=*/true);
  RemoveStaleFiles(folder_);
  EXPECT_TRUE(FileExists(parts + "/part-00000-of-00002.index"));
  End(living);
  // A task that still writes its part keeps the folder, and the next one who looks removes it.
  auto slow = std::move(BundleWriter::Create(parts + "/part-00001-of-00002")).value();
  RemoveStaleFiles(folder_);
  EXPECT_TRUE(FileExists(parts));
  slow.reset();
  RemoveStaleFiles(folder_);
  EXPECT_THAT(Names(), IsEmpty());
}

TEST_F(StaleFilesTest, PartsOfAnUnknownSaveStayForAnHour) {
  const std::string parts = absl::StrCat(Prefix("m-2_temp_"), kHex);
  ASSERT_EQ(Save(parts + "/part-00000-of-00002"), OkStatus());
  RemoveStaleFiles(folder_);
  EXPECT_TRUE(FileExists(parts));
  const auto old = std::filesystem::file_time_type::clock::now() - std::chrono::hours(2);
  for (const auto& file : std::filesystem::directory_iterator(parts))
    std::filesystem::last_write_time(file.path(), old);
  std::filesystem::last_write_time(parts, old);
  RemoveStaleFiles(folder_);
  EXPECT_THAT(Names(), IsEmpty());
}

TEST_F(StaleFilesTest, AFailedSaveLeavesNothing) {
  {
    SaveInProgress save(Prefix("m-3"));
    ASSERT_EQ(Save(absl::StrCat(Prefix("m-3_temp_"), kHex, "/part-00000-of-00002")), OkStatus());
  }
  EXPECT_THAT(Names(), IsEmpty());
  {
    SaveInProgress save(Prefix("m-3"));
    ASSERT_EQ(Save(Prefix("m-3")), OkStatus());
    save.Succeed();
  }
  EXPECT_THAT(Names(), ElementsAre("m-3.data-00000-of-00001", "m-3.index"));
}

// A process that dies after each of its renames in turn, by a limit on the size of files that only the index exceeds.
TEST_F(StaleFilesTest, ACommitThatFailsLeavesNoData) {
  ASSERT_EQ(Save(Prefix("m-1")), OkStatus());
  const pid_t child = fork();
  if (child == 0) {
    signal(SIGXFSZ, SIG_IGN);
    auto writer = std::move(BundleWriter::Create(Prefix("m-2"))).value();
    const bool added = writer->Add("w", Model()).ok();
    const rlimit limit{64, 64};  // the data fits, the index does not
    setrlimit(RLIMIT_FSIZE, &limit);
    const Status status = writer->Finish();
    writer.reset();
    const bool named = std::string(status.message()).find("m-2.index") != std::string::npos;
    _exit(added && !status.ok() && named ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(WEXITSTATUS(status), 0);
  EXPECT_THAT(Names(), ElementsAre("m-1.data-00000-of-00001", "m-1.index"));
}

TEST_F(StaleFilesTest, DataWithoutItsIndexGoes) {
  // What a process leaves that is killed between the renames of a commit.
  InProcess(
      [this] {
        Save(Prefix("m-4")).IgnoreError();
        std::string aside;
        const std::string index = ReadFile(Prefix("m-4.index")).value();
        auto* file = std::move(WritableFile::CreateTemporary(Prefix("m-4.index"), &aside)).value().release();
        file->Write(index).IgnoreError();
        file->Flush().IgnoreError();
        DeleteFile(Prefix("m-4.index")).IgnoreError();
      },
      /*stays=*/false);
  EXPECT_EQ(Names().size(), 2);
  RemoveStaleFiles(folder_);
  EXPECT_THAT(Names(), IsEmpty());
}

// A process is killed while it deletes a checkpoint; another one, of the same folder, stays.
TEST_F(StaleFilesTest, DeletionsThatWereCutShortAreFinished) {
  for (const int deleted : {0, 1, 2}) {
    ASSERT_EQ(Save(Prefix("m-5")), OkStatus());
    ASSERT_EQ(Save(Prefix("m-6")), OkStatus());
    InProcess(
        [&] {
          const std::string retired = RetireIndex(Prefix("m-5")).value();
          if (deleted > 0) DeleteFile(Prefix("m-5.data-00000-of-00001")).IgnoreError();
          if (deleted > 1) DeleteFile(retired).IgnoreError();
        },
        /*stays=*/false);
    EXPECT_FALSE(FileExists(Prefix("m-5.index")));
    RemoveStaleFiles(folder_);
    EXPECT_THAT(Names(), ElementsAre("m-6.data-00000-of-00001", "m-6.index")) << deleted;
  }
  EXPECT_EQ(RetireIndex(Prefix("m-7")).value(), "");
  EXPECT_EQ(Names().size(), 2);
}

// The same name is saved again before anybody has finished the deletion.
TEST_F(StaleFilesTest, ADeletionThatWasCutShortDoesNotTakeTheNextCheckpointOfThatName) {
  ASSERT_EQ(Save(Prefix("m-5")), OkStatus());
  InProcess([&] { RetireIndex(Prefix("m-5")).IgnoreError(); }, /*stays=*/false);
  ASSERT_EQ(Save(Prefix("m-5")), OkStatus());
  RemoveStaleFiles(folder_);
  EXPECT_THAT(Names(), ElementsAre("m-5.data-00000-of-00001", "m-5.index"));
}

// Whatever is cut off or changed, a reader gets the values or an error that names the file.
TEST_F(StaleFilesTest, DamageIsNoticedEverywhere) {
  const std::string prefix = Prefix("m-5");
  {
    auto writer = std::move(BundleWriter::Create(prefix)).value();
    ASSERT_EQ(writer->Add("w", Model()), OkStatus());
    ASSERT_EQ(writer->Add("s", Tensor::Of<std::string>(Shape({2}), {"ab", "c"})), OkStatus());
    ASSERT_EQ(writer->Finish(), OkStatus());
  }
  const auto check = [&](const std::string& file, const std::string& what) {
    const Status files = CheckCheckpointFiles(prefix);
    const auto reader = BundleReader::Open(prefix);
    if (!reader.ok()) {
      EXPECT_THAT(std::string(reader.status().message()), ::testing::HasSubstr(prefix)) << what;
      EXPECT_FALSE(files.ok()) << what;
      return;
    }
    for (const char* name : {"w", "s"}) {
      const StatusOr<Tensor> value = (*reader)->Read(name);
      if (value.ok()) {
        EXPECT_TRUE(name[0] == 'w' ? value->data<float>()[3] == 4 : value->data<std::string>()[0] == "ab") << what;
      } else {
        EXPECT_TRUE(absl::IsDataLoss(value.status()) || absl::IsNotFound(value.status())) << what << value.status();
        EXPECT_THAT(std::string(value.status().message()), ::testing::HasSubstr(file)) << what;
        EXPECT_THAT(std::string(value.status().message()), ::testing::HasSubstr(absl::StrCat("'", name, "'"))) << what;
      }
    }
  };
  for (const std::string& file : {BundleDataPath(prefix, 0, 1), prefix + ".index"}) {
    const std::string good = ReadFile(file).value();
    for (size_t n = 0; n < good.size(); ++n) {
      Overwrite(file, good.substr(0, n));
      check(file, absl::StrCat(file, " cut at ", n));
      EXPECT_FALSE(CheckCheckpointFiles(prefix).ok()) << n;
      for (const int bit : {1, 128}) {
        std::string bad = good;
        bad[n] = static_cast<char>(bad[n] ^ bit);
        Overwrite(file, bad);
        check(file, absl::StrCat(file, " changed at ", n));
      }
    }
    Overwrite(file, good);
  }
  EXPECT_EQ(CheckCheckpointFiles(prefix), OkStatus());
}

}  // namespace
}  // namespace millstream
