// SPDX-License-Identifier: Apache-2.0
#include "millstream/data/example_columns.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <set>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_join.h"

namespace millstream {
namespace {

constexpr int64_t kMaxClasses = 1000;
constexpr int64_t kHoldOut = 10;

// Rows of `from` in the order of `rows`.
StatusOr<Tensor> TakeRows(const Tensor& from, const std::vector<int64_t>& rows) {
  std::vector<int64_t> dims(from.shape().dims().begin(), from.shape().dims().end());
  const size_t row_bytes = dims[0] == 0 ? 0 : from.ByteSize() / static_cast<size_t>(dims[0]);
  dims[0] = static_cast<int64_t>(rows.size());
  ASSIGN_OR_RETURN(Tensor to, Tensor::Make(from.dtype(), Shape(dims)));
  auto* out = static_cast<char*>(to.raw());
  for (const int64_t row : rows) {
    std::memcpy(out, static_cast<const char*>(from.raw()) + static_cast<size_t>(row) * row_bytes, row_bytes);
    out += row_bytes;
  }
  return to;
}

StatusOr<ExampleSet> TakeRows(const ExampleSet& from, const std::vector<int64_t>& rows) {
  ExampleSet to;
  ASSIGN_OR_RETURN(to.numbers, TakeRows(from.numbers, rows));
  ASSIGN_OR_RETURN(to.categories, TakeRows(from.categories, rows));
  ASSIGN_OR_RETURN(to.labels, TakeRows(from.labels, rows));
  return to;
}

Status Split(const ExampleSet& all, const std::vector<bool>& test, ExampleData* data) {
  std::vector<int64_t> rows[2];
  for (size_t i = 0; i < test.size(); ++i) rows[test[i]].push_back(static_cast<int64_t>(i));
  ASSIGN_OR_RETURN(data->train, TakeRows(all, rows[0]));
  ASSIGN_OR_RETURN(data->test, TakeRows(all, rows[1]));
  return OkStatus();
}

// One number of a column over all rows, made to lie in 0..1 over the training rows.
void Rescale(float* values, int64_t stride, const std::vector<bool>& test) {
  float low = std::numeric_limits<float>::infinity(), high = -low;
  double sum = 0;
  int64_t known = 0;
  for (size_t i = 0; i < test.size(); ++i) {
    const float v = values[static_cast<int64_t>(i) * stride];
    if (test[i] || std::isnan(v)) continue;
    low = std::min(low, v);
    high = std::max(high, v);
    sum += v;
    ++known;
  }
  if (known == 0) low = high = 0;
  const float mean = known == 0 ? 0 : static_cast<float>(sum / static_cast<double>(known));
  const float scale = high > low ? 1 / (high - low) : 0;
  for (size_t i = 0; i < test.size(); ++i) {
    float& v = values[static_cast<int64_t>(i) * stride];
    v = ((std::isnan(v) ? mean : v) - low) * scale;
  }
}

Status AssembleNumbers(const ExampleTable& table, ExampleData* data, ExampleSet* all) {
  const auto n = static_cast<int64_t>(table.labels.size());
  std::vector<const ExampleColumn*> columns;
  int64_t width = 0;
  for (const ExampleColumn& column : table.columns) {
    if (column.text) continue;
    columns.push_back(&column);
    width += column.width;
  }
  data->dims = {width};
  if (columns.size() == 1 && columns[0]->pixels) {
    ASSIGN_OR_RETURN(all->numbers, Tensor::Make(DType::kUint8, Shape({n, width})));
    std::copy(columns[0]->bytes.begin(), columns[0]->bytes.end(), all->numbers.data<uint8_t>());
    return OkStatus();
  }
  ASSIGN_OR_RETURN(all->numbers, Tensor::Make(DType::kFloat, Shape({n, width})));
  float* out = all->numbers.data<float>();
  for (const ExampleColumn* column : columns) {
    for (int64_t i = 0; i < n; ++i) {
      for (int64_t j = 0; j < column->width; ++j) {
        const auto at = static_cast<size_t>(i * column->width + j);
        out[i * width + j] = column->pixels ? static_cast<float>(column->bytes[at]) / 255.0f : column->numbers[at];
      }
    }
    for (int64_t j = 0; j < column->width && !column->pixels; ++j) Rescale(out + j, width, table.test);
    out += column->width;
  }
  return OkStatus();
}

Status AssembleCategories(const ExampleTable& table, const ExampleOptions& options, ExampleData* data,
                          ExampleSet* all) {
  const auto n = static_cast<int64_t>(table.labels.size());
  for (const ExampleColumn& column : table.columns) data->category_columns += column.text;
  data->buckets = options.buckets;
  ASSIGN_OR_RETURN(all->categories, Tensor::Make(DType::kInt32, Shape({n, data->category_columns})));
  int32_t* out = all->categories.data<int32_t>();
  for (const ExampleColumn& column : table.columns) {
    if (!column.text) continue;
    for (int64_t i = 0; i < n; ++i) {
      out[i * data->category_columns] =
          static_cast<int32_t>(column.hashes[static_cast<size_t>(i)] % static_cast<uint32_t>(options.buckets));
    }
    ++out;
  }
  return OkStatus();
}

// Values with mean 0 and variance 1 over the training rows.
Status AssembleValues(const std::vector<double>& values, const std::vector<bool>& test, ExampleSet* all) {
  double sum = 0, squares = 0, known = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    if (test[i]) continue;
    sum += values[i];
    squares += values[i] * values[i];
    ++known;
  }
  const double mean = known > 0 ? sum / known : 0;
  const double variance = known > 0 ? squares / known - mean * mean : 0;
  const double scale = variance > 0 ? 1 / std::sqrt(variance) : 1;
  ASSIGN_OR_RETURN(all->labels, Tensor::Make(DType::kFloat, Shape({static_cast<int64_t>(values.size())})));
  for (size_t i = 0; i < values.size(); ++i)
    all->labels.data<float>()[i] = static_cast<float>((values[i] - mean) * scale);
  return OkStatus();
}

// `*names` gets the classes if they are texts.
Status AssembleLabels(const ExampleTable& table, const std::string& where, ExampleData* data, ExampleSet* all,
                      std::vector<std::string>* class_names) {
  std::vector<double> values;
  bool classes = true;
  double highest = 0;
  for (const std::string& label : table.labels) {
    double value;
    if (!absl::SimpleAtod(label, &value) || !std::isfinite(value)) break;
    values.push_back(value);
    classes &= value >= 0 && value < kMaxClasses && value == std::floor(value);
    highest = std::max(highest, value);
  }
  const bool text = values.size() < table.labels.size();
  if (!text && !classes) return AssembleValues(values, table.test, all);
  absl::flat_hash_map<std::string, int32_t> ids;
  if (text) {
    const std::set<std::string> names(table.labels.begin(), table.labels.end());
    if (static_cast<int64_t>(names.size()) > kMaxClasses) {
      return errors::InvalidArgument(where, ": the labels are ", names.size(), " different texts ('", *names.begin(),
                                     "', ...), more than ", kMaxClasses, " classes. Is another column the label?");
    }
    for (const std::string& name : names) ids.emplace(name, static_cast<int32_t>(ids.size()));
    class_names->assign(names.begin(), names.end());
  }
  data->classes = text ? static_cast<int64_t>(ids.size()) : static_cast<int64_t>(highest) + 1;
  ASSIGN_OR_RETURN(all->labels, Tensor::Make(DType::kInt32, Shape({static_cast<int64_t>(table.labels.size())})));
  for (size_t i = 0; i < table.labels.size(); ++i) {
    all->labels.data<int32_t>()[i] = text ? ids[table.labels[i]] : static_cast<int32_t>(values[i]);
  }
  return OkStatus();
}

std::string ListNames(const std::vector<std::string>& names) {
  constexpr size_t kShown = 20;
  const size_t shown = std::min(names.size(), kShown);
  return absl::StrCat(absl::StrJoin(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(shown), ", "),
                      names.size() > shown ? absl::StrCat(" and ", names.size() - shown, " more") : "");
}

// What was made of the columns, for people.
void DescribeColumns(const ExampleTable& table, const std::vector<std::string>& class_names, ExampleData* data) {
  data->label = table.label;
  const std::string labels = data->classes == 0    ? "values"
                             : class_names.empty() ? absl::StrCat("classes 0 to ", data->classes - 1)
                                                   : absl::StrCat("classes ", ListNames(class_names));
  data->notes.push_back(absl::StrCat("label: '", table.label, "' (", table.label_from, "), ", labels));
  for (const ExampleColumn& column : table.columns) {
    if (column.text) data->categories.push_back(column.name);
  }
  if (!data->categories.empty()) data->notes.push_back(absl::StrCat("categories: ", ListNames(data->categories)));
  for (const ExampleColumn& column : table.columns) {
    if (column.text || column.pixels) continue;
    const auto missing =
        std::count_if(column.numbers.begin(), column.numbers.end(), [](float value) { return std::isnan(value); });
    if (missing == 0) continue;
    const CellTally::Some& first = column.cells.missing;
    data->notes.push_back(
        absl::StrCat("missing: ", missing, " of ", column.numbers.size(), " values of '", column.name, "'",
                     first.count > 0 ? absl::StrCat(" (the first: '", first.text, "' in ", first.where, ")") : "",
                     " are replaced by the mean"));
  }
}

}  // namespace

