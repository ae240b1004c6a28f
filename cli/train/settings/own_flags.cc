// SPDX-License-Identifier: Apache-2.0
#include "cli/train/settings/own_flags.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/numbers.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"

namespace millstream::cli {
namespace {

constexpr double kLargestInteger = 1 << 20;

bool IsInteger(double value, double least) {
  return value >= least && value <= kLargestInteger && value == std::floor(value);
}

bool Allows(OwnFlag::Type type, double value) {
  if (type == OwnFlag::Type::kNumberFromZero) return std::isfinite(value) && value >= 0;
  return IsInteger(value, type == OwnFlag::Type::kIntegerFromZero ? 0 : 1);
}

std::string Wanted(const OwnFlag& flag) {
  switch (flag.type) {
    case OwnFlag::Type::kPositiveInteger:
      return "one whole number from 1 to 1048576";
    case OwnFlag::Type::kPositiveIntegers:
      return "whole numbers from 1 to 1048576 with commas between them";
    case OwnFlag::Type::kIntegerFromZero:
      return "one whole number from 0 to 1048576";
    case OwnFlag::Type::kNumberFromZero:
      return "a number, 0 or above";
    case OwnFlag::Type::kChoice:
      return absl::StrCat("one of ", absl::StrJoin(flag.choices, ", "));
  }
  return "";
}

Status Refuse(const OwnFlag& flag, const std::string& text) {
  return errors::InvalidArgument("--", flag.name, "=", text, ": it takes ", Wanted(flag));
}

StatusOr<std::vector<double>> Parse(const OwnFlag& flag, const std::string& text) {
  std::vector<double> values;
  for (const absl::string_view part : absl::StrSplit(text, ',')) {
    double value = 0;
    if (!absl::SimpleAtod(part, &value) || !Allows(flag.type, value)) return Refuse(flag, text);
    values.push_back(value);
  }
  if (values.size() > 1 && flag.type != OwnFlag::Type::kPositiveIntegers) return Refuse(flag, text);
  return values;
}

}  // namespace

const char* TypeName(OwnFlag::Type type) {
  switch (type) {
    case OwnFlag::Type::kPositiveInteger:
    case OwnFlag::Type::kIntegerFromZero:
      return "INT";
    case OwnFlag::Type::kPositiveIntegers:
      return "INT,...";
    case OwnFlag::Type::kNumberFromZero:
      return "NUMBER";
    case OwnFlag::Type::kChoice:
      return "NAME";
  }
  return "";
}

StatusOr<OwnFlagValues> OwnFlagValues::Read(const std::vector<OwnFlag>& declared, const GivenFlags& given) {
  OwnFlagValues values;
  for (const OwnFlag& flag : declared) {
    const auto found = given.find(flag.name);
    const std::string& text = found == given.end() ? flag.default_value : found->second;
    if (found == given.end() && text.empty()) continue;
    if (flag.type == OwnFlag::Type::kChoice) {
      if (std::find(flag.choices.begin(), flag.choices.end(), text) == flag.choices.end()) return Refuse(flag, text);
      values.choices_[flag.name] = text;
    } else {
      ASSIGN_OR_RETURN(values.values_[flag.name], Parse(flag, text));
    }
  }
  return values;
}

std::vector<int64_t> OwnFlagValues::Integers(const std::string& name) const {
  const std::vector<double>& values = values_.at(name);
  return {values.begin(), values.end()};
}

double OwnFlagValues::Number(const std::string& name) const { return values_.at(name).at(0); }

}  // namespace millstream::cli
