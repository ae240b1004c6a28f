// SPDX-License-Identifier: Apache-2.0
#include "millstream/tensor/tensor_proto.h"

#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <cstring>

#include "millstream/proto/tensor.pb.h"

namespace millstream {
namespace {

proto::TensorProto Parse(const std::string& text) {
  proto::TensorProto proto;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &proto)) << text;
  return proto;
}

Tensor Decode(const std::string& text) {
  StatusOr<Tensor> t = TensorFromProto(Parse(text));
  EXPECT_TRUE(t.ok()) << text << t.status();
  return t.ok() ? *t : Tensor();
}

template <typename T>
std::vector<T> Elements(const Tensor& t) {
  const auto* p = static_cast<const T*>(t.raw());
  return std::vector<T>(p, p + t.num_elements());
}

constexpr char kPair[] = " tensor_shape { dim { size: 2 } } ";

TEST(TensorProtoTest, ReadsEveryValueField) {
  const std::string pair = kPair;
  EXPECT_EQ(Elements<float>(Decode("dtype: DT_FLOAT float_val: [1.5, 2]" + pair)), (std::vector<float>{1.5f, 2}));
  EXPECT_EQ(Elements<double>(Decode("dtype: DT_DOUBLE double_val: [1.5, 2]" + pair)), (std::vector<double>{1.5, 2}));
  EXPECT_EQ(Elements<int32_t>(Decode("dtype: DT_INT32 int_val: [-1, 2]" + pair)), (std::vector<int32_t>{-1, 2}));
  EXPECT_EQ(Elements<int16_t>(Decode("dtype: DT_INT16 int_val: [-1, 2]" + pair)), (std::vector<int16_t>{-1, 2}));
  EXPECT_EQ(Elements<uint16_t>(Decode("dtype: DT_UINT16 int_val: [65535, 2]" + pair)),
            (std::vector<uint16_t>{65535, 2}));
  EXPECT_EQ(Elements<int8_t>(Decode("dtype: DT_INT8 int_val: [-1, 2]" + pair)), (std::vector<int8_t>{-1, 2}));
  EXPECT_EQ(Elements<uint8_t>(Decode("dtype: DT_UINT8 int_val: [255, 2]" + pair)), (std::vector<uint8_t>{255, 2}));
  EXPECT_EQ(Elements<int64_t>(Decode("dtype: DT_INT64 int64_val: [-1, 2]" + pair)), (std::vector<int64_t>{-1, 2}));
  EXPECT_EQ(Elements<uint32_t>(Decode("dtype: DT_UINT32 uint32_val: [1, 2]" + pair)), (std::vector<uint32_t>{1, 2}));
  EXPECT_EQ(Elements<uint64_t>(Decode("dtype: DT_UINT64 uint64_val: [1, 2]" + pair)), (std::vector<uint64_t>{1, 2}));
  EXPECT_EQ(Elements<uint8_t>(Decode("dtype: DT_BOOL bool_val: [true, false]" + pair)), (std::vector<uint8_t>{1, 0}));
  EXPECT_EQ(Elements<uint16_t>(Decode("dtype: DT_HALF half_val: [15360, 16384]" + pair)),
            (std::vector<uint16_t>{15360, 16384}));
  EXPECT_EQ(Elements<uint16_t>(Decode("dtype: DT_BFLOAT16 half_val: [16256, 16384]" + pair)),
            (std::vector<uint16_t>{16256, 16384}));
  EXPECT_EQ(Elements<int8_t>(Decode("dtype: DT_QINT8 int_val: [-1, 2]" + pair)), (std::vector<int8_t>{-1, 2}));
  EXPECT_EQ(Elements<uint8_t>(Decode("dtype: DT_QUINT8 int_val: [1, 2]" + pair)), (std::vector<uint8_t>{1, 2}));
  EXPECT_EQ(Elements<int32_t>(Decode("dtype: DT_QINT32 int_val: [1, 2]" + pair)), (std::vector<int32_t>{1, 2}));
  EXPECT_EQ(Elements<int16_t>(Decode("dtype: DT_QINT16 int_val: [1, 2]" + pair)), (std::vector<int16_t>{1, 2}));
  EXPECT_EQ(Elements<uint16_t>(Decode("dtype: DT_QUINT16 int_val: [1, 2]" + pair)), (std::vector<uint16_t>{1, 2}));
  EXPECT_EQ(Elements<std::complex<float>>(Decode("dtype: DT_COMPLEX64 scomplex_val: [1, 2, 3, 4]" + pair)),
            (std::vector<std::complex<float>>{{1, 2}, {3, 4}}));
  EXPECT_EQ(Elements<std::complex<double>>(Decode("dtype: DT_COMPLEX128 dcomplex_val: [1, 2, 3, 4]" + pair)),
            (std::vector<std::complex<double>>{{1, 2}, {3, 4}}));
  EXPECT_EQ(Elements<std::string>(Decode("dtype: DT_STRING string_val: 'a' string_val: 'bc'" + pair)),
            (std::vector<std::string>{"a", "bc"}));
}