uint32_t HashCategory(absl::string_view text) {
  // FNV-1a, and its upper bits over the lower ones, which alone decide the bucket.
  uint64_t hash = 0xcbf29ce484222325u;
  for (const char c : text) hash = (hash ^ static_cast<uint8_t>(c)) * 0x100000001b3u;
  return static_cast<uint32_t>(hash ^ (hash >> 32));
}

Status HoldOutEveryTenth(ExampleData* data) {
  const ExampleSet all = data->train;
  std::vector<bool> test(static_cast<size_t>(all.size()));
  for (size_t i = kHoldOut - 1; i < test.size(); i += kHoldOut) test[i] = true;
  return Split(all, test, data);
}

StatusOr<ExampleData> AssembleExamples(ExampleTable table, const ExampleOptions& options, const std::string& where,
                                       const char* kind) {
  if (table.labels.empty()) return errors::InvalidArgument(where, " holds no examples");
  if (table.columns.empty()) return errors::InvalidArgument(where, " holds labels only");
  if (!table.has_test_files) {
    for (size_t i = kHoldOut - 1; i < table.test.size(); i += kHoldOut) table.test[i] = true;
  }
  if (std::all_of(table.test.begin(), table.test.end(), [](bool test) { return test; })) {
    return errors::NotFound(where, ": all files are for evaluation by their names");
  }
  ExampleData data;
  ExampleSet all;
  std::vector<std::string> class_names;
  RETURN_IF_ERROR(AssembleLabels(table, where, &data, &all, &class_names));
  RETURN_IF_ERROR(AssembleNumbers(table, &data, &all));
  RETURN_IF_ERROR(AssembleCategories(table, options, &data, &all));
  RETURN_IF_ERROR(Split(all, table.test, &data));
  data.what = DescribeExamples(data, data.train.size(), data.test.size(), kind);
  DescribeColumns(table, class_names, &data);
  return data;
}

std::string DescribeExamples(const ExampleData& data, int64_t train, int64_t test, const char* kind) {
  std::string what = absl::StrCat(train, " + ", test, " examples of ", absl::StrJoin(data.dims, "x"), " numbers");
  if (data.category_columns > 0) absl::StrAppend(&what, " and ", data.category_columns, " categories");
  if (data.classes > 0) {
    absl::StrAppend(&what, ", ", data.classes, " classes");
  } else {
    absl::StrAppend(&what, ", values to predict");
  }
  return absl::StrCat(what, " (", kind, ")");
}

}  // namespace millstream
