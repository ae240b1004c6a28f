// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_CLI_NUMBER_CHECKS_H_
#define MILLSTREAM_CLI_NUMBER_CHECKS_H_

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <string>

namespace millstream::cli {

// Checks of a flag's value whose errors can be read; CLI11's own say the largest number there is.
inline CLI::Validator NumberCheck(bool zero) {
  const std::string wanted = zero ? "0 or above" : "above 0";
  const auto check = [zero, wanted](const std::string& text) {
    char* end = nullptr;
    const double value = std::strtod(text.c_str(), &end);
    const bool number = end != text.c_str() && *end == 0;
    return number && (value > 0 || (zero && value == 0)) ? "" : "'" + text + "' is not a number " + wanted;
  };
  return CLI::Validator(check, zero ? "NUMBER >= 0" : "NUMBER > 0");
}
inline CLI::Validator AboveZero() { return NumberCheck(false); }
inline CLI::Validator ZeroOrAbove() { return NumberCheck(true); }

}  // namespace millstream::cli

#endif  // MILLSTREAM_CLI_NUMBER_CHECKS_H_
