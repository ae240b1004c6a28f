// SPDX-License-Identifier: Apache-2.0
#include "cli/train/own_flags.h"

#include <cmath>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"

namespace millstream::cli {
namespace {

constexpr double kLargestInteger = 1 << 20;

bool IsPositiveInteger(double value) { return value >= 1 && value <= kLargestInteger && value == std::floor(value); }

bool Allows(OwnFlag::Type type, double value) {
  return type == OwnFlag::Type::kNumberFromZero ? std::isfinite(value) && value >= 0 : IsPositiveInteger(value);
}

const char* Wanted(OwnFlag::Type type) {
  switch (type) {
    case OwnFlag::Type::kPositiveInteger:
      return "one whole number from 1 to 1048576";
    case OwnFlag::Type::kPositiveIntegers:
      return "whole numbers from 1 to 1048576 with commas between them";
    case OwnFlag::Type::kNumberFromZero:
      return "a number, 0 or above";
  }
  return "";
}

StatusOr<std::vector<double>> Parse(const OwnFlag& flag, const std::string& text) {
  std::vector<double> values;
  for (const absl::string_view part : absl::StrSplit(text, ',')) {
    double value = 0;
    if (!absl::SimpleAtod(part, &value) || !Allows(flag.type, value))
      return errors::InvalidArgument("--", flag.name, "=", text, ": it takes ", Wanted(flag.type));
    values.push_back(value);
  }
  if (values.size() > 1 && flag.type != OwnFlag::Type::kPositiveIntegers)
    return errors::InvalidArgument("--", flag.name, "=", text, ": it takes ", Wanted(flag.type));
  return values;
}

}  // namespace

const char* TypeName(OwnFlag::Type type) {
  switch (type) {
    case OwnFlag::Type::kPositiveInteger:
      return "INT";
    case OwnFlag::Type::kPositiveIntegers:
      return "INT,...";
    case OwnFlag::Type::kNumberFromZero:
      return "NUMBER";
  }
  return "";
}

StatusOr<OwnFlagValues> OwnFlagValues::Read(const std::vector<OwnFlag>& declared, const GivenFlags& given) {
  OwnFlagValues values;
  for (const OwnFlag& flag : declared) {
    const auto found = given.find(flag.name);
    const std::string& text = found == given.end() ? flag.default_value : found->second;
    if (found == given.end() && text.empty()) continue;
    ASSIGN_OR_RETURN(values.values_[flag.name], Parse(flag, text));
  }
  return values;
}

std::vector<int64_t> OwnFlagValues::Integers(const std::string& name) const {
  const std::vector<double>& values = values_.at(name);
  return {values.begin(), values.end()};
}

double OwnFlagValues::Number(const std::string& name) const { return values_.at(name).at(0); }

}  // namespace millstream::cli
