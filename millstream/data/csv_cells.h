// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_DATA_CSV_CELLS_H_
#define MILLSTREAM_DATA_CSV_CELLS_H_

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "millstream/base/status.h"

namespace millstream {

enum class CellKind { kNumber, kMissing, kText };

// Tells numbers, missing values and texts apart. Missing are empty cells, "?", and NA, N/A, #N/A, NaN, null and None in
// any case, and what the caller declares.
class CellReader {
 public:
  explicit CellReader(const std::vector<std::string>& declared_missing);

  // `*value` is the number, or NaN. Numbers are finite: "inf" is a text.
  CellKind Read(const std::string& cell, float* value) const;
  // Empty or declared by the caller: missing in a column of texts too, where "NA" may be a name.
  bool IsCertainlyMissing(const std::string& cell) const { return cell.empty() || declared_.count(cell) > 0; }

 private:
  const std::set<std::string> declared_;
};

// What the cells of one column were.
struct CellTally {
  struct Some {
    int64_t count = 0;
    std::string where, text;  // of the first: "people.csv line 17", "old"
    void Add(const std::string& path, int64_t line, const std::string& cell);
  };
  int64_t numbers = 0;
  Some missing, texts;

  void Add(CellKind kind, const std::string& path, int64_t line, const std::string& cell);
};

// Whether a column holds texts, not numbers. A column in which most cells are numbers and a few are texts is
// InvalidArgument, which names the first of them: somebody mistyped a number, or meant a missing value.
StatusOr<bool> HoldsTexts(const std::string& column, const CellTally& cells);
// InvalidArgument, which names the first line, if a label is missing (`empty`), or if most labels are numbers and some
// are not.
Status CheckLabelCells(const std::string& column, const CellTally& cells, const CellTally::Some& empty);

}  // namespace millstream

#endif  // MILLSTREAM_DATA_CSV_CELLS_H_
