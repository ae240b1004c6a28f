// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "millstream/base/varint.h"
#include "millstream/ops/variants/tensor_list.h"
#include "millstream/proto/tensor.pb.h"
#include "millstream/tensor/tensor_proto.h"

namespace millstream {
namespace {

// A list in a message: the numbers in front of the shape (of an unknown rank), and `tensors` vectors of two floats.
proto::TensorProto ListMessage(const std::vector<uint64_t>& numbers, int tensors,
                               const std::string& shape = "\x18\x01") {
  proto::TensorProto message;
  message.set_dtype(proto::DT_VARIANT);
  message.mutable_tensor_shape();
  auto* list = message.add_variant_val();
  list->set_type_name("tensorflow::TensorList");
  for (const uint64_t n : numbers) AppendVarint(n, list->mutable_metadata());
  list->mutable_metadata()->append(shape);
  for (int i = 0; i < tensors; ++i) {
    EXPECT_TRUE(TensorToProto(Tensor::Vector<float>({1, 2}), list->add_tensors()).ok());
  }
  return message;
}

constexpr uint64_t kUnlimited = ~uint64_t{0};

TEST(VariantCodecsTest, AListKeepsItsHoles) {
  const StatusOr<Tensor> t = TensorFromProto(ListMessage({2, 0, 2, proto::DT_FLOAT, kUnlimited}, 1));
  ASSERT_TRUE(t.ok()) << t.status();
  const auto* list = t->scalar<Variant>().get<TensorList>();
  ASSERT_NE(list, nullptr);
  ASSERT_EQ(list->tensors.size(), 3u);
  EXPECT_FALSE(list->tensors[0].IsInitialized());
  EXPECT_EQ(list->tensors[1].data<float>()[1], 2);
  EXPECT_FALSE(list->tensors[2].IsInitialized());
  EXPECT_EQ(list->max_num_elements, -1);
  proto::TensorProto again;
  ASSERT_TRUE(TensorToProto(*t, &again).ok());
  EXPECT_EQ(again.variant_val(0).metadata(),
            ListMessage({2, 0, 2, proto::DT_FLOAT, kUnlimited}, 1).variant_val(0).metadata());
}

TEST(VariantCodecsTest, MalformedListsAreRefused) {
  const std::string vector_of_3("\x12\x02\x08\x03", 4);
  for (const proto::TensorProto& bad :
       {ListMessage({}, 1), ListMessage({0}, 1), ListMessage({0, proto::DT_FLOAT}, 1), ListMessage({1}, 0),
        ListMessage({2, 2, 0, proto::DT_FLOAT, kUnlimited}, 1),               // not in order
        ListMessage({1, 7, proto::DT_FLOAT, kUnlimited}, 1),                  // no such element
        ListMessage({uint64_t{1} << 40, 0, proto::DT_FLOAT, kUnlimited}, 1),  // too many
        ListMessage({0, proto::DT_INT32, kUnlimited}, 1),                     // another type
        ListMessage({0, 999, kUnlimited}, 1), ListMessage({0, proto::DT_FLOAT, uint64_t{1} << 50}, 1),
        ListMessage({0, proto::DT_FLOAT, kUnlimited}, 1, vector_of_3),
        ListMessage({0, proto::DT_FLOAT, kUnlimited}, 1, "\xff")}) {
    EXPECT_EQ(TensorFromProto(bad).status().code(), absl::StatusCode::kInvalidArgument) << bad.DebugString();
  }
}

TEST(VariantCodecsTest, WhatListsHoldCounts) {
  proto::TensorProto message = ListMessage({0, proto::DT_FLOAT, kUnlimited}, 2);
  for (proto::TensorProto& t : *message.mutable_variant_val(0)->mutable_tensors()) {
    t.clear_tensor_content();  // zeros, of any size
    t.mutable_tensor_shape()->mutable_dim(0)->set_size(1 << 20);
  }
  EXPECT_TRUE(TensorFromProto(message, {.max_bytes = 16 << 20}).ok());
  EXPECT_EQ(TensorFromProto(message, {.max_bytes = 6 << 20}).status().code(), absl::StatusCode::kResourceExhausted);

  constexpr uint64_t kHoles = 100'000;  // take a few bytes each in the message
  std::vector<uint64_t> numbers = {kHoles};
  for (uint64_t i = 0; i < kHoles; ++i) numbers.push_back(i);
  numbers.insert(numbers.end(), {proto::DT_FLOAT, kUnlimited});
  const proto::TensorProto holes = ListMessage(numbers, 0);
  EXPECT_LT(holes.ByteSizeLong(), size_t{1} << 20);
  EXPECT_TRUE(TensorFromProto(holes).ok());
  EXPECT_EQ(TensorFromProto(holes, {.max_bytes = 1 << 20}).status().code(), absl::StatusCode::kResourceExhausted);
}

TEST(VariantCodecsTest, WhatNumbersTakeCounts) {
  constexpr int64_t kNumbers = 20'000;
  proto::TensorProto message;
  message.set_dtype(proto::DT_VARIANT);
  message.mutable_tensor_shape()->add_dim()->set_size(kNumbers);
  for (int64_t i = 0; i < kNumbers; ++i) {
    auto* number = message.add_variant_val();
    number->set_type_name("int");
    number->set_metadata(std::string(4, '\1'));
  }
  EXPECT_LT(message.ByteSizeLong(), size_t{1} << 20);
  EXPECT_TRUE(TensorFromProto(message).ok());
  EXPECT_EQ(TensorFromProto(message, {.max_bytes = 1 << 20}).status().code(), absl::StatusCode::kResourceExhausted);
}

// A list in a list in a list, each as bytes: nobody else counts them.
TEST(VariantCodecsTest, DeepMessagesAreRefused) {
  proto::TensorProto message = ListMessage({0, proto::DT_FLOAT, kUnlimited}, 1);
  for (int i = 0; i < 500; ++i) {
    proto::VariantTensorDataProto part;
    part.set_type_name("tensorflow::TensorList");
    for (const uint64_t n : {uint64_t{0}, uint64_t{proto::DT_VARIANT}, kUnlimited})
      AppendVarint(n, part.mutable_metadata());
    part.mutable_metadata()->append("\x18\x01");
    *part.add_tensors() = std::move(message);
    message = proto::TensorProto();
    message.set_dtype(proto::DT_VARIANT);
    message.mutable_tensor_shape();
    const std::string bytes = part.SerializeAsString();
    AppendVarint(bytes.size(), message.mutable_tensor_content());
    message.mutable_tensor_content()->append(bytes);
    if (i == 20) {
      EXPECT_TRUE(TensorFromProto(message).ok()) << TensorFromProto(message).status();
    }
  }
  EXPECT_EQ(TensorFromProto(message).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(VariantCodecsTest, UnknownKindsAreRefused) {
  proto::TensorProto message = ListMessage({0, proto::DT_FLOAT, kUnlimited}, 0);
  message.mutable_variant_val(0)->set_type_name("nobody::knows");
  EXPECT_EQ(TensorFromProto(message).status().code(), absl::StatusCode::kUnimplemented);
  for (const char* kind : {"tensorflow::data::Optional", "RaggedTensorVariant"}) {
    message.mutable_variant_val(0)->set_type_name(kind);
    EXPECT_EQ(TensorFromProto(message).status().code(), absl::StatusCode::kInvalidArgument) << kind;
  }
}

}  // namespace
}  // namespace millstream
