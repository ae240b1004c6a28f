// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_CLI_HELP_FORMATTER_H_
#define MILLSTREAM_CLI_HELP_FORMATTER_H_

#include <CLI/CLI.hpp>
#include <string>

namespace millstream::cli {

// --help in lines that fit the terminal: text breaks between words, under the column where it began. Examples break as
// a shell understands it, so that they can be copied.
class HelpFormatter : public CLI::Formatter {
 public:
  explicit HelpFormatter(int columns) : columns_(columns) {}

  std::string make_option(const CLI::Option* option, bool is_positional) const override;
  std::string make_subcommand(const CLI::App* command) const override;
  std::string make_description(const CLI::App* app) const override;
  std::string make_footer(const CLI::App* app) const override;

 private:
  const int columns_;
};

}  // namespace millstream::cli

#endif  // MILLSTREAM_CLI_HELP_FORMATTER_H_
