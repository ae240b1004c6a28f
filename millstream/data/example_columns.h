// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_DATA_EXAMPLE_COLUMNS_H_
#define MILLSTREAM_DATA_EXAMPLE_COLUMNS_H_

#include <string>
#include <vector>

#include "millstream/data/csv_cells.h"
#include "millstream/data/examples.h"

namespace millstream {

// One column of a table that is being read. A cell is kept as a number and as the hash of its text until the last row
// has shown which of the two the column holds.
struct ExampleColumn {
  std::string name;
  int64_t width = 1;           // numbers per row
  bool pixels = false;         // numbers are bytes that stand for value / 255
  bool text = false;           // it holds categories
  std::vector<float> numbers;  // NaN: missing
  std::vector<uint8_t> bytes;  // instead of numbers if `pixels`
  std::vector<uint32_t> hashes;
  CellTally cells;  // of CSV
};

struct ExampleTable {
  std::vector<ExampleColumn> columns;
  std::string label, label_from;  // the label's name, and why it is that one: "the last column"
  std::vector<std::string> labels;
  std::vector<bool> test;  // the row is for evaluation
  bool has_test_files = false;
};

uint32_t HashCategory(absl::string_view text);

// Columns as a model wants them: numbers scaled to 0..1 by the training rows (missing ones become their mean), texts as
// ids, labels as classes (texts, or whole numbers from 0 to 999) or as values. `where` and `kind` are for messages.
StatusOr<ExampleData> AssembleExamples(ExampleTable table, const ExampleOptions& options, const std::string& where,
                                       const char* kind);

// Moves every tenth example of data->train to data->test.
Status HoldOutEveryTenth(ExampleData* data);

// "60000 + 10000 examples of 28x28 numbers, 10 classes (IDX)".
std::string DescribeExamples(const ExampleData& data, int64_t train, int64_t test, const char* kind);

}  // namespace millstream

#endif  // MILLSTREAM_DATA_EXAMPLE_COLUMNS_H_
