// SPDX-License-Identifier: Apache-2.0
#include "cli/command_line.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/match.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "cli/command.h"
#include "cli/text_layout.h"

namespace millstream::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::internal::CaptureStderr;
using ::testing::internal::CaptureStdout;
using ::testing::internal::GetCapturedStderr;
using ::testing::internal::GetCapturedStdout;

struct Result {
  int exit_code;
  std::string out, err;
};

Result Call(std::vector<std::string> words) {
  words.insert(words.begin(), "millstream");
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  CaptureStdout();
  CaptureStderr();
  Result result{RunCommandLine(static_cast<int>(argv.size()), argv.data()), "", ""};
  result.out = GetCapturedStdout();
  result.err = GetCapturedStderr();
  return result;
}

TEST(NormalizeFlagTest, HyphensAreUnderscoresInNamesOnly) {
  EXPECT_EQ(NormalizeFlag("--log-dir=a-b"), "--log_dir=a-b");
  EXPECT_EQ(NormalizeFlag("--log-dir"), "--log_dir");
  EXPECT_EQ(NormalizeFlag("a-b"), "a-b");
  EXPECT_EQ(NormalizeFlag("-o"), "-o");
  EXPECT_EQ(NormalizeFlag("--"), "--");
}

TEST(CommandLineTest, UnknownCommandsAreWrongUsage) {
  Result result = Call({"comletion"});
  EXPECT_EQ(result.exit_code, kWrongUsage);
  EXPECT_EQ(result.err, "millstream: unknown command \"comletion\", did you mean 'completion'?\n");
  result = Call({"xyzzy"});
  EXPECT_EQ(result.exit_code, kWrongUsage);
  EXPECT_THAT(result.err, HasSubstr("unknown command \"xyzzy\"; there are: "));
  EXPECT_THAT(result.err, ::testing::Not(HasSubstr("agent")));  // hidden
  EXPECT_EQ(Call({}).exit_code, kWrongUsage);
}

TEST(CommandLineTest, HelpFitsInto80Columns) {
  std::vector<std::vector<std::string>> calls = {{"--help"}};
  for (const Command* command : Registry<Command>::All()) calls.push_back({command->name, "--help"});
  for (const std::vector<std::string>& call : calls) {
    const Result result = Call(call);
    EXPECT_EQ(result.exit_code, 0) << call[0];
    for (const absl::string_view line : absl::StrSplit(result.out, '\n')) {
      EXPECT_LE(ColumnsOf(line), 80) << call[0] << ": " << line;
    }
  }
}

TEST(CommandLineTest, LongExamplesCanBeCopiedIntoAShell) {
  const Result result = Call({"server", "--help"});
  EXPECT_THAT(result.out, HasSubstr(" \\\n"));
  EXPECT_THAT(absl::StrReplaceAll(result.out, {{" \\\n             ", " "}}),
              HasSubstr("Example: millstream server --ps_hosts=localhost:2222 --worker_hosts=localhost:2223 "
                        "--job_name=ps --task_index=0\n"));
}

TEST(CommandLineTest, WrongFlagsOfEveryCommandAreWrongUsage) {
  for (const Command* command : Registry<Command>::All()) {
    const Result result = Call({command->name, "--no_such_flag"});
    EXPECT_EQ(result.exit_code, kWrongUsage) << command->name << ": " << result.err;
    EXPECT_THAT(result.err, HasSubstr("no_such_flag")) << command->name;
  }
}

TEST(CommandLineTest, SuggestsAFlag) {
  const Result result = Call({"completion", "bash", "--hlep"});
  EXPECT_EQ(result.exit_code, kWrongUsage);
  EXPECT_THAT(result.err, HasSubstr("unknown flag '--hlep', did you mean '--help'?"));
}

TEST(CommandLineTest, HelpSaysExitCodes) {
  EXPECT_THAT(Call({"--help"}).out, HasSubstr("Exit codes: 0 success; 1 failure; 2 wrong usage"));
  EXPECT_THAT(Call({"reference", "man"}).out, HasSubstr(".SH EXIT STATUS"));
  EXPECT_THAT(Call({"reference", "markdown"}).out, HasSubstr("Exit codes"));
}

}  // namespace
}  // namespace millstream::cli
