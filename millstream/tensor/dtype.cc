// SPDX-License-Identifier: Apache-2.0
#include "millstream/tensor/dtype.h"

#include <array>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace millstream {
namespace {

struct Info {
  const char* name;
  size_t size;
  char kind;  // f float, c complex, i integer, q quantized, o other
};

constexpr std::array<Info, 34> kInfo = {{
    {"invalid", 0, 'o'},
    {"float", 4, 'f'},
    {"double", 8, 'f'},
    {"int32", 4, 'i'},
    {"uint8", 1, 'i'},
    {"int16", 2, 'i'},
    {"int8", 1, 'i'},
    {"string", 0, 'o'},
    {"complex64", 8, 'c'},
    {"int64", 8, 'i'},
    {"bool", 1, 'o'},
    {"qint8", 1, 'q'},
    {"quint8", 1, 'q'},
    {"qint32", 4, 'q'},
    {"bfloat16", 2, 'f'},
    {"qint16", 2, 'q'},
    {"quint16", 2, 'q'},
    {"uint16", 2, 'i'},
    {"complex128", 16, 'c'},
    {"half", 2, 'f'},
    {"resource", 0, 'o'},
    {"variant", 0, 'o'},
    {"uint32", 4, 'i'},
    {"uint64", 8, 'i'},
    {"float8_e5m2", 1, 'o'},
    {"float8_e4m3fn", 1, 'o'},
    {"float8_e4m3fnuz", 1, 'o'},
    {"float8_e4m3b11fnuz", 1, 'o'},
    {"float8_e5m2fnuz", 1, 'o'},
    {"int4", 1, 'o'},
    {"uint4", 1, 'o'},
    {"int2", 1, 'o'},
    {"uint2", 1, 'o'},
    {"float4_e2m1fn", 1, 'o'},
}};

const Info& Get(DType t) {
  const auto i = static_cast<size_t>(t);
  return kInfo[i < kInfo.size() ? i : 0];
}

}  // namespace

std::string DTypeName(DType t) {
  if (IsRef(t)) return absl::StrCat(DTypeName(RemoveRef(t)), "_ref");
  if (static_cast<size_t>(t) >= kInfo.size()) return absl::StrCat("unknown dtype enum (", static_cast<int>(t), ")");
  return Get(t).name;
}

DType DTypeFromName(absl::string_view name) {
  if (absl::EndsWith(name, "_ref")) {
    const DType base = DTypeFromName(name.substr(0, name.size() - 4));
    return base == DType::kInvalid ? base : MakeRefType(base);
  }
  if (name == "float32") return DType::kFloat;
  if (name == "float64") return DType::kDouble;
  if (name == "float16") return DType::kHalf;
  for (size_t i = 1; i < kInfo.size(); ++i) {
    if (name == kInfo[i].name) return static_cast<DType>(i);
  }
  return DType::kInvalid;
}

bool IsKnown(DType t) { return t != DType::kInvalid && static_cast<size_t>(t) < kInfo.size(); }
bool IsFloating(DType t) { return Get(t).kind == 'f'; }
bool IsComplex(DType t) { return Get(t).kind == 'c'; }
bool IsInteger(DType t) { return Get(t).kind == 'i'; }
bool IsQuantized(DType t) { return Get(t).kind == 'q'; }
size_t DTypeSize(DType t) { return Get(t).size; }

}  // namespace millstream
