// SPDX-License-Identifier: Apache-2.0
// The op registry against tests/registered_ops.txt, the list of names that `make generate` writes. An op whose file is
// no longer linked, or whose registration was lost in a change, is missing from the registry without any other trace.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include "millstream/framework/op.h"

namespace millstream {
namespace {

std::vector<std::string> StoredNames() {
  const char* source = std::getenv("MILLSTREAM_SOURCE_DIR");
  std::ifstream file(std::string(source == nullptr ? "." : source) + "/tests/registered_ops.txt");
  std::vector<std::string> names;
  for (std::string line; std::getline(file, line);) names.push_back(line);
  return names;
}

TEST(RegisteredOpsTest, EveryStoredOpIsRegistered) {
  const std::vector<std::string> stored = StoredNames();
  ASSERT_FALSE(stored.empty()) << "tests/registered_ops.txt cannot be read";
  for (const std::string& name : stored) {
    EXPECT_NE(OpRegistry::Global().Find(name), nullptr) << name << " has lost its registration";
  }
}

TEST(RegisteredOpsTest, EveryRegisteredOpIsStored) {
  const std::vector<std::string> stored = StoredNames();
  for (const OpEntry* op : OpRegistry::Global().Sorted()) {
    EXPECT_THAT(stored, ::testing::Contains(op->def.name)) << "run `make generate`, which adds it to the list";
  }
}

}  // namespace
}  // namespace millstream
