// SPDX-License-Identifier: Apache-2.0
#include "millstream/data/csv_cells.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace millstream {
namespace {

using ::testing::HasSubstr;

CellTally TallyOf(const std::vector<std::string>& cells, const CellReader& reader = CellReader({})) {
  CellTally tally;
  float value;
  for (size_t i = 0; i < cells.size(); ++i)
    tally.Add(reader.Read(cells[i], &value), "a.csv", static_cast<int64_t>(i) + 1, cells[i]);
  return tally;
}

TEST(CellReaderTest, NumbersMissingValuesAndTexts) {
  const CellReader reader({"unknown"});
  float value = 0;
  EXPECT_EQ(reader.Read("-1.5e2", &value), CellKind::kNumber);
  EXPECT_EQ(value, -150);
  for (const char* missing : {"", "?", "NA", "N/A", "nan", "NaN", "null", "None", "unknown"}) {
    EXPECT_EQ(reader.Read(missing, &value), CellKind::kMissing) << missing;
    EXPECT_TRUE(std::isnan(value));
  }
  for (const char* text : {"old", "inf", "1e400", "12a", "Unknown"})
    EXPECT_EQ(reader.Read(text, &value), CellKind::kText) << text;
}

TEST(CellReaderTest, ADeclaredNumberIsMissing) {
  float value = 0;
  EXPECT_EQ(CellReader({"-999"}).Read("-999", &value), CellKind::kMissing);
}

TEST(HoldsTextsTest, NumbersWithGapsAreNumbers) {
  EXPECT_EQ(HoldsTexts("age", TallyOf({"1", "", "nan", "2"})).value(), false);
}

TEST(HoldsTextsTest, TextsAreTexts) { EXPECT_EQ(HoldsTexts("city", TallyOf({"Rome", "Oslo", "", "7"})).value(), true); }

TEST(HoldsTextsTest, AFewTextsAmongNumbersAreNamed) {
  const StatusOr<bool> found = HoldsTexts("age", TallyOf({"1", "2", "old", "4", "older", "6"}));
  ASSERT_TRUE(absl::IsInvalidArgument(found.status()));
  EXPECT_THAT(
      std::string(found.status().message()),
      HasSubstr("a.csv line 3, column 'age': 'old' is not a finite number (and 1 more like it), but 4 of 6 cells "
                "are"));
}

TEST(CheckLabelCellsTest, AnEmptyLabelIsNamed) {
  CellTally::Some empty;
  empty.Add("a.csv", 7, "");
  empty.Add("a.csv", 9, "");
  const Status status = CheckLabelCells("income", TallyOf({"high", "low", ""}), empty);
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("a.csv line 7: the label (column 'income') is missing (and in 1 more lines)"));
}

TEST(CheckLabelCellsTest, NumbersMustAllBeNumbers) {
  EXPECT_TRUE(CheckLabelCells("y", TallyOf({"1", "2", "3"}), {}).ok());
  EXPECT_THAT(std::string(CheckLabelCells("y", TallyOf({"1", "2", "nan"}), {}).message()), HasSubstr("line 3"));
  EXPECT_THAT(std::string(CheckLabelCells("y", TallyOf({"1", "2", "two"}), {}).message()), HasSubstr("'two'"));
}

TEST(CheckLabelCellsTest, NamesLikeNaAreClassesAmongTexts) {
  EXPECT_TRUE(CheckLabelCells("continent", TallyOf({"EU", "NA", "AS"}), {}).ok());
}

}  // namespace
}  // namespace millstream