TEST(TensorProtoTest, SmallTypesTakeAByteEach) {
  const std::string pair = kPair;
  EXPECT_EQ(Elements<uint8_t>(Decode("dtype: DT_FLOAT8_E5M2 float8_val: '<\\200'" + pair)),
            (std::vector<uint8_t>{0x3c, 0x80}));
  EXPECT_EQ(Elements<uint8_t>(Decode("dtype: DT_FLOAT8_E4M3FN float8_val: '8'" + pair)),
            (std::vector<uint8_t>{0x38, 0x38}));  // the last one repeats
  const Tensor t = Decode("dtype: DT_INT4 int_val: [-1, 7]" + pair);
  EXPECT_EQ(Elements<uint8_t>(t), (std::vector<uint8_t>{0x0f, 7}));
  proto::TensorProto out;
  ASSERT_TRUE(TensorToProto(t, &out, {.max_values = 4}).ok());
  EXPECT_EQ(out.int_val(0), -1);
  EXPECT_EQ(out.int_val(1), 7);
  EXPECT_EQ(Elements<uint8_t>(Decode("dtype: DT_UINT4 int_val: [15, 16]" + pair)), (std::vector<uint8_t>{15, 0}));
  EXPECT_EQ(Elements<uint8_t>(Decode("dtype: DT_UINT4 tensor_content: '>\\376'" + pair)),
            (std::vector<uint8_t>{14, 14}));
}

TEST(TensorProtoTest, LastValueRepeats) {
  EXPECT_EQ(Elements<int32_t>(Decode("dtype: DT_INT32 tensor_shape { dim { size: 4 } } int_val: [7, 8]")),
            (std::vector<int32_t>{7, 8, 8, 8}));
  EXPECT_EQ(Elements<std::string>(Decode("dtype: DT_STRING tensor_shape { dim { size: 3 } } string_val: 'x'")),
            (std::vector<std::string>{"x", "x", "x"}));
  EXPECT_EQ(Elements<std::complex<float>>(
                Decode("dtype: DT_COMPLEX64 tensor_shape { dim { size: 2 } } scomplex_val: [1, 2]")),
            (std::vector<std::complex<float>>{{1, 2}, {1, 2}}));
}

TEST(TensorProtoTest, NoValuesAreZeros) {
  EXPECT_EQ(Elements<float>(Decode("dtype: DT_FLOAT tensor_shape { dim { size: 2 } }")), (std::vector<float>{0, 0}));
  EXPECT_EQ(Elements<std::string>(Decode("dtype: DT_STRING")), (std::vector<std::string>{""}));
  EXPECT_EQ(Decode("dtype: DT_FLOAT tensor_shape { dim { size: 0 } dim { size: 3 } }").num_elements(), 0);
}

TEST(TensorProtoTest, ReadsContent) {
  EXPECT_EQ(Elements<uint16_t>(
                Decode(R"(dtype: DT_UINT16 tensor_shape { dim { size: 2 } } tensor_content: "\001\000\002\001")")),
            (std::vector<uint16_t>{1, 258}));
  EXPECT_EQ(Elements<std::string>(
                Decode(R"(dtype: DT_STRING tensor_shape { dim { size: 3 } } tensor_content: "\001\000\002abc")")),
            (std::vector<std::string>{"a", "", "bc"}));
  // Anything but zero is true.
  EXPECT_EQ(
      Elements<uint8_t>(Decode(R"(dtype: DT_BOOL tensor_shape { dim { size: 3 } } tensor_content: "\000\001\377")")),
      (std::vector<uint8_t>{0, 1, 1}));
}

