// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "millstream/base/file.h"
#include "millstream/graph/scope.h"
#include "millstream/runtime/session.h"

namespace millstream {
namespace {

StatusOr<Tensor> Load(DType dtype, std::vector<int64_t> dims, const std::string& file) {
  Scope s = Scope::Root();
  s.WithOpName("y").Add("ImmutableConst", {},
                        {{"dtype", dtype}, {"shape", PartialShape(std::move(dims))}, {"memory_region_name", file}});
  RETURN_IF_ERROR(s.status());
  ASSIGN_OR_RETURN(auto session, NewSession());
  RETURN_IF_ERROR(session->Extend(*s.graph()));
  std::vector<Tensor> out;
  RETURN_IF_ERROR(session->Run({}, {"y"}, {}, &out));
  return out[0];
}

TEST(ImmutableConstTest, TakesTheFirstBytesOfTheFile) {
  const std::string file = ::testing::TempDir() + "/immutable_const";
  ASSERT_TRUE(WriteFileAtomically(file, absl::string_view("\1\0\2\0\3\0x", 7)).ok());
  const StatusOr<Tensor> y = Load(DType::kInt16, {3}, file);
  ASSERT_TRUE(y.ok()) << y.status();
  EXPECT_EQ(std::vector<int16_t>(y->flat<int16_t>().begin(), y->flat<int16_t>().end()),
            (std::vector<int16_t>{1, 2, 3}));
  EXPECT_EQ(Load(DType::kBool, {1, 2}, file)->data<bool>()[1], false);
  EXPECT_EQ(Load(DType::kFloat, {0, 5}, file)->num_elements(), 0);
}

TEST(ImmutableConstTest, RefusesWhatTheFileCannotHold) {
  const std::string file = ::testing::TempDir() + "/immutable_const_short";
  ASSERT_TRUE(WriteFileAtomically(file, "123").ok());
  EXPECT_TRUE(absl::IsInternal(Load(DType::kFloat, {1}, file).status()));
  EXPECT_TRUE(absl::IsInternal(Load(DType::kDouble, {1 << 30, 1 << 29}, file).status()));
  EXPECT_TRUE(absl::IsUnimplemented(Load(DType::kString, {}, file).status()));
  EXPECT_TRUE(absl::IsInvalidArgument(Load(DType::kResource, {}, file).status()));
  EXPECT_TRUE(absl::IsNotFound(Load(DType::kFloat, {1}, file + "_absent").status()));
}

}  // namespace
}  // namespace millstream
