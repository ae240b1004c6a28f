// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <map>

#include "absl/strings/match.h"
#include "absl/strings/str_join.h"
#include "millstream/data/example_columns.h"
#include "millstream/data/example_sources.h"
#include "millstream/io/record_reader.h"
#include "millstream/proto/example.pb.h"

namespace millstream {
namespace {

using Kind = proto::Feature::KindCase;

// Bytes of one length are raw pixels from this length on, and texts below.
constexpr size_t kMinPixels = 64;

const char* FeatureType(Kind kind) {
  switch (kind) {
    case Kind::kBytesList:
      return "bytes";
    case Kind::kFloatList:
      return "float";
    case Kind::kInt64List:
      return "int64";
    default:
      return "nothing";
  }
}

bool IsPacked(const std::string& bytes) {
  return absl::StartsWith(bytes, "\x89PNG") || absl::StartsWith(bytes, "\xff\xd8\xff") ||
         absl::StartsWith(bytes, "GIF8");
}

class RecordTable {
 public:
  explicit RecordTable(const ExampleOptions& options) : options_(options) {}

  Status ReadFile(const DataFile& file) {
    table_.has_test_files |= file.test;
    ASSIGN_OR_RETURN(std::unique_ptr<RecordReader> reader, RecordReader::Open(file.path, file.compression));
    std::string record;
    proto::Example example;
    for (int64_t number = 0;; ++number) {
      const Status read = reader->Read(&record);
      if (read.code() == absl::StatusCode::kOutOfRange) return OkStatus();
      if (!read.ok()) return WithContext(read, absl::StrCat(file.path, " record ", number));
      if (!example.ParseFromString(record))
        return errors::DataLoss(file.path, " record ", number, " is not an Example");
      Status added = kinds_.empty() ? Begin(example) : OkStatus();
      if (added.ok()) added = AddRow(example, file.test);
      if (!added.ok()) return WithContext(added, absl::StrCat(file.path, " record ", number));
    }
  }

  ExampleTable Take() { return std::move(table_); }

 private:
  // The first record says which features there are, and how many values each has.
  Status Begin(const proto::Example& example) {
    // In the order of their names: the order of a map field may differ from one process to the next.
    std::map<std::string, const proto::Feature*> features;
    for (const auto& [name, feature] : example.features().feature()) features.emplace(name, &feature);
    RETURN_IF_ERROR(ChooseLabel(features));
    const std::vector<std::string> shadowed = SizesOfImages(features);
    for (const auto& [name, feature] : features) {
      if (name == label_ || std::find(shadowed.begin(), shadowed.end(), name) != shadowed.end()) continue;
      ExampleColumn column;
      column.name = name;
      RETURN_IF_ERROR(SetKind(*feature, &column));
      table_.columns.push_back(std::move(column));
      kinds_.push_back(feature->kind_case());
    }
    if (kinds_.empty()) return errors::InvalidArgument("the Example has no feature beside its label '", label_, "'");
    return OkStatus();
  }

  Status ChooseLabel(const std::map<std::string, const proto::Feature*>& features) {
    static constexpr std::array kNames = {"label", "image/class/label", "labels", "target", "class", "y"};
    if (!options_.label.empty()) {
      label_ = options_.label;
    } else {
      for (const char* name : kNames) {
        if (label_.empty() && features.count(name) > 0) label_ = name;
      }
    }
    table_.label = label_;
    table_.label_from = options_.label.empty() ? "by its name; --label_column names another" : "--label_column";
    if (!label_.empty() && features.count(label_) > 0) return OkStatus();
    std::vector<std::string> names;
    names.reserve(features.size());
    for (const auto& [name, feature] : features) names.push_back(name);
    return errors::InvalidArgument(
        label_.empty() ? "which feature is the label" : absl::StrCat("there is no feature '", label_, "'"),
        "? There are: ", names.empty() ? "none" : absl::StrJoin(names, ", "));
  }

  // Single numbers beside an image that say its size tell nothing about the label.
  static std::vector<std::string> SizesOfImages(const std::map<std::string, const proto::Feature*>& features) {
    std::vector<std::string> found;
    bool image = false;
    for (const auto& [name, feature] : features) {
      image |= feature->bytes_list().value_size() == 1 && feature->bytes_list().value(0).size() >= kMinPixels;
      for (const char* size : {"height", "width", "depth", "channels"}) {
        if (name == size || absl::EndsWith(name, absl::StrCat("/", size))) found.push_back(name);
      }
    }
    if (!image) found.clear();
    return found;
  }

