// SPDX-License-Identifier: Apache-2.0
// Where the recordings are, and how many: tests/goldens mirrors millstream/ops, and no case is lost unnoticed.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <map>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "millstream/framework/op.h"
#include "tests/golden_case.h"

namespace millstream {
namespace {

// "AddV2" of "AddV2_broadcast_float"; names of internal ops begin with "_".
std::string OpOf(const GoldenCase& c) {
  size_t end = c.name.empty() || c.name[0] != '_' ? 0 : 1;
  while (end < c.name.size() && absl::ascii_isalnum(static_cast<unsigned char>(c.name[end]))) ++end;
  return c.name.substr(0, end);
}

// "math/add" of ".../millstream/ops/math/add.cc"; "" if it is no source of ops.
std::string PlaceOf(const OpEntry& op) {
  constexpr absl::string_view kOps = "millstream/ops/";
  const absl::string_view file = op.file;
  const size_t at = file.rfind(kOps);
  return at == absl::string_view::npos ? "" : std::string(absl::StripSuffix(file.substr(at + kOps.size()), ".cc"));
}

TEST(GoldenFilesTest, CasesAreInTheFileOfTheSourceThatDeclaresTheirOp) {
  for (const GoldenCase& c : AllGoldenCases()) {
    const OpEntry* op = OpRegistry::Global().Find(OpOf(c));
    ASSERT_NE(op, nullptr) << c.name;
    EXPECT_EQ(PlaceOf(*op), c.file) << c.name;
    EXPECT_EQ(c.file.substr(0, c.file.find('/')), c.family) << c.name;
  }
}

std::map<std::string, int> StoredCounts() {
  const char* source = std::getenv("MILLSTREAM_SOURCE_DIR");
  std::ifstream file(std::string(source == nullptr ? "." : source) + "/tests/golden_cases.txt");
  std::map<std::string, int> counts;
  std::string name;
  for (int count = 0; file >> name >> count;) counts[name] = count;
  return counts;
}

TEST(GoldenFilesTest, EveryCaseIsCounted) {
  const std::map<std::string, int> stored = StoredCounts();
  ASSERT_FALSE(stored.empty()) << "tests/golden_cases.txt cannot be read";
  std::map<std::string, int> counts;
  for (const GoldenCase& c : AllGoldenCases()) ++counts[c.file];
  for (const auto& [name, count] : stored) {
    EXPECT_EQ(counts[name], count) << "cases of " << name << "; tools/goldens/generate.py writes the list";
  }
  for (const auto& [name, count] : counts) {
    EXPECT_EQ(stored.count(name), 1u) << name
                                      << " is not in tests/golden_cases.txt; tools/goldens/generate.py writes it";
  }
}

}  // namespace
}  // namespace millstream
