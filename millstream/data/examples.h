// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_DATA_EXAMPLES_H_
#define MILLSTREAM_DATA_EXAMPLES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "millstream/tensor/tensor.h"

namespace millstream {

// Examples in memory, one per row: numbers, categories and a label, each of which may have no columns but the label.
struct ExampleSet {
  Tensor numbers;     // [n, width]: float, or uint8 that stands for value / 255
  Tensor categories;  // int32 [n, columns]: ids below ExampleData::buckets
  Tensor labels;      // [n]: int32 classes, or float values
  int64_t size() const { return labels.IsInitialized() ? labels.dim(0) : 0; }
};

// What a folder holds, split for training and for evaluation.
struct ExampleData {
  ExampleSet train;
  ExampleSet test;
  std::vector<int64_t> dims;  // of one example's numbers: {28, 28} for an image, {13} for 13 columns
  int64_t category_columns = 0;
  int64_t buckets = 0;                  // ids of each category column
  int64_t classes = 0;                  // 0: labels are values, with mean 0 and variance 1 over the training part
  std::string what;                     // "60000 + 10000 examples of 28x28 numbers, 10 classes (IDX)"
  std::string label;                    // the column or feature with the label; "": labels have files of their own
  std::vector<std::string> categories;  // names of the columns that hold categories
  std::vector<std::string> notes;       // what a person should know about how the data was understood, a line each
  int64_t width() const;                // numbers per example
};

struct ExampleOptions {
  std::string label = {};  // column or feature with the label; "": one that is called so, else the last column
  std::vector<std::string> missing_values = {};  // CSV: further texts that stand for a missing value
  std::vector<std::string> category_columns =
      {};                  // CSV: columns that hold categories even if all their cells are numbers
  int64_t buckets = 1000;  // texts are hashed to this many categories per column
  bool train = true;       // false: only what evaluation needs; the training part may be empty
  bool test = true;        // false: the other way round
};

// Reads all files of a folder (or one file) that are data, by what is in them, gzipped or not: IDX as MNIST comes,
// TFRecords of Example, or CSV. Files named *test*, *eval*, *valid* or t10k* are for evaluation; without any, every
// tenth example is. docs/train.md says how columns and features are understood. NotFound, InvalidArgument and DataLoss
// name the file, and the line or record.
StatusOr<ExampleData> ReadExamples(const std::string& path, const ExampleOptions& options = {});
// What shows before the files are read: the errors of ReadExamples() if there is no data, or if an option is given that
// this kind of data has no use for.
Status CheckExampleFiles(const std::string& path, const ExampleOptions& options);

}  // namespace millstream

#endif  // MILLSTREAM_DATA_EXAMPLES_H_
