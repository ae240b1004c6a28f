// SPDX-License-Identifier: Apache-2.0
#include "tests/golden_case.h"

#include <google/protobuf/io/gzip_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl.h>
#include <google/protobuf/util/delimited_message_util.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>

#include "millstream/base/logging.h"

namespace millstream {
namespace {

std::filesystem::path GoldenFolder() {
  const char* source = std::getenv("MILLSTREAM_SOURCE_DIR");
  return std::filesystem::path(source == nullptr ? "." : source) / "tests" / "goldens";
}

void ReadFile(const std::filesystem::path& path, std::vector<GoldenCase>* cases) {
  std::ifstream file(path, std::ios::binary);
  google::protobuf::io::IstreamInputStream raw(&file);
  google::protobuf::io::GzipInputStream in(&raw);
  bool clean_end = false;
  while (true) {
    GoldenCase c;
    if (!google::protobuf::util::ParseDelimitedFromZeroCopyStream(&c.meta, &in, &clean_end)) break;
    const std::string& name = c.meta.meta_info_def().meta_graph_version();
    const size_t slash = name.find('/');
    c.family = name.substr(0, slash);
    c.name = name.substr(slash + 1);
    c.file = std::filesystem::relative(path, GoldenFolder()).replace_extension().string();
    cases->push_back(std::move(c));
  }
  MS_CHECK(clean_end);
}

std::vector<GoldenCase> ReadAll() {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(GoldenFolder())) {
    if (entry.path().extension() == ".gz") files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  std::vector<GoldenCase> cases;
  for (const auto& file : files) ReadFile(file, &cases);
  return cases;
}

}  // namespace

bool GoldenCase::HasOption(const std::string& option) const {
  const auto it = meta.collection_def().find("options");
  if (it == meta.collection_def().end()) return false;
  const auto& values = it->second.node_list().value();
  return std::find(values.begin(), values.end(), option) != values.end();
}

std::vector<GoldenCase::Step> GoldenCase::Steps(const std::string& collection) const {
  std::vector<Step> steps;
  const auto it = meta.collection_def().find(collection);
  if (it == meta.collection_def().end()) return steps;
  const auto& bytes = it->second.bytes_list().value();
  for (int i = 0; i + 1 < bytes.size(); i += 2) {
    Step& step = steps.emplace_back();
    MS_CHECK(step.request.ParseFromString(bytes[i]) && step.expected.ParseFromString(bytes[i + 1]));
  }
  return steps;
}

std::vector<std::string> GoldenCase::NodeTypes() const {
  std::set<std::string> types, functions;
  for (const auto& function : graph().library().function()) {
    functions.insert(function.signature().name());
    for (const auto& node : function.node_def()) types.insert(node.op());
  }
  for (const auto& node : graph().node()) types.insert(node.op());
  std::vector<std::string> ops;
  std::set_difference(types.begin(), types.end(), functions.begin(), functions.end(), std::back_inserter(ops));
  return ops;
}

const std::vector<GoldenCase>& AllGoldenCases() {
  static const auto* cases = new std::vector<GoldenCase>(ReadAll());
  return *cases;
}

}  // namespace millstream
