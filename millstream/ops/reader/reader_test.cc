// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <set>

#include "absl/strings/str_cat.h"
#include "millstream/base/file.h"
#include "millstream/graph/scope.h"
#include "millstream/io/record_writer.h"
#include "millstream/runtime/session.h"

namespace millstream {
namespace {

TEST(ReaderTest, LinesOfFilesFromAQueue) {
  const std::string folder = ::testing::TempDir();
  ASSERT_TRUE(WriteFileAtomically(folder + "/reader_a.txt", "a1\na2\n").ok());
  ASSERT_TRUE(WriteFileAtomically(folder + "/reader_empty.txt", "").ok());
  ASSERT_TRUE(WriteFileAtomically(folder + "/reader_b.txt", "b1").ok());
  Scope s = Scope::Root();
  Output queue = s.Op("FIFOQueueV2", {}, {{"component_types", AttrValue::DTypes{DType::kString}}});
  s.WithOpName("fill").Add(
      "QueueEnqueueManyV2",
      {queue, s.Const(Tensor::Vector<std::string>(
                  {folder + "/reader_a.txt", folder + "/reader_empty.txt", folder + "/reader_b.txt"}))});
  s.WithOpName("close").Add("QueueCloseV2", {queue});
  Output reader = s.Op("TextLineReaderV2", {});
  s.WithOpName("read").Add("ReaderReadV2", {reader, queue});
  s.WithOpName("more").Add("ReaderReadUpToV2", {reader, queue, s.Const<int64_t>(10)});
  s.WithOpName("units").Add("ReaderNumWorkUnitsCompletedV2", {reader});
  ASSERT_TRUE(s.ok()) << s.status();
  auto session = *NewSession();
  ASSERT_TRUE(session->Extend(*s.graph()).ok());
  ASSERT_TRUE(session->Run({}, {}, {"fill"}, nullptr).ok());
  ASSERT_TRUE(session->Run({}, {}, {"close"}, nullptr).ok());
  std::vector<Tensor> out;
  ASSERT_TRUE(session->Run({}, {"read:0", "read:1"}, {}, &out).ok());
  EXPECT_EQ(out[0].scalar<std::string>(), folder + "/reader_a.txt:1");
  EXPECT_EQ(out[1].scalar<std::string>(), "a1");
  ASSERT_TRUE(session->Run({}, {"more:1"}, {}, &out).ok());
  ASSERT_EQ(out[0].num_elements(), 1);
  EXPECT_EQ(out[0].data<std::string>()[0], "a2");
  ASSERT_TRUE(session->Run({}, {"read:1"}, {}, &out).ok());
  EXPECT_EQ(out[0].scalar<std::string>(), "b1");
  EXPECT_TRUE(absl::IsOutOfRange(session->Run({}, {"read:1"}, {}, &out)));
  ASSERT_TRUE(session->Run({}, {"units"}, {}, &out).ok());
  EXPECT_EQ(out[0].scalar<int64_t>(), 3);
}

TEST(ReaderTest, RecordsOfOneSizeByTheFirstVersion) {
  const std::string file = ::testing::TempDir() + "/reader_fixed";
  ASSERT_TRUE(WriteFileAtomically(file, "headAABBfoot").ok());
  Scope s = Scope::Root();
  Output queue = s.Op("FIFOQueue", {}, {{"component_types", AttrValue::DTypes{DType::kString}}});
  s.WithOpName("fill").Add("QueueEnqueue", {queue, s.Const<std::string>(file)});
  Output reader = s.Op("FixedLengthRecordReader", {},
                       {{"header_bytes", int64_t{4}}, {"record_bytes", int64_t{2}}, {"footer_bytes", int64_t{4}}});
  s.WithOpName("read").Add("ReaderRead", {reader, queue});
  ASSERT_TRUE(s.ok()) << s.status();
  auto session = *NewSession();
  ASSERT_TRUE(session->Extend(*s.graph()).ok());
  ASSERT_TRUE(session->Run({}, {}, {"fill"}, nullptr).ok());
  std::vector<Tensor> out;
  for (const char* want : {"AA", "BB"}) {
    const Status status = session->Run({}, {"read:1"}, {}, &out);
    ASSERT_TRUE(status.ok()) << status;
    EXPECT_EQ(out[0].scalar<std::string>(), want);
  }
}

TEST(ReaderTest, RecordInputGivesEachRecordOnceInEachEpoch) {
  const std::string prefix = ::testing::TempDir() + "/record_input.";
  for (int file = 0; file < 3; ++file) {
    auto writer = RecordWriter::Create(absl::StrCat(prefix, file));
    ASSERT_TRUE(writer.ok()) << writer.status();
    for (int i = 0; i < 4; ++i) ASSERT_TRUE((*writer)->Write(absl::StrCat(file, "-", i)).ok());
    ASSERT_TRUE((*writer)->Close().ok());
  }
  Scope s = Scope::Root();
  s.WithOpName("records").Add("RecordInput", {},
                              {{"file_pattern", prefix + "*"},
                               {"batch_size", int64_t{6}},
                               {"file_buffer_size", int64_t{5}},
                               {"file_shuffle_shift_ratio", 0.5f}});
  s.WithOpName("none").Add("RecordInput", {}, {{"file_pattern", prefix + "absent*"}});
  s.WithOpName("bad").Add("RecordInput", {}, {{"file_pattern", prefix + "*"}, {"batch_size", int64_t{-1}}});
  ASSERT_TRUE(s.ok()) << s.status();
  auto session = *NewSession();
  ASSERT_TRUE(session->Extend(*s.graph()).ok());
  std::vector<Tensor> out;
  for (int epoch = 0; epoch < 3; ++epoch) {
    std::set<std::string> seen;
    for (int batch = 0; batch < 2; ++batch) {
      ASSERT_TRUE(session->Run({}, {"records"}, {}, &out).ok());
      for (const std::string& record : out[0].flat<std::string>()) EXPECT_TRUE(seen.insert(record).second) << record;
    }
    EXPECT_EQ(seen.size(), 12u);
  }
  EXPECT_TRUE(absl::IsNotFound(session->Run({}, {"none"}, {}, &out)));
  EXPECT_TRUE(absl::IsInvalidArgument(session->Run({}, {"bad"}, {}, &out)));
}

}  // namespace
}  // namespace millstream