  static Status SetKind(const proto::Feature& feature, ExampleColumn* column) {
    switch (feature.kind_case()) {
      case Kind::kFloatList:
        column->width = feature.float_list().value_size();
        break;
      case Kind::kInt64List:
        column->width = feature.int64_list().value_size();
        break;
      case Kind::kBytesList: {
        if (feature.bytes_list().value_size() != 1)
          return errors::InvalidArgument("feature '", column->name, "' has ", feature.bytes_list().value_size(),
                                         " texts, not 1");
        const std::string& bytes = feature.bytes_list().value(0);
        if (IsPacked(bytes)) {
          return errors::InvalidArgument("feature '", column->name,
                                         "' is a packed image (PNG, JPEG or GIF); only raw pixels are read here");
        }
        column->pixels = bytes.size() >= kMinPixels;
        column->text = !column->pixels;
        column->width = column->pixels ? static_cast<int64_t>(bytes.size()) : 1;
        break;
      }
      default:
        return errors::InvalidArgument("feature '", column->name, "' holds nothing");
    }
    if (column->width == 0) return errors::InvalidArgument("feature '", column->name, "' holds no values");
    return OkStatus();
  }

  Status AddRow(const proto::Example& example, bool test) {
    const auto& features = example.features().feature();
    for (size_t i = 0; i < table_.columns.size(); ++i) {
      const auto found = features.find(table_.columns[i].name);
      const Kind kind = found == features.end() ? Kind::KIND_NOT_SET : found->second.kind_case();
      if (kind != kinds_[i]) {
        return errors::InvalidArgument("feature '", table_.columns[i].name, "' holds ", FeatureType(kind), ", not ",
                                       FeatureType(kinds_[i]), " as in the first record");
      }
      RETURN_IF_ERROR(AddValues(found->second, &table_.columns[i]));
    }
    const auto label = features.find(label_);
    if (label == features.end()) return errors::InvalidArgument("there is no label '", label_, "'");
    table_.labels.emplace_back();
    table_.test.push_back(test);
    return ReadLabel(label->second, &table_.labels.back());
  }

  static Status AddValues(const proto::Feature& feature, ExampleColumn* column) {
    const auto wrong = [&](int64_t count) {
      return errors::InvalidArgument("feature '", column->name, "' holds ", count, " values, not ", column->width,
                                     " as in the first record");
    };
    if (feature.has_float_list()) {
      const auto& values = feature.float_list().value();
      if (values.size() != column->width) return wrong(values.size());
      if (std::any_of(values.begin(), values.end(), [](float value) { return std::isinf(value); }))
        return errors::InvalidArgument("feature '", column->name, "' holds an infinite number");
      column->numbers.insert(column->numbers.end(), values.begin(), values.end());
    } else if (feature.has_int64_list()) {
      const auto& values = feature.int64_list().value();
      if (values.size() != column->width) return wrong(values.size());
      for (const int64_t value : values) column->numbers.push_back(static_cast<float>(value));
    } else {
      if (feature.bytes_list().value_size() != 1) return wrong(feature.bytes_list().value_size());
      const std::string& bytes = feature.bytes_list().value(0);
      if (column->text) {
        column->hashes.push_back(HashCategory(bytes));
      } else if (static_cast<int64_t>(bytes.size()) != column->width) {
        return wrong(static_cast<int64_t>(bytes.size()));
      } else {
        column->bytes.insert(column->bytes.end(), bytes.begin(), bytes.end());
      }
    }
    return OkStatus();
  }

  Status ReadLabel(const proto::Feature& feature, std::string* label) const {
    if (feature.int64_list().value_size() == 1) {
      *label = absl::StrCat(feature.int64_list().value(0));
    } else if (feature.float_list().value_size() == 1) {
      if (!std::isfinite(feature.float_list().value(0)))
        return errors::InvalidArgument("the label '", label_, "' is not a finite number");
      char text[32];
      std::snprintf(text, sizeof(text), "%.9g", static_cast<double>(feature.float_list().value(0)));
      *label = text;
    } else if (feature.bytes_list().value_size() == 1) {
      *label = feature.bytes_list().value(0);
      if (label->empty()) return errors::InvalidArgument("the label '", label_, "' is empty");
    } else {
      return errors::InvalidArgument("the label '", label_, "' is not one value");
    }
    return OkStatus();
  }

  const ExampleOptions& options_;
  ExampleTable table_;
  std::vector<Kind> kinds_;  // of the columns
  std::string label_;
};

}  // namespace

StatusOr<ExampleData> ReadRecordExamples(const std::vector<DataFile>& files, const ExampleOptions& options) {
  RecordTable table(options);
  for (const DataFile& file : files) RETURN_IF_ERROR(table.ReadFile(file));
  const std::string where = files.size() == 1 ? files[0].path : FolderOf(files[0].path);
  return AssembleExamples(table.Take(), options, where, KindName(DataFile::Kind::kRecords));
}

}  // namespace millstream
