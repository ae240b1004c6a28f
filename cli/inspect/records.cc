// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdio>
#include <limits>

#include "cli/inspect/inspect.h"
#include "millstream/io/record_reader.h"
#include "millstream/proto/example.pb.h"

namespace millstream::cli {
namespace {

constexpr int kValuesShown = 8;

StatusOr<Compression> CompressionOf(const std::string& path) {
  ASSIGN_OR_RETURN(auto file, RandomAccessFile::Open(path));
  unsigned char head[2] = {0, 0};
  ASSIGN_OR_RETURN(const size_t got, file->ReadSome(0, 2, head));
  if (got == 2 && head[0] == 0x1f && head[1] == 0x8b) return Compression::kGzip;
  // A plain file would begin with the length of its first record: 0x78 = 120 is possible, with zeros behind it.
  if (got == 2 && head[0] == 0x78 && head[1] != 0) return Compression::kZlib;
  return Compression::kNone;
}

template <typename Values>
nlohmann::ordered_json First(const char* kind, const Values& values) {
  nlohmann::ordered_json shown = nlohmann::ordered_json::array();
  for (int i = 0; i < std::min(kValuesShown, values.size()); ++i) {
    if constexpr (std::is_same_v<std::decay_t<decltype(values[i])>, std::string>) {
      shown.push_back(values[i].size() <= 60 ? values[i] : absl::StrCat("(", values[i].size(), " bytes)"));
    } else {
      shown.push_back(values[i]);
    }
  }
  return {{"kind", kind}, {"count", values.size()}, {"first", std::move(shown)}};
}

nlohmann::ordered_json Describe(const proto::Example& example) {
  nlohmann::ordered_json features = nlohmann::ordered_json::object();
  const auto& map = example.features().feature();
  std::vector<std::string> names;
  for (const auto& [name, feature] : map) names.push_back(name);
  std::sort(names.begin(), names.end());
  for (const std::string& name : names) {
    const proto::Feature& feature = map.at(name);
    if (feature.has_bytes_list())
      features[name] = First("bytes", feature.bytes_list().value());
    else if (feature.has_float_list())
      features[name] = First("float", feature.float_list().value());
    else if (feature.has_int64_list())
      features[name] = First("int64", feature.int64_list().value());
    else
      features[name] = {{"kind", "none"}};
  }
  return features;
}

void PrintRecord(int64_t number, const std::string& record, bool json) {
  proto::Example example;
  const bool is_example = example.ParseFromString(record) && example.features().feature_size() > 0;
  const nlohmann::ordered_json features = is_example ? Describe(example) : nlohmann::ordered_json();
  if (json) {
    nlohmann::ordered_json line = {{"record", number}, {"bytes", record.size()}};
    if (is_example) line["features"] = features;
    return PrintJson(line);
  }
  std::printf("  record %lld, %s bytes%s\n", static_cast<long long>(number), WithThousands(record.size()).c_str(),
              is_example ? ", an Example:" : "");
  for (const auto& [name, feature] : features.items()) {
    std::printf("    %s: %s\n", name.c_str(),
                feature.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace).c_str());
  }
}

}  // namespace

Status InspectRecords(const InspectOptions& options, const std::string& path) {
  ASSIGN_OR_RETURN(const Compression compression, CompressionOf(path));
  ASSIGN_OR_RETURN(const auto reader, RecordReader::Open(path, compression));
  const int shown = options.limit > 0 ? options.limit : 3;
  if (!options.json) std::printf("records %s:\n", path.c_str());
  uint64_t count = 0, bytes = 0, shortest = std::numeric_limits<uint64_t>::max(), longest = 0;
  std::string record;
  Status status;
  for (; (status = reader->Read(&record)).ok(); ++count) {
    bytes += record.size();
    shortest = std::min<uint64_t>(shortest, record.size());
    longest = std::max<uint64_t>(longest, record.size());
    if (count < static_cast<uint64_t>(shown)) PrintRecord(static_cast<int64_t>(count), record, options.json);
  }
  if (!absl::IsOutOfRange(status))
    return Status(status.code(), absl::StrCat(path, ", after ", count, " records: ", status.message()));
  if (count == 0) shortest = 0;
  if (options.json) {
    PrintJson({{"kind", "records"},
               {"path", path},
               {"records", count},
               {"bytes", bytes},
               {"shortest", shortest},
               {"longest", longest}});
  } else {
    std::printf("  %s records, %s bytes, each %s to %s\n", WithThousands(count).c_str(), WithThousands(bytes).c_str(),
                WithThousands(shortest).c_str(), WithThousands(longest).c_str());
  }
  return OkStatus();
}

}  // namespace millstream::cli
