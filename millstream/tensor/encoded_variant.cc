// SPDX-License-Identifier: Apache-2.0
#include "millstream/tensor/encoded_variant.h"

#include <cstring>

#include "absl/strings/str_cat.h"
#include "millstream/proto/tensor.pb.h"

namespace millstream {
namespace {

// Calls fn(T()) for the type that a name stands for; false if it is no number's.
template <typename Fn>
bool DispatchNumberName(absl::string_view name, Fn&& fn) {
  if (name == "int") return fn(int32_t()), true;
  if (name == "float") return fn(float()), true;
  if (name == "double") return fn(double()), true;
  if (name == "bool") return fn(false), true;
  return false;
}

template <typename T>
std::optional<T> ReadNumber(const EncodedVariant& from) {
  if (from.metadata().size() != sizeof(T)) return std::nullopt;
  if constexpr (std::is_same_v<T, bool>) {
    return from.metadata()[0] != 0;
  } else {
    T value;
    std::memcpy(&value, from.metadata().data(), sizeof(T));
    return value;
  }
}

template <typename T>
Variant NumberVariant(const std::string& type, T value) {
  return Variant(MakeRef<EncodedVariant>(type, std::string(reinterpret_cast<const char*>(&value), sizeof(T))));
}

template <typename T>
T Sum(T a, T b) {
  if constexpr (std::is_same_v<T, int32_t>)
    return static_cast<int32_t>(static_cast<uint32_t>(a) + static_cast<uint32_t>(b));
  else if constexpr (std::is_same_v<T, bool>)
    return a || b;
  else
    return a + b;
}

// Calls fn(T value) if the variant is a number.
template <typename Fn>
bool WithNumber(const Variant& variant, Fn&& fn) {
  const auto* encoded = variant.get<EncodedVariant>();
  bool read = false;
  if (encoded != nullptr) {
    DispatchNumberName(encoded->type_name(), [&](auto zero) {
      const auto value = ReadNumber<decltype(zero)>(*encoded);
      read = value.has_value();
      if (read) fn(*value);
    });
  }
  return read;
}

}  // namespace

std::optional<double> NumberOf(const Variant& variant) {
  std::optional<double> number;
  WithNumber(variant, [&](auto value) { number = static_cast<double>(value); });
  return number;
}

bool MayTravel(const Variant& variant) {
  constexpr absl::string_view kOurs = "millstream::";
  const auto* encoded = variant.get<EncodedVariant>();
  return encoded != nullptr && (encoded->type_name().substr(0, kOurs.size()) == kOurs || NumberOf(variant));
}

StatusOr<Variant> AddNumberVariants(const Variant& a, const Variant& b) {
  Variant sum;
  WithNumber(a, [&](auto x) {
    if (a.type_name() != b.type_name()) return;
    const auto y = ReadNumber<decltype(x)>(*b.get<EncodedVariant>());
    if (y) sum = NumberVariant(a.type_name(), Sum(x, *y));
  });
  if (!sum.empty()) return sum;
  return errors::InvalidArgument("No sum of variants of types '", a.type_name(), "' and '", b.type_name(), "'");
}

StatusOr<Variant> ZeroLikeNumber(const Variant& number) {
  Variant zero;
  WithNumber(number, [&](auto x) { zero = NumberVariant(number.type_name(), decltype(x)(0)); });
  if (!zero.empty()) return zero;
  return errors::InvalidArgument("No zeros for a variant of type '", number.type_name(), "'");
}

std::string ShowVariant(const Variant& variant) {
  std::string text = variant.type_name();
  WithNumber(variant, [&](auto x) { text = absl::StrCat("Variant<type: ", text, " value: ", x, ">"); });
  return text;
}

StatusOr<std::string> SerializeVariant(const Variant& variant) {
  proto::VariantTensorDataProto message;
  if (!variant.empty()) {
    const auto* encoded = variant.get<EncodedVariant>();
    if (encoded == nullptr) {
      return errors::Unimplemented("Variants of type '", variant.type_name(), "' cannot be saved");
    }
    message.set_type_name(encoded->type_name());
    message.set_metadata(encoded->metadata());
  }
  return message.SerializeAsString();
}

StatusOr<Variant> ParseVariant(absl::string_view bytes) {
  proto::VariantTensorDataProto message;
  if (bytes.size() > INT32_MAX || !message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return errors::DataLoss("malformed variant");
  }
  if (message.tensors_size() > 0) return errors::Unimplemented("Variants that hold tensors cannot be restored");
  if (message.type_name().empty()) return Variant();
  return Variant(MakeRef<EncodedVariant>(message.type_name(), message.metadata()));
}

}  // namespace millstream
