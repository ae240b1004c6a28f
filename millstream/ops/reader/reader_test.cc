// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "millstream/base/file.h"
#include "millstream/graph/scope.h"
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

}  // namespace
}  // namespace millstream