TEST(TensorProtoTest, LongStringsInContent) {
  proto::TensorProto proto = Parse("dtype: DT_STRING");
  proto.set_tensor_content(std::string("\xac\x02", 2) + std::string(300, 'z'));  // varint 300
  StatusOr<Tensor> t = TensorFromProto(proto);
  ASSERT_TRUE(t.ok()) << t.status();
  EXPECT_EQ(t->scalar<std::string>(), std::string(300, 'z'));
}

TEST(TensorProtoTest, ResourceHandles) {
  const Tensor t =
      Decode(R"(dtype: DT_RESOURCE resource_handle_val { device: "/cpu:0" container: "c" name: "v" hash_code: 7
                             maybe_type_name: "Var" })");
  const ResourceHandle& h = t.scalar<ResourceHandle>();
  EXPECT_EQ(h.device, "/cpu:0");
  EXPECT_EQ(h.container, "c");
  EXPECT_EQ(h.name, "v");
  EXPECT_EQ(h.type_name, "Var");
  EXPECT_EQ(h.hash_code, 7u);
  EXPECT_FALSE(h.resource);
  proto::TensorProto out;
  ASSERT_TRUE(TensorToProto(t, &out).ok());
  EXPECT_EQ(out.resource_handle_val(0).name(), "v");
}

TEST(TensorProtoTest, VersionNumberIsIgnored) {
  EXPECT_EQ(Decode("dtype: DT_FLOAT version_number: 99").num_elements(), 1);
}

// Every plain type survives both encodings.
TEST(TensorProtoTest, RoundTrips) {
  for (int number = 1; number < 24; ++number) {
    const auto dtype = static_cast<DType>(number);
    if (!IsPlainBytes(dtype)) continue;
    Tensor t(dtype, Shape({2, 3}));
    auto* bytes = static_cast<uint8_t*>(t.raw());
    for (size_t i = 0; i < t.ByteSize(); ++i)
      bytes[i] = dtype == DType::kBool ? i % 2 : static_cast<uint8_t>(i * 7 + 1);
    for (const int64_t max_values : {0, 6}) {
      proto::TensorProto proto;
      ASSERT_TRUE(TensorToProto(t, &proto, {.max_values = max_values}).ok());
      EXPECT_EQ(proto.tensor_content().empty(), max_values == 6) << DTypeName(dtype);
      StatusOr<Tensor> back = TensorFromProto(proto);
      ASSERT_TRUE(back.ok()) << back.status();
      ASSERT_EQ(back->ByteSize(), t.ByteSize());
      EXPECT_EQ(std::memcmp(back->raw(), t.raw(), t.ByteSize()), 0) << DTypeName(dtype);
    }
  }
}

TEST(TensorProtoTest, BudgetIsShared) {
  int64_t budget = 100;
  const TensorDecodeOptions options{.budget = &budget};
  const auto proto = Parse("dtype: DT_FLOAT tensor_shape { dim { size: 15 } } float_val: 1");
  EXPECT_TRUE(TensorFromProto(proto, options).ok());
  EXPECT_EQ(budget, 40);
  EXPECT_EQ(TensorFromProto(proto, options).status().code(), absl::StatusCode::kResourceExhausted);
}

TEST(TensorProtoTest, PartialShapes) {
  proto::TensorShapeProto proto;
  ShapeToProto(PartialShape({-1, 3}), &proto);
  EXPECT_EQ(*PartialShapeFromProto(proto), PartialShape({-1, 3}));
  EXPECT_FALSE(ShapeFromProto(proto).ok());
  ShapeToProto(PartialShape::Unknown(), &proto);
  EXPECT_EQ(*PartialShapeFromProto(proto), PartialShape::Unknown());
  EXPECT_FALSE(ShapeFromProto(proto).ok());
}

TEST(TensorProtoTest, UninitializedTensorsAreRefused) {
  proto::TensorProto proto;
  EXPECT_EQ(TensorToProto(Tensor(), &proto).code(), absl::StatusCode::kInvalidArgument);
}

TEST(TensorProtoTest, ValuesOfATensorWithoutElementsArePassedOver) {
  proto::TensorProto message;
  message.set_dtype(proto::DT_STRING);
  message.mutable_tensor_shape()->add_dim()->set_size(0);
  message.add_string_val("left over");
  StatusOr<Tensor> tensor = TensorFromProto(message);
  ASSERT_TRUE(tensor.ok()) << tensor.status();
  EXPECT_EQ(tensor->shape(), Shape({0}));
}

}  // namespace
}  // namespace millstream
