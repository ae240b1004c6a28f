// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <filesystem>

#include "millstream/io/event_writer.h"
#include "millstream/io/record_reader.h"
#include "millstream/proto/event.pb.h"

namespace millstream {
namespace {

std::string TempPath(const std::string& name) { return ::testing::TempDir() + "/" + name; }

class RecordTest : public ::testing::TestWithParam<Compression> {};

TEST_P(RecordTest, RoundTrip) {
  const std::string path = TempPath("round_trip.tfrecord");
  const std::vector<std::string> records = {"a", "", std::string(1 << 20, 'x'), "last"};
  auto writer = RecordWriter::Create(path, GetParam());
  ASSERT_TRUE(writer.ok());
  for (const std::string& r : records) ASSERT_TRUE((*writer)->Write(r).ok());
  ASSERT_TRUE((*writer)->Close().ok());
  auto reader = RecordReader::Open(path, GetParam());
  ASSERT_TRUE(reader.ok());
  std::string got;
  for (const std::string& r : records) {
    ASSERT_TRUE((*reader)->Read(&got).ok());
    EXPECT_EQ(got, r);
  }
  EXPECT_TRUE(absl::IsOutOfRange((*reader)->Read(&got)));
}

TEST_P(RecordTest, EveryCutAndFlipIsSeen) {
  const std::string path = TempPath("damaged.tfrecord");
  auto writer = RecordWriter::Create(path, GetParam());
  ASSERT_TRUE(writer.ok());
  ASSERT_TRUE((*writer)->Write("some bytes").ok());
  ASSERT_TRUE((*writer)->Close().ok());
  const std::string whole = *ReadFile(path);
  auto read = [&](const std::string& bytes) {
    EXPECT_TRUE(WriteFileAtomically(path, bytes).ok());
    std::string got;
    return (*RecordReader::Open(path, GetParam()))->Read(&got);
  };
  for (size_t n = 1; n < whole.size(); ++n) {
    const Status cut = read(whole.substr(0, n));
    // What zlib adds at the end may be missing without harm.
    EXPECT_TRUE(absl::IsDataLoss(cut) || (GetParam() != Compression::kNone && cut.ok())) << n << cut;
  }
  if (GetParam() != Compression::kNone) return;
  for (size_t n = 0; n < whole.size(); ++n) {
    std::string bad = whole;
    bad[n] = static_cast<char>(bad[n] ^ 1);
    EXPECT_TRUE(absl::IsDataLoss(read(bad))) << n;
  }
}

INSTANTIATE_TEST_SUITE_P(Packings, RecordTest,
                         ::testing::Values(Compression::kNone, Compression::kGzip, Compression::kZlib));

TEST(EventWriterTest, StartsWithItsVersion) {
  const std::string folder = TempPath("event_writer_test");
  std::filesystem::remove_all(folder);
  EventWriter writer(folder);
  proto::Event event;
  event.set_step(7);
  ASSERT_TRUE(writer.Write(event).ok());
  ASSERT_TRUE(writer.Close().ok());
  EXPECT_NE(writer.path().find("/events.out.tfevents."), std::string::npos);
  auto reader = RecordReader::Open(writer.path());
  ASSERT_TRUE(reader.ok());
  std::string record;
  ASSERT_TRUE((*reader)->Read(&record).ok());
  ASSERT_TRUE(event.ParseFromString(record));
  EXPECT_EQ(event.file_version(), "brain.Event:2");
  ASSERT_TRUE((*reader)->Read(&record).ok());
  ASSERT_TRUE(event.ParseFromString(record));
  EXPECT_EQ(event.step(), 7);
  EXPECT_GT(event.wall_time(), 0);
}

TEST(InputStreamTest, Lines) {
  const std::string path = TempPath("lines.txt");
  ASSERT_TRUE(WriteFileAtomically(path, "one\r\n\ntwo").ok());
  auto stream = InputStream::Open(path, Compression::kNone);
  ASSERT_TRUE(stream.ok());
  std::string line;
  for (const char* want : {"one", "", "two"}) {
    ASSERT_TRUE((*stream)->ReadLine(&line).ok());
    EXPECT_EQ(line, want);
  }
  EXPECT_TRUE(absl::IsOutOfRange((*stream)->ReadLine(&line)));
}

}  // namespace
}  // namespace millstream
