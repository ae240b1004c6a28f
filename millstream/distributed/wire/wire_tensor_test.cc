// SPDX-License-Identifier: Apache-2.0
#include "millstream/distributed/wire/wire_tensor.h"

#include <gmock/gmock.h>

#include <cstring>

#include "millstream/tensor/encoded_variant.h"

namespace millstream {
namespace {

constexpr int64_t kLimit = 1 << 20;

Status Decode(absl::string_view body, Tensor payload, Tensor* tensor, bool* dead) {
  RETURN_IF_ERROR(DecodeTensor(&body, std::move(payload), kLimit, tensor, dead));
  return body.empty() ? OkStatus() : errors::Internal("bytes are left");
}

// Encodes, and decodes with the payload copied as a link would.
Status RoundTrip(const Tensor& tensor, Tensor* back) {
  std::string body;
  Tensor payload, arrived;
  RETURN_IF_ERROR(EncodeTensor(&tensor, &body, &payload));
  if (payload.IsInitialized()) {
    ASSIGN_OR_RETURN(arrived, AllocatePayload(body, payload.ByteSize(), kLimit));
    std::memcpy(arrived.raw(), payload.raw(), payload.ByteSize());
  }
  bool dead = true;
  RETURN_IF_ERROR(Decode(body, std::move(arrived), back, &dead));
  EXPECT_FALSE(dead);
  return OkStatus();
}

TEST(WireTensor, PlainTensorsOfAllSizes) {
  for (const int64_t size : {0, 1, 100, 5000}) {
    Tensor value = Tensor::Make(DType::kInt32, Shape({size, 2})).value(), back;
    for (int64_t i = 0; i < 2 * size; ++i) value.data<int32_t>()[i] = static_cast<int32_t>(i * 7);
    ASSERT_EQ(RoundTrip(value, &back), OkStatus()) << size;
    ASSERT_EQ(back.dtype(), DType::kInt32);
    ASSERT_EQ(back.shape(), value.shape());
    EXPECT_TRUE(size == 0 || std::memcmp(back.raw(), value.raw(), value.ByteSize()) == 0) << size;
  }
}

TEST(WireTensor, Strings) {
  for (const size_t length : {0, 10, 10000}) {
    const Tensor value = Tensor::Scalar(std::string(length, 'x'));
    Tensor back;
    ASSERT_EQ(RoundTrip(value, &back), OkStatus()) << length;
    EXPECT_EQ(back.flat<std::string>()[0], value.flat<std::string>()[0]);
  }
}

TEST(WireTensor, VariantsAndHandles) {
  for (const size_t length : {0, 10, 10000}) {
    const std::string bytes(length, 'x');
    const Tensor variant = Tensor::Scalar(Variant(MakeRef<EncodedVariant>("millstream::Some", bytes)));
    ResourceHandle named;
    named.name = bytes;
    Tensor back;
    ASSERT_EQ(RoundTrip(variant, &back), OkStatus()) << length;
    ASSERT_NE(back.scalar<Variant>().get<EncodedVariant>(), nullptr);
    EXPECT_EQ(back.scalar<Variant>().get<EncodedVariant>()->metadata(), bytes);
    ASSERT_EQ(RoundTrip(Tensor::Scalar(named), &back), OkStatus()) << length;
    EXPECT_EQ(back.scalar<ResourceHandle>().name, bytes);
  }
}

// Whatever needs a payload gets a frame of its own; in the frame that several share, nobody would look for it.
TEST(WireTensor, OnlySmallValuesShareABody) {
  for (const size_t length : {10, 2000, 3000, 5000}) {
    const std::string bytes(length, 'x');
    ResourceHandle named;
    named.name = bytes;
    for (const Tensor& value :
         {Tensor::Scalar(bytes), Tensor::Scalar(Variant(MakeRef<EncodedVariant>("millstream::Some", bytes))),
          Tensor::Scalar(named), Tensor(DType::kUint8, Shape({static_cast<int64_t>(length)}))}) {
      std::string body = "before", own;
      Tensor payload;
      ASSERT_EQ(EncodeNumbered(7, value, &body, &own, &payload), OkStatus());
      EXPECT_EQ(payload.IsInitialized(), length > kInlineTensorBytes) << DTypeName(value.dtype());
      EXPECT_EQ(payload.IsInitialized(), body == "before");
      Tensor back;
      bool dead = true;
      const std::string shared = payload.IsInitialized() ? own : body.substr(std::string("before7").size());
      EXPECT_EQ(Decode(shared, payload, &back, &dead), OkStatus()) << DTypeName(value.dtype()) << " " << length;
      EXPECT_EQ(back.dtype(), value.dtype());
    }
  }
}

TEST(WireTensor, DeadValue) {
  std::string body;
  Tensor payload, back;
  bool dead = false;
  ASSERT_EQ(EncodeTensor(nullptr, &body, &payload), OkStatus());
  ASSERT_EQ(Decode(body, {}, &back, &dead), OkStatus());
  EXPECT_TRUE(dead);
}

TEST(WireTensor, EveryCutIsRefused) {
  const Tensor value = Tensor::Scalar(1.5);
  std::string body;
  Tensor payload, back;
  bool dead = false;
  ASSERT_EQ(EncodeTensor(&value, &body, &payload), OkStatus());
  for (size_t n = 0; n < body.size(); ++n) {
    EXPECT_TRUE(absl::IsInvalidArgument(Decode(body.substr(0, n), {}, &back, &dead))) << n;
  }
}

// Reading a bool that is neither 0 nor 1 is undefined behaviour: none gets in.
TEST(WireTensor, BoolsAreZeroOrOne) {
  for (const int64_t size : {8, 8000}) {
    Tensor value = Tensor::Make(DType::kBool, Shape({size})).value(), payload, back;
    std::memset(value.raw(), 1, value.ByteSize());
    std::string body;
    bool dead = false;
    ASSERT_EQ(RoundTrip(value, &back), OkStatus());
    ASSERT_EQ(EncodeTensor(&value, &body, &payload), OkStatus());
    if (payload.IsInitialized()) {
      static_cast<char*>(payload.raw())[size - 1] = 2;
    } else {
      body.back() = 2;
    }
    EXPECT_TRUE(absl::IsInvalidArgument(Decode(body, payload, &back, &dead))) << size;
  }
}

TEST(WireTensor, PayloadsThatDoNotFitAreRefusedBeforeMemoryIsTaken) {
  const Tensor value = Tensor::Make(DType::kFloat, Shape({5000})).value();
  std::string body;
  Tensor payload;
  ASSERT_EQ(EncodeTensor(&value, &body, &payload), OkStatus());
  EXPECT_EQ(AllocatePayload(body, 20000, kLimit).status(), OkStatus());
  EXPECT_TRUE(absl::IsInvalidArgument(AllocatePayload(body, 19996, kLimit).status()));
  EXPECT_TRUE(absl::IsResourceExhausted(AllocatePayload(body, uint64_t{1} << 40, kLimit).status()));
  EXPECT_TRUE(absl::IsResourceExhausted(AllocatePayload(body, 20000, 1000).status()));
  EXPECT_TRUE(absl::IsInvalidArgument(AllocatePayload("", 20000, kLimit).status()));
}

}  // namespace
}  // namespace millstream
