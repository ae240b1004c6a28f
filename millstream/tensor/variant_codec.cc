// SPDX-License-Identifier: Apache-2.0
#include "millstream/tensor/variant_codec.h"

#include <map>

namespace millstream {
namespace {

std::map<std::string, VariantCodec, std::less<>>& VariantCodecs() {
  static auto* codecs = new std::map<std::string, VariantCodec, std::less<>>;
  return *codecs;
}

}  // namespace

bool AddVariantCodec(const std::string& type_name, VariantCodec codec) {
  return VariantCodecs().emplace(type_name, codec).second;
}

const VariantCodec* FindVariantCodec(const std::string& type_name) {
  const auto it = VariantCodecs().find(type_name);
  return it == VariantCodecs().end() ? nullptr : &it->second;
}

}  // namespace millstream
