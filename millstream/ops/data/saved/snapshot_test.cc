// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <filesystem>

#include "absl/strings/match.h"
#include "millstream/base/file.h"
#include "millstream/graph/scope.h"
#include "millstream/runtime/session.h"

namespace millstream {
namespace {

namespace fs = std::filesystem;

const AttrValue kTypes = AttrValue::DTypes{DType::kInt64};
const AttrValue kShapes = AttrValue::Shapes{PartialShape({})};
constexpr int64_t kElements = 20;

// A client with a session of its own that walks through a snapshot of the numbers below kElements.
class Client {
 public:
  Client(const fs::path& folder, std::vector<std::pair<std::string, AttrValue>> attrs) {
    const Output range =
        s_.Op("RangeDataset", {s_.Const<int64_t>(0), s_.Const<int64_t>(kElements), s_.Const<int64_t>(1)},
              {{"output_types", kTypes}, {"output_shapes", kShapes}});
    Node* const snapshot = s_.Add("SnapshotDataset", {range, s_.Const(Tensor::Scalar<std::string>(folder.string()))},
                                  {{"output_types", kTypes}, {"output_shapes", kShapes}});
    for (auto& [name, value] : attrs) snapshot->attrs().Set(name, std::move(value));
    const Output iterator =
        s_.Op("IteratorV2", {},
              {{"shared_name", ""}, {"container", ""}, {"output_types", kTypes}, {"output_shapes", kShapes}});
    s_.WithOpName("start").Add("MakeIterator", {Output(snapshot), iterator});
    s_.WithOpName("next").Add("IteratorGetNext", {iterator}, {{"output_types", kTypes}, {"output_shapes", kShapes}});
  }
  Status Start() {
    RETURN_IF_ERROR(s_.status());
    ASSIGN_OR_RETURN(session_, NewSession());
    RETURN_IF_ERROR(session_->Extend(*s_.graph()));
    return session_->Run({}, {}, {"start"}, nullptr);
  }
  StatusOr<int64_t> Next() {
    std::vector<Tensor> out;
    RETURN_IF_ERROR(session_->Run({}, {"next"}, {}, &out));
    return out[0].scalar<int64_t>();
  }
  // Expects the elements from `first` on, and the end.
  void ExpectRest(int64_t first = 0) {
    for (int64_t i = first; i < kElements; ++i) {
      const StatusOr<int64_t> next = Next();
      ASSERT_TRUE(next.ok()) << next.status();
      EXPECT_EQ(*next, i);
    }
    EXPECT_EQ(Next().status().code(), absl::StatusCode::kOutOfRange);
  }

 private:
  Scope s_ = Scope::Root();
  std::unique_ptr<Session> session_;
};

class SnapshotTest : public ::testing::Test {
 protected:
  SnapshotTest() { fs::remove_all(folder_); }
  ~SnapshotTest() override { fs::remove_all(folder_); }

  std::unique_ptr<Client> Started(std::vector<std::pair<std::string, AttrValue>> attrs = {}) {
    if (attrs.empty() || attrs[0].first != "snapshot_name") attrs.emplace_back("snapshot_name", "s");
    auto client = std::make_unique<Client>(folder_, std::move(attrs));
    const Status started = client->Start();
    EXPECT_TRUE(started.ok()) << started;
    return client;
  }
  // Takes some elements and goes.
  void DieAmidWriting(const char* mode = "auto") {
    const auto client = Started({{"mode", mode}});
    for (int64_t i = 0; i < kElements / 2; ++i) EXPECT_EQ(*client->Next(), i);
  }
  fs::path Snapshot() const { return folder_ / "custom-s"; }
  fs::path Metadata() const { return Snapshot() / "snapshot.metadata"; }
  void PutMetadata(absl::string_view bytes) const {
    fs::create_directories(Snapshot());
    ASSERT_TRUE(WriteFileAtomically(Metadata().string(), bytes).ok());
  }

  const fs::path folder_ =
      fs::path(::testing::TempDir()) /
      absl::StrCat("snapshot_", ::testing::UnitTest::GetInstance()->current_test_info()->name(), "_", getpid());
};

TEST_F(SnapshotTest, IsWrittenOnceAndReadThen) {
  Started()->ExpectRest();
  Started({{"mode", "read"}})->ExpectRest();
  Started()->ExpectRest();
}

TEST_F(SnapshotTest, AnUnfinishedOneIsPassedThroughUntilItExpires) {
  DieAmidWriting();
  const std::string before = *ReadFile(Metadata().string());
  Started()->ExpectRest();
  EXPECT_EQ(*ReadFile(Metadata().string()), before);
  Started({{"pending_snapshot_expiry_seconds", int64_t{0}}})->ExpectRest();
  EXPECT_NE(*ReadFile(Metadata().string()), before);
  Started({{"mode", "read"}})->ExpectRest();
}

TEST_F(SnapshotTest, NoExpiryIsTooFarAway) {
  DieAmidWriting();
  const std::string before = *ReadFile(Metadata().string());
  for (const int64_t seconds : {int64_t{1} << 40, int64_t{1} << 62, std::numeric_limits<int64_t>::max()}) {
    Started({{"pending_snapshot_expiry_seconds", seconds}})->ExpectRest();
    EXPECT_EQ(*ReadFile(Metadata().string()), before) << seconds;
  }
  Started({{"pending_snapshot_expiry_seconds", std::numeric_limits<int64_t>::min()}})->ExpectRest();
  EXPECT_NE(*ReadFile(Metadata().string()), before);
}

// Without a name each run has a folder of its own.
TEST_F(SnapshotTest, TwoWritersDoNotSpoilEachOther) {
  const std::pair<std::string, AttrValue> no_name("snapshot_name", "");
  const auto first = Started({no_name, {"mode", "write"}}), second = Started({no_name, {"mode", "write"}});
  for (int64_t i = 0; i < kElements / 2; ++i) {
    EXPECT_EQ(*first->Next(), i);
    EXPECT_EQ(*second->Next(), i);
  }
  first->ExpectRest(kElements / 2);
  Started({no_name, {"mode", "read"}})->ExpectRest();
  second->ExpectRest(kElements / 2);
  Started({no_name, {"mode", "read"}})->ExpectRest();
}

TEST_F(SnapshotTest, DamagedMetadata) {
  const std::string run = "\x12\x01r";                                          // field 2
  const std::string created = "\x18\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01";   // field 3, in 584,942 years
  const std::string elements = "\x30\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01";  // field 6
  for (const std::string& bytes :
       {std::string(), std::string("\xff"), run + created, run + elements, std::string("\x12\x02.."),
        std::string("\x12\x05"
                    "a/../"),
        std::string("\x12\x7fr"), run + std::string("\x0f")}) {
    PutMetadata(bytes);
    for (const char* mode : {"auto", "read"}) {
      const Status status = Started({{"mode", mode}})->Next().status();
      EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss) << bytes << " " << status;
    }
  }
}

TEST_F(SnapshotTest, DamagedElements) {
  Started()->ExpectRest();
  std::vector<fs::path> files;
  for (const auto& entry : fs::recursive_directory_iterator(Snapshot())) {
    if (absl::EndsWith(entry.path().string(), ".snapshot")) files.push_back(entry.path());
  }
  ASSERT_EQ(files.size(), 1);
  fs::resize_file(files[0], fs::file_size(files[0]) - 1);
  const auto reader = Started({{"mode", "read"}});
  Status status;
  for (int64_t i = 0; status.ok() && i <= kElements; ++i) status = reader->Next().status();
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss) << status;
}

}  // namespace
}  // namespace millstream
