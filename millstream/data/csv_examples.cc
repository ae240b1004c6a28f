// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_join.h"
#include "millstream/data/example_columns.h"
#include "millstream/data/example_sources.h"

namespace millstream {
namespace {

constexpr size_t kMaxColumns = 100000;

bool IsLabelName(absl::string_view name) {
  static constexpr std::array kNames = {"label", "labels", "target", "class", "y"};
  const std::string lower = absl::AsciiStrToLower(name);
  return std::find(kNames.begin(), kNames.end(), lower) != kNames.end();
}

bool IsNumber(absl::string_view text) {
  double value;
  return absl::SimpleAtod(text, &value);
}

// Rows of one file: cells between separators, which may be quoted ("a ""b""", with separators and line ends inside).
class CsvReader {
 public:
  CsvReader(std::unique_ptr<InputStream> stream, const std::string& path) : stream_(std::move(stream)), path_(path) {}

  int64_t line() const { return line_; }
  // OutOfRange at the end. Blank lines are skipped.
  Status Next(std::vector<std::string>* cells) {
    std::string row;
    do {
      row.clear();
      RETURN_IF_ERROR(NextLine(&row));
    } while (absl::StripAsciiWhitespace(row).empty());
    const int64_t first = line_;
    while (std::count(row.begin(), row.end(), '"') % 2 == 1) {
      row += '\n';
      if (Status s = NextLine(&row); !s.ok())
        return errors::DataLoss(path_, " line ", first, ": a quote is not closed");
    }
    if (separator_ == 0) separator_ = FindSeparator(row);
    Cut(row, cells);
    return OkStatus();
  }

 private:
  Status NextLine(std::string* row) {
    std::string line;
    RETURN_IF_ERROR(stream_->ReadLine(&line));
    ++line_;
    if (line_ == 1 && line.rfind("\xEF\xBB\xBF", 0) == 0) line.erase(0, 3);  // the byte order mark of some spreadsheets
    *row += line;
    return OkStatus();
  }

  static char FindSeparator(absl::string_view row) {
    char best = ',';
    for (const char candidate : {'\t', ';'}) {
      if (std::count(row.begin(), row.end(), candidate) > std::count(row.begin(), row.end(), best)) best = candidate;
    }
    return best;
  }

  void Cut(absl::string_view row, std::vector<std::string>* cells) const {
    cells->clear();
    std::string cell;
    bool quoted = false;
    for (size_t i = 0; i < row.size(); ++i) {
      const char c = row[i];
      if (c == '"' && quoted && i + 1 < row.size() && row[i + 1] == '"') {
        cell += row[++i];
      } else if (c == '"') {
        quoted = !quoted;
      } else if (c == separator_ && !quoted) {
        cells->emplace_back(absl::StripAsciiWhitespace(cell));
        cell.clear();
      } else {
        cell += c;
      }
    }
    cells->emplace_back(absl::StripAsciiWhitespace(cell));
  }

  const std::unique_ptr<InputStream> stream_;
  const std::string path_;
  char separator_ = 0;
  int64_t line_ = 0;
};

class CsvTable {
 public:
  explicit CsvTable(const ExampleOptions& options) : options_(options), cells_(options.missing_values) {}

  Status ReadFile(const DataFile& file) {
    table_.has_test_files |= file.test;
    ASSIGN_OR_RETURN(std::unique_ptr<InputStream> stream, InputStream::Open(file.path, file.compression));
    CsvReader reader(std::move(stream), file.path);
    std::vector<std::string> cells;
    bool first = true;
    for (;;) {
      const Status status = reader.Next(&cells);
      if (status.code() == absl::StatusCode::kOutOfRange) return OkStatus();
      RETURN_IF_ERROR(status);
      bool header = false;
      if (first) {
        ASSIGN_OR_RETURN(header, Begin(cells, file.path));
      }
      first = false;
      if (header) continue;
      if (cells.size() != names_.size()) {
        return errors::InvalidArgument(file.path, " line ", reader.line(), ": ", cells.size(), " columns, not ",
                                       names_.size(), " as in the first line");
      }
      AddRow(cells, file, reader.line());
    }
  }

  // Once all rows are known: which columns hold numbers, which categories.
  StatusOr<ExampleTable> Finish() {
    RETURN_IF_ERROR(CheckLabelCells(table_.label, label_cells_, empty_labels_));
    for (ExampleColumn& column : table_.columns) {
      if (column.text) continue;
      ASSIGN_OR_RETURN(column.text, HoldsTexts(column.name, column.cells));
    }
    return std::move(table_);
  }

