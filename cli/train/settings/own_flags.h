// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_CLI_TRAIN_SETTINGS_OWN_FLAGS_H_
#define MILLSTREAM_CLI_TRAIN_SETTINGS_OWN_FLAGS_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "millstream/base/status.h"

namespace millstream::cli {

// A flag that belongs to a model or a mode and is declared in its file. Several models may have a flag of the same
// name, each with a meaning, type and default of its own.
struct OwnFlag {
  enum class Type { kPositiveInteger, kPositiveIntegers, kIntegerFromZero, kNumberFromZero, kChoice };
  std::string name = {};  // "hidden_units"
  Type type = Type::kPositiveInteger;
  std::vector<std::string> choices = {};  // of kChoice
  std::string default_value = {};         // "": none
  std::string help = {};
};

// Texts of the own flags that were given on the command line, by name without hyphens.
using GivenFlags = std::map<std::string, std::string>;

// "INT", "INT,...", "NUMBER", "NAME": for --help.
const char* TypeName(OwnFlag::Type type);

// The values of one model's or mode's flags: what was given, else the defaults. REQUIRES of accessors: the flag is
// declared with that type.
class OwnFlagValues {
 public:
  OwnFlagValues() = default;
  // Takes those of `given` that are declared; others are left to others. InvalidArgument names the flag.
  static StatusOr<OwnFlagValues> Read(const std::vector<OwnFlag>& declared, const GivenFlags& given);

  bool Has(const std::string& name) const { return values_.count(name) > 0 || choices_.count(name) > 0; }
  int64_t Integer(const std::string& name) const { return Integers(name).at(0); }
  std::vector<int64_t> Integers(const std::string& name) const;
  double Number(const std::string& name) const;
  const std::string& Choice(const std::string& name) const { return choices_.at(name); }

 private:
  std::map<std::string, std::vector<double>> values_;
  std::map<std::string, std::string> choices_;
};

}  // namespace millstream::cli

#endif  // MILLSTREAM_CLI_TRAIN_SETTINGS_OWN_FLAGS_H_
