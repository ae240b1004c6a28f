// SPDX-License-Identifier: Apache-2.0
#include "millstream/data/examples.h"

#include <algorithm>
#include <filesystem>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "millstream/data/example_sources.h"
#include "millstream/io/crc32c.h"

namespace millstream {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kSniffBytes = 1 << 16;

bool LooksLikeIdx(absl::string_view head) {
  return head.size() >= 8 && head[0] == 0 && head[1] == 0 && static_cast<uint8_t>(head[2]) >= 8 &&
         static_cast<uint8_t>(head[2]) <= 0xE && head[3] >= 1 && head[3] <= 4;
}

// A record begins with its length and the checksum of the length.
bool LooksLikeRecords(absl::string_view head) {
  if (head.size() < 12) return false;
  uint32_t crc;
  std::memcpy(&crc, head.data() + 8, sizeof(crc));
  return crc == MaskCrc(Crc32c(head.substr(0, 8)));
}

// Text whose first lines have the same number of separators.
bool LooksLikeCsv(absl::string_view head, const std::string& path) {
  if (head.empty() || absl::StrContains(head, '\0')) return false;
  std::string name = absl::AsciiStrToLower(fs::path(path).filename().string());
  if (absl::EndsWith(name, ".gz")) name.resize(name.size() - 3);
  if (absl::EndsWith(name, ".csv") || absl::EndsWith(name, ".tsv")) return true;
  const std::vector<absl::string_view> lines = absl::StrSplit(head, '\n', absl::SkipWhitespace());
  if (lines.size() < 2) return false;
  for (const char separator : {',', '\t', ';'}) {
    const auto count = std::count(lines[0].begin(), lines[0].end(), separator);
    if (count > 0 && std::count(lines[1].begin(), lines[1].end(), separator) == count) return true;
  }
  return false;
}

bool IsTestName(const std::string& path) {
  const std::string name = absl::AsciiStrToLower(fs::path(path).filename().string());
  return absl::StartsWith(name, "t10k") || absl::StrContains(name, "test") || absl::StrContains(name, "eval") ||
         absl::StrContains(name, "valid");
}

StatusOr<std::vector<std::string>> ListFiles(const std::string& path) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (!fs::exists(status)) return errors::NotFound(path, ": no such file or folder");
  if (!fs::is_directory(status)) return std::vector<std::string>{path};
  std::vector<std::string> files;
  for (fs::directory_iterator it(path, error), end; !error && it != end; it.increment(error)) {
    const std::string name = it->path().filename().string();
    std::error_code ignored;
    if (it->is_regular_file(ignored) && name[0] != '.' && name[0] != '_') files.push_back(it->path().string());
  }
  if (error) return errors::PermissionDenied(path, ": ", error.message());
  std::sort(files.begin(), files.end());
  if (files.empty()) return errors::NotFound(path, " holds no files");
  return files;
}

Status NothingUsable(const std::string& path, const std::vector<std::string>& files) {
  std::vector<std::string> names;
  for (const std::string& file : files) names.push_back(fs::path(file).filename().string());
  if (names.size() > 5) {
    const size_t more = names.size() - 4;
    names.resize(4);
    names.push_back(absl::StrCat(more, " more"));
  }
  return errors::InvalidArgument(path, " holds nothing to train on: neither IDX nor TFRecords nor CSV (",
                                 absl::StrJoin(names, ", "), ")");
}

}  // namespace

int64_t ExampleData::width() const {
  int64_t width = 1;
  for (const int64_t dim : dims) width *= dim;
  return width;
}

const char* KindName(DataFile::Kind kind) {
  switch (kind) {
    case DataFile::Kind::kIdx:
      return "IDX";
    case DataFile::Kind::kRecords:
      return "TFRecords";
    case DataFile::Kind::kCsv:
      return "CSV";
    case DataFile::Kind::kUnknown:
      break;
  }
  return "unknown";
}

StatusOr<DataFile> SniffFile(const std::string& path) {
  DataFile file;
  file.path = path;
  file.test = IsTestName(path);
  std::string head;
  ASSIGN_OR_RETURN(std::unique_ptr<InputStream> stream, InputStream::Open(path, Compression::kNone));
  RETURN_IF_ERROR(stream->Read(kSniffBytes, &head));
  if (absl::StartsWith(head, "\x1f\x8b")) {
    file.compression = Compression::kGzip;
    head.clear();
    ASSIGN_OR_RETURN(stream, InputStream::Open(path, Compression::kGzip));
    if (Status s = stream->Read(kSniffBytes, &head); !s.ok()) return WithContext(s, path);
  }
  if (LooksLikeIdx(head)) {
    file.kind = DataFile::Kind::kIdx;
  } else if (LooksLikeRecords(head)) {
    file.kind = DataFile::Kind::kRecords;
  } else if (LooksLikeCsv(head, path)) {
    file.kind = DataFile::Kind::kCsv;
  }
  return file;
}

namespace {

// An option that the kind of data has no use for would be ignored silently.
Status CheckOptionsAreUsed(DataFile::Kind kind, const ExampleOptions& options) {
  const char* unused = nullptr;
  if (kind == DataFile::Kind::kIdx && !options.label.empty()) unused = "--label_column";
  if (kind != DataFile::Kind::kCsv && !options.missing_values.empty()) unused = "--missing_values";
  if (kind != DataFile::Kind::kCsv && !options.category_columns.empty()) unused = "--category_columns";
  if (unused == nullptr) return OkStatus();
  return errors::InvalidArgument(unused, " is not used: the data is ", KindName(kind));
}

// The files that are data, all of one kind.
StatusOr<std::vector<DataFile>> FindDataFiles(const std::string& path, const ExampleOptions& options) {
  ASSIGN_OR_RETURN(const std::vector<std::string> names, ListFiles(path));
  std::vector<DataFile> files;
  for (const std::string& name : names) {
    ASSIGN_OR_RETURN(DataFile file, SniffFile(name));
    if (file.kind == DataFile::Kind::kUnknown) continue;
    if (!files.empty() && files[0].kind != file.kind) {
      return errors::InvalidArgument("One kind of data at a time: ", files[0].path, " is ", KindName(files[0].kind),
                                     ", ", file.path, " is ", KindName(file.kind));
    }
    files.push_back(std::move(file));
  }
  if (files.empty()) return NothingUsable(path, names);
  RETURN_IF_ERROR(CheckOptionsAreUsed(files[0].kind, options));
  return files;
}

}  // namespace

Status CheckExampleFiles(const std::string& path, const ExampleOptions& options) {
  return FindDataFiles(path, options).status();
}

StatusOr<ExampleData> ReadExamples(const std::string& path, const ExampleOptions& options) {
  ASSIGN_OR_RETURN(const std::vector<DataFile> files, FindDataFiles(path, options));
  switch (files[0].kind) {
    case DataFile::Kind::kIdx:
      return ReadIdxExamples(files, options);
    case DataFile::Kind::kRecords:
      return ReadRecordExamples(files, options);
    default:
      return ReadCsvExamples(files, options);
  }
}

}  // namespace millstream