 private:
  // Looks at the first line of a file: true if it is a header.
  StatusOr<bool> Begin(const std::vector<std::string>& cells, const std::string& path) {
    const bool header = std::none_of(cells.begin(), cells.end(), IsNumber);
    if (!names_.empty()) {
      // Files that were cut from one may have the header in the first only.
      return header && cells == names_;
    }
    if (cells.size() < 2)
      return errors::InvalidArgument(path, ": one column only; a label and something to tell it from are needed");
    if (cells.size() > kMaxColumns)
      return errors::InvalidArgument(path, ": ", cells.size(), " columns, more than ", kMaxColumns);
    const bool named = header && (!options_.label.empty() || LooksLikeHeader(cells));
    names_ = cells;
    if (!named) {
      for (size_t i = 0; i < names_.size(); ++i) names_[i] = absl::StrCat(i);
    }
    RETURN_IF_ERROR(ChooseLabel(path));
    for (size_t i = 0; i < names_.size(); ++i) {
      if (i == label_) continue;
      table_.columns.emplace_back();
      table_.columns.back().name = names_[i];
    }
    RETURN_IF_ERROR(DeclareCategories(path));
    return named;
  }

  // All texts may also be a row of categories: names differ from one another and are not empty.
  static bool LooksLikeHeader(std::vector<std::string> cells) {
    std::sort(cells.begin(), cells.end());
    return !cells[0].empty() && std::adjacent_find(cells.begin(), cells.end()) == cells.end();
  }

  Status ChooseLabel(const std::string& path) {
    label_ = names_.size() - 1;
    table_.label_from = "the last column; --label_column names another";
    if (!options_.label.empty()) {
      ASSIGN_OR_RETURN(label_, FindColumn(options_.label, path));
      table_.label_from = "--label_column";
    } else if (const auto named = std::find_if(names_.begin(), names_.end(), IsLabelName); named != names_.end()) {
      label_ = static_cast<size_t>(named - names_.begin());
      table_.label_from = "by its name; --label_column names another";
    }
    table_.label = names_[label_];
    return OkStatus();
  }

  // By name, or by number from 0.
  StatusOr<size_t> FindColumn(const std::string& wanted, const std::string& path) const {
    const auto named = std::find(names_.begin(), names_.end(), wanted);
    if (named != names_.end()) return static_cast<size_t>(named - names_.begin());
    size_t index;
    if (absl::SimpleAtoi(wanted, &index) && index < names_.size()) return index;
    std::vector<std::string> some(names_.begin(),
                                  names_.begin() + static_cast<std::ptrdiff_t>(std::min<size_t>(names_.size(), 20)));
    return errors::InvalidArgument(path, " has no column '", wanted, "' (", absl::StrJoin(some, ", "),
                                   names_.size() > some.size() ? ", ..." : "", ")");
  }

  Status DeclareCategories(const std::string& path) {
    for (const std::string& wanted : options_.category_columns) {
      ASSIGN_OR_RETURN(const size_t index, FindColumn(wanted, path));
      if (index == label_) {
        return errors::InvalidArgument(path, ": column '", wanted, "' is the label (", table_.label_from,
                                       "); it cannot be one of --category_columns too");
      }
      table_.columns[index < label_ ? index : index - 1].text = true;
    }
    return OkStatus();
  }

  void AddRow(const std::vector<std::string>& cells, const DataFile& file, int64_t line) {
    float value;
    for (size_t i = 0, c = 0; i < cells.size(); ++i) {
      if (i == label_) continue;
      ExampleColumn& column = table_.columns[c++];
      column.hashes.push_back(HashCategory(cells[i]));
      column.cells.Add(cells_.Read(cells[i], &value), file.path, line, cells[i]);
      column.numbers.push_back(value);
    }
    const std::string& label = cells[label_];
    label_cells_.Add(cells_.Read(label, &value), file.path, line, label);
    if (cells_.IsCertainlyMissing(label)) empty_labels_.Add(file.path, line, label);
    table_.labels.push_back(label);
    table_.test.push_back(file.test);
  }

  const ExampleOptions& options_;
  const CellReader cells_;
  ExampleTable table_;
  std::vector<std::string> names_;  // of all columns, the label's among them
  size_t label_ = 0;
  CellTally label_cells_;
  CellTally::Some empty_labels_;
};

}  // namespace

StatusOr<ExampleData> ReadCsvExamples(const std::vector<DataFile>& files, const ExampleOptions& options) {
  CsvTable table(options);
  for (const DataFile& file : files) RETURN_IF_ERROR(table.ReadFile(file));
  const std::string where = files.size() == 1 ? files[0].path : FolderOf(files[0].path);
  ASSIGN_OR_RETURN(ExampleTable finished, table.Finish());
  return AssembleExamples(std::move(finished), options, where, KindName(DataFile::Kind::kCsv));
}

}  // namespace millstream
