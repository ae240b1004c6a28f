// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_TENSOR_DTYPE_H_
#define MILLSTREAM_TENSOR_DTYPE_H_

#include <complex>
#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "millstream/tensor/float16.h"

namespace millstream {

class ResourceHandle;
class Variant;

// Element types. The numbers are those of TensorFlow's DataType enum: they are on the wire and in files.
enum class DType : uint8_t {
  kInvalid = 0,
  kFloat = 1,
  kDouble = 2,
  kInt32 = 3,
  kUint8 = 4,
  kInt16 = 5,
  kInt8 = 6,
  kString = 7,
  kComplex64 = 8,
  kInt64 = 9,
  kBool = 10,
  kQint8 = 11,
  kQuint8 = 12,
  kQint32 = 13,
  kBfloat16 = 14,
  kQint16 = 15,
  kQuint16 = 16,
  kUint16 = 17,
  kComplex128 = 18,
  kHalf = 19,
  kResource = 20,
  kVariant = 21,
  kUint32 = 22,
  kUint64 = 23,
  kFloat8E5m2 = 24,
  kFloat8E4m3fn = 25,
  kFloat8E4m3fnuz = 26,
  kFloat8E4m3b11fnuz = 27,
  kFloat8E5m2fnuz = 28,
  kInt4 = 29,  // the small integers take a byte each
  kUint4 = 30,
  kInt2 = 31,
  kUint2 = 32,
  kFloat4E2m1fn = 33,
};

// A reference type (TF1 variables) is its base type plus 100.
inline constexpr int kRefOffset = 100;
inline bool IsRef(DType t) { return static_cast<int>(t) > kRefOffset; }
inline DType RemoveRef(DType t) { return IsRef(t) ? static_cast<DType>(static_cast<int>(t) - kRefOffset) : t; }
inline DType MakeRefType(DType t) { return IsRef(t) ? t : static_cast<DType>(static_cast<int>(t) + kRefOffset); }
// True if a value of type `from` may flow into an input of type `to` (a reference may be read as a value).
inline bool TypesCompatible(DType to, DType from) { return to == from || (!IsRef(to) && to == RemoveRef(from)); }

// TensorFlow's name ("float", "int32", "half", "string_ref", ...).
std::string DTypeName(DType t);
// kInvalid for unknown names. Accepts TensorFlow's OpDef names and NumPy-like aliases ("float32", "float16").
DType DTypeFromName(absl::string_view name);
// True for the types we can hold in a tensor (references excluded).
bool IsKnown(DType t);
bool IsFloating(DType t);  // float, double, half, bfloat16
bool IsComplex(DType t);
bool IsInteger(DType t);  // signed and unsigned, quantized excluded
bool IsQuantized(DType t);
// Bytes per element, 0 for types that are not plain bytes (string, resource, variant).
size_t DTypeSize(DType t);
inline bool IsPlainBytes(DType t) { return DTypeSize(t) != 0; }

template <typename T>
struct DTypeOf;  // DTypeOf<float>::value == DType::kFloat
#define MILLSTREAM_DTYPE_OF(T, V)            \
  template <>                                \
  struct DTypeOf<T> {                        \
    static constexpr DType value = DType::V; \
  };
MILLSTREAM_DTYPE_OF(float, kFloat)
MILLSTREAM_DTYPE_OF(double, kDouble)
MILLSTREAM_DTYPE_OF(int32_t, kInt32)
MILLSTREAM_DTYPE_OF(uint8_t, kUint8)
MILLSTREAM_DTYPE_OF(int16_t, kInt16)
MILLSTREAM_DTYPE_OF(int8_t, kInt8)
MILLSTREAM_DTYPE_OF(std::string, kString)
MILLSTREAM_DTYPE_OF(std::complex<float>, kComplex64)
MILLSTREAM_DTYPE_OF(int64_t, kInt64)
MILLSTREAM_DTYPE_OF(bool, kBool)
MILLSTREAM_DTYPE_OF(BFloat16, kBfloat16)
MILLSTREAM_DTYPE_OF(uint16_t, kUint16)
MILLSTREAM_DTYPE_OF(std::complex<double>, kComplex128)
MILLSTREAM_DTYPE_OF(Half, kHalf)
MILLSTREAM_DTYPE_OF(ResourceHandle, kResource)
MILLSTREAM_DTYPE_OF(Variant, kVariant)
MILLSTREAM_DTYPE_OF(uint32_t, kUint32)
MILLSTREAM_DTYPE_OF(uint64_t, kUint64)
#undef MILLSTREAM_DTYPE_OF

// Elements that are carried (copied, cut, joined) and not computed with: a type of its own for each DType.
template <DType D, typename Bits = uint8_t>
struct CarriedBits {
  Bits bits;
  friend bool operator==(CarriedBits a, CarriedBits b) { return a.bits == b.bits; }
};
template <DType D, typename Bits>
struct DTypeOf<CarriedBits<D, Bits>> {
  static constexpr DType value = D;
};

template <typename T>
inline constexpr DType kDTypeOf = DTypeOf<T>::value;

// Lists of element types, for registering kernels: Types<float, double>.
template <typename... Ts>
struct Types {};

template <typename A, typename B>
struct JoinTypes;
template <typename... As, typename... Bs>
struct JoinTypes<Types<As...>, Types<Bs...>> {
  using type = Types<As..., Bs...>;
};
template <typename A, typename B>
using Join = typename JoinTypes<A, B>::type;

using FloatTypes = Types<Half, BFloat16, float, double>;
using ComplexTypes = Types<std::complex<float>, std::complex<double>>;
using SignedTypes = Types<int8_t, int16_t, int32_t, int64_t>;
using UnsignedTypes = Types<uint8_t, uint16_t, uint32_t, uint64_t>;
using IntTypes = Join<SignedTypes, UnsignedTypes>;
using IndexTypes = Types<int32_t, int64_t>;
using RealTypes = Join<FloatTypes, IntTypes>;
using NumberTypes = Join<RealTypes, ComplexTypes>;
using NumberAndBoolTypes = Join<NumberTypes, Types<bool>>;
using PodTypes = NumberAndBoolTypes;
using QuantizedTypes =
    Types<CarriedBits<DType::kQint8>, CarriedBits<DType::kQuint8>, CarriedBits<DType::kQint32, uint32_t>,
          CarriedBits<DType::kQint16, uint16_t>, CarriedBits<DType::kQuint16, uint16_t>>;
using Float8Types = Types<CarriedBits<DType::kFloat8E5m2>, CarriedBits<DType::kFloat8E4m3fn>,
                          CarriedBits<DType::kFloat8E4m3fnuz>, CarriedBits<DType::kFloat8E4m3b11fnuz>,
                          CarriedBits<DType::kFloat8E5m2fnuz>, CarriedBits<DType::kFloat4E2m1fn>>;
using SmallIntTypes =
    Types<CarriedBits<DType::kInt4>, CarriedBits<DType::kUint4>, CarriedBits<DType::kInt2>, CarriedBits<DType::kUint2>>;
using AllTypes = Join<PodTypes, Types<std::string, ResourceHandle, Variant>>;

template <typename T>
inline constexpr bool kIsComplex = std::is_same_v<T, std::complex<float>> || std::is_same_v<T, std::complex<double>>;

}  // namespace millstream

#endif  // MILLSTREAM_TENSOR_DTYPE_H_
