// SPDX-License-Identifier: Apache-2.0
#include "millstream/ops/parsing/example_wire.h"

#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <optional>

#include "absl/strings/str_cat.h"
#include "millstream/ops/parsing/feature_values.h"
#include "millstream/proto/example.pb.h"

namespace millstream {
namespace {

std::string Varint(uint64_t value) {
  std::string bytes;
  for (; value >= 0x80; value >>= 7) bytes.push_back(static_cast<char>(value | 0x80));
  bytes.push_back(static_cast<char>(value));
  return bytes;
}
std::string Field(int number, const std::string& bytes) {
  return absl::StrCat(Varint(static_cast<uint64_t>(number) << 3 | 2), Varint(bytes.size()), bytes);
}
std::string Number(int number, uint64_t value) { return Varint(static_cast<uint64_t>(number) << 3) + Varint(value); }
std::string Single(int number, float value) {
  std::string bytes(sizeof(value), 0);
  std::memcpy(bytes.data(), &value, sizeof(value));
  return Varint(static_cast<uint64_t>(number) << 3 | 5) + bytes;
}
std::string Group(int number, const std::string& inside) {
  return Varint(static_cast<uint64_t>(number) << 3 | 3) + inside + Varint(static_cast<uint64_t>(number) << 3 | 4);
}
std::string Entry(const std::string& key, const std::string& feature) {
  return Field(1, Field(1, key) + Field(2, feature));
}
std::string Example(const std::string& entries) { return Field(1, entries); }

const ExampleReader::Slots kSlots = {{"x", 0}, {"y", 1}};

std::string ValuesOf(DType type, int64_t count, absl::FunctionRef<bool(Tensor*)> copy) {
  Tensor values(type, Shape({count}));
  return copy(&values) ? values.SummarizeValue(1000) : "cannot be read";
}

// What the reader finds, or nothing if it refuses the example.
std::optional<std::string> Found(ExampleReader* reader, const std::string& serialized) {
  std::vector<WireFeature> features(kSlots.size());
  if (!reader->Read(serialized, std::span(features))) return std::nullopt;
  std::string found;
  for (const auto& [key, slot] : std::map<absl::string_view, int>(kSlots.begin(), kSlots.end())) {
    const WireFeature& f = features[slot];
    absl::StrAppend(&found, key, " ", DTypeName(f.type), " ");
    if (f.type == DType::kInvalid) continue;
    const std::string values = ValuesOf(f.type, f.count, [&](Tensor* to) { return CopyValues(f, to, 0); });
    if (values == "cannot be read") return std::nullopt;
    absl::StrAppend(&found, f.count, " ", values, "; ");
  }
  return found;
}

// The same by the messages of protocol buffers.
std::optional<std::string> Expected(const std::string& serialized) {
  proto::Example example;
  if (!example.ParseFromString(serialized)) return std::nullopt;
  std::string found;
  for (const char* key : {"x", "y"}) {
    const auto it = example.features().feature().find(key);
    const DType type = it == example.features().feature().end() ? DType::kInvalid : TypeOf(it->second);
    absl::StrAppend(&found, key, " ", DTypeName(type), " ");
    if (type == DType::kInvalid) continue;
    const int64_t count = CountOf(it->second);
    absl::StrAppend(&found, count, " ",
                    ValuesOf(type, count, [&](Tensor* to) { return CopyValues(it->second, to, 0), true; }), "; ");
  }
  return found;
}

std::vector<std::string> Lists() {
  std::vector<std::string> lists = {"", Field(1, ""), Field(2, ""), Field(3, "")};
  lists.push_back(Field(1, Field(1, "a") + Field(1, "") + Field(1, std::string(300, 'b'))));
  const std::string floats = Single(1, 1.5).substr(1) + Single(1, -2).substr(1);
  lists.push_back(Field(2, Field(1, floats)));
  lists.push_back(Field(2, Single(1, 1.5) + Field(1, floats) + Single(1, 3)));
  const std::string ints = Varint(5) + Varint(uint64_t(-3)) + Varint(300);
  lists.push_back(Field(3, Field(1, ints)));
  lists.push_back(Field(3, Number(1, 7) + Field(1, ints) + Number(1, uint64_t(-1))));
  // Parts of one list, of two kinds, fields nobody knows.
  lists.push_back(Field(3, Field(1, ints)) + Field(3, Number(1, 9)));
  lists.push_back(Field(3, Field(1, ints)) + Field(2, Field(1, floats)) + Field(3, Number(1, 9)));
  lists.push_back(Number(7, 1) + Field(2, Number(9, 1) + Field(1, floats) + Group(4, Number(1, 2))) + Single(8, 1));
  // Damaged ones.
  lists.push_back(Field(2, Field(1, "abc")));
  lists.push_back(Field(3, Field(1, "\xff")));
  lists.push_back(Field(3, Field(1, std::string(11, '\x80') + "\x01")));
  lists.push_back(Field(3, Group(4, Group(5, ""))) + Varint(5 << 3 | 4));
  lists.push_back(Field(1, "\x0a\x05"));
  lists.push_back(std::string(1, '\0') + Field(1, "a"));
  return lists;
}

TEST(ExampleWireTest, ReadsWhatMessagesRead) {
  ExampleReader reader(kSlots);
  int damaged = 0;
  for (const std::string& x : Lists()) {
    for (const std::string& y : Lists()) {
      for (const std::string& serialized :
           {Example(Entry("x", x) + Entry("y", y)), Example(Entry("y", y)) + Number(3, 4) + Example(Entry("x", x)),
            Example(Entry("x", y) + Entry("x", x)), Example(Field(1, Field(2, x) + Field(1, "x") + Field(2, y)))}) {
        EXPECT_EQ(Found(&reader, serialized), Expected(serialized)) << ::testing::PrintToString(serialized);
        damaged += Expected(serialized).has_value() ? 0 : 1;
      }
    }
  }
  EXPECT_GT(damaged, 100);
}

TEST(ExampleWireTest, ExamplesCutShort) {
  ExampleReader reader(kSlots);
  for (const std::string& x : Lists()) {
    const std::string whole = Example(Entry("x", x) + Entry("y", Field(3, Number(1, 300))));
    for (size_t size = 0; size <= whole.size(); ++size) {
      const std::string part = whole.substr(0, size);
      EXPECT_EQ(Found(&reader, part), Expected(part)) << ::testing::PrintToString(part);
    }
  }
}

TEST(ExampleWireTest, SkipsFeaturesThatNobodyWants) {
  ExampleReader reader(kSlots);
  const std::string wanted = Entry("x", Field(3, Number(1, 1)));
  EXPECT_EQ(Found(&reader, Example(Entry("other", "\xff") + wanted)), Expected(Example(wanted)));
}

TEST(ExampleWireTest, KeysInAnotherOrder) {
  ExampleReader reader(kSlots);
  const std::string x = Entry("x", Field(3, Number(1, 1))), y = Entry("y", Field(3, Number(1, 2))), z = Entry("z", "");
  for (const std::string& entries : {x + y, y + x, z + y + x, x + z + y, x, y, std::string(), x + y + z}) {
    EXPECT_EQ(Found(&reader, Example(entries)), Expected(Example(entries)));
  }
}

}  // namespace
}  // namespace millstream
