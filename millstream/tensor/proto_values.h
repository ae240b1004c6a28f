// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_TENSOR_PROTO_VALUES_H_
#define MILLSTREAM_TENSOR_PROTO_VALUES_H_

#include <complex>
#include <cstdint>
#include <type_traits>

#include "millstream/proto/tensor.pb.h"
#include "millstream/tensor/dtype.h"

// In which field of a TensorProto the values of a type travel, and how: each type has a view of its field with size(),
// get(i) and add(value), so that whoever reads or writes messages need not know.
namespace millstream::internal {

// A view of the values of one repeated field: how many elements they make, and how to read one.
template <typename T, typename Field>
struct PlainValues {
  using Element = T;
  Field& field;
  int64_t size() const { return field.size(); }
  T get(int64_t i) const { return static_cast<T>(field.Get(static_cast<int>(i))); }
  void add(const T& v) { field.Add(v); }
};

// Complex numbers are two entries each.
template <typename T, typename Field>
struct ComplexValues {
  using Element = std::complex<T>;
  Field& field;
  int64_t size() const { return field.size() / 2; }
  Element get(int64_t i) const { return {field.Get(static_cast<int>(2 * i)), field.Get(static_cast<int>(2 * i + 1))}; }
  void add(const Element& v) {
    field.Add(v.real());
    field.Add(v.imag());
  }
};

template <typename T, typename Field>
PlainValues<T, Field> PlainValuesOf(Field& field) {
  return {field};
}

// How many integers a type of fewer bits than a byte has; 0: another type.
inline int NumSmallIntegers(DType t) {
  if (t == DType::kInt4 || t == DType::kUint4) return 16;
  return t == DType::kInt2 || t == DType::kUint2 ? 4 : 0;
}

// Integers of fewer bits than a byte: the low ones of each value.
template <typename Field>
struct SmallValues {
  using Element = uint8_t;
  Field& field;
  const int limit;  // the number of values
  const bool is_signed;
  int64_t size() const { return field.size(); }
  uint8_t get(int64_t i) const { return static_cast<uint8_t>(field.Get(static_cast<int>(i)) & (limit - 1)); }
  void add(uint8_t v) {
    const int low = v & (limit - 1);
    field.Add(is_signed && low >= limit / 2 ? low - limit : low);
  }
};
template <typename Field>
SmallValues<Field> SmallValuesOf(Field& field, DType t) {
  return {field, NumSmallIntegers(t), t == DType::kInt4 || t == DType::kInt2};
}

// One byte for each element.
template <typename Bytes>
struct ByteValues {
  using Element = uint8_t;
  Bytes& bytes;
  int64_t size() const { return static_cast<int64_t>(bytes.size()); }
  uint8_t get(int64_t i) const { return static_cast<uint8_t>(bytes[static_cast<size_t>(i)]); }
  void add(uint8_t v) { bytes.push_back(static_cast<char>(v)); }
};
template <typename Bytes>
ByteValues<Bytes> ByteValuesOf(Bytes& bytes) {
  return {bytes};
}

// The fields of a message, to be read or to be written.
#define MILLSTREAM_VALUE_FIELDS(ACCESS) \
  ACCESS(float_val)                     \
  ACCESS(double_val)                    \
  ACCESS(int_val)                       \
  ACCESS(half_val)                      \
  ACCESS(int64_val)                     \
  ACCESS(uint32_val)                    \
  ACCESS(uint64_val)                    \
  ACCESS(bool_val)                      \
  ACCESS(float8_val)                    \
  ACCESS(scomplex_val)                  \
  ACCESS(dcomplex_val)
struct ReadableValues {
  const proto::TensorProto& p;
#define MILLSTREAM_READ(field) \
  const auto& field() const { return p.field(); }
  MILLSTREAM_VALUE_FIELDS(MILLSTREAM_READ)
#undef MILLSTREAM_READ
};
struct WritableValues {
  proto::TensorProto& p;
#define MILLSTREAM_WRITE(field) \
  auto& field() const { return *p.mutable_##field(); }
  MILLSTREAM_VALUE_FIELDS(MILLSTREAM_WRITE)
#undef MILLSTREAM_WRITE
};
#undef MILLSTREAM_VALUE_FIELDS

// Calls fn with the view of the field of `p` (ReadableValues or WritableValues) in which values of a plain type travel;
// not at all for strings, resources and variants.
template <typename Access, typename Fn>
void WithProtoValues(DType dtype, Access p, Fn&& fn) {
  switch (dtype) {
    case DType::kFloat:
      return fn(PlainValuesOf<float>(p.float_val()));
    case DType::kDouble:
      return fn(PlainValuesOf<double>(p.double_val()));
    case DType::kInt32:
    case DType::kQint32:
      return fn(PlainValuesOf<int32_t>(p.int_val()));
    case DType::kInt16:
    case DType::kQint16:
      return fn(PlainValuesOf<int16_t>(p.int_val()));
    case DType::kUint16:
    case DType::kQuint16:
      return fn(PlainValuesOf<uint16_t>(p.int_val()));
    case DType::kInt8:
    case DType::kQint8:
      return fn(PlainValuesOf<int8_t>(p.int_val()));
    case DType::kUint8:
    case DType::kQuint8:
      return fn(PlainValuesOf<uint8_t>(p.int_val()));
    case DType::kHalf:
    case DType::kBfloat16:
      return fn(PlainValuesOf<uint16_t>(p.half_val()));
    case DType::kInt64:
      return fn(PlainValuesOf<int64_t>(p.int64_val()));
    case DType::kUint32:
      return fn(PlainValuesOf<uint32_t>(p.uint32_val()));
    case DType::kUint64:
      return fn(PlainValuesOf<uint64_t>(p.uint64_val()));
    case DType::kBool:
      return fn(PlainValuesOf<bool>(p.bool_val()));
    case DType::kInt4:
    case DType::kUint4:
    case DType::kInt2:
    case DType::kUint2:
      return fn(SmallValuesOf(p.int_val(), dtype));
    case DType::kComplex64:
      return fn(ComplexValues<float, std::remove_reference_t<decltype(p.scomplex_val())>>{p.scomplex_val()});
    case DType::kComplex128:
      return fn(ComplexValues<double, std::remove_reference_t<decltype(p.dcomplex_val())>>{p.dcomplex_val()});
    default:  // float8 and its relatives; other types are no numbers
      if (DTypeSize(dtype) == 1) fn(ByteValuesOf(p.float8_val()));
  }
}

}  // namespace millstream::internal

#endif  // MILLSTREAM_TENSOR_PROTO_VALUES_H_
