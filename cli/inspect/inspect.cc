// SPDX-License-Identifier: Apache-2.0
#include "cli/inspect/inspect.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <memory>

#include "absl/strings/match.h"
#include "absl/strings/strip.h"
#include "cli/command.h"
#include "google/protobuf/text_format.h"
#include "millstream/base/file.h"
#include "millstream/proto/checkpoint_state.pb.h"

namespace millstream::cli {
namespace {

namespace fs = std::filesystem;

bool IsFile(const std::string& path) {
  std::error_code error;
  return fs::is_regular_file(path, error);
}
bool IsFolder(const std::string& path) {
  std::error_code error;
  return fs::is_directory(path, error);
}

// The prefix that the file `checkpoint` of a folder names as the latest.
StatusOr<std::string> LatestCheckpoint(const std::string& folder) {
  ASSIGN_OR_RETURN(const std::string text, ReadFile(folder + "/checkpoint", 16 << 20));
  proto::CheckpointState state;
  if (!google::protobuf::TextFormat::ParseFromString(text, &state) || state.model_checkpoint_path().empty()) {
    return errors::DataLoss(folder, "/checkpoint names no checkpoint");
  }
  const fs::path prefix = state.model_checkpoint_path();
  return prefix.is_absolute() ? prefix.string() : (fs::path(folder) / prefix).string();
}

Status InspectFolder(const InspectOptions& options, const std::string& folder) {
  bool found = false;
  if (IsFile(folder + "/checkpoint")) {
    ASSIGN_OR_RETURN(const std::string prefix, LatestCheckpoint(folder));
    RETURN_IF_ERROR(InspectCheckpoint(options, prefix));
    found = true;
  }
  for (const char* name : {"/saved_model.pb", "/saved_model.pbtxt"}) {
    if (!IsFile(folder + name)) continue;
    RETURN_IF_ERROR(InspectProgram(options, folder + name));
    found = true;
  }
  std::vector<std::string> events;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (absl::StrContains(entry.path().filename().string(), "tfevents")) events.push_back(entry.path().string());
  }
  std::sort(events.begin(), events.end());
  for (const std::string& path : events) RETURN_IF_ERROR(InspectEvents(options, path));
  if (found || !events.empty()) return OkStatus();
  return errors::NotFound(folder, " holds no checkpoint, saved model or event file; name a file in it");
}

bool LooksLikeRecords(const std::string& head) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(head[i]); };
  if (head.size() >= 2 && ((byte(0) == 0x1f && byte(1) == 0x8b) || byte(0) == 0x78)) return true;  // gzip, zlib
  if (head.size() < 12) return head.empty();
  uint64_t length = 0;
  for (int i = 7; i >= 0; --i) length = length << 8 | byte(i);
  return length < uint64_t{1} << 40;  // a program begins with a tag, and has no five zeros there
}

// What kind of file it is shows in its name or its first bytes.
Status Inspect(const InspectOptions& options) {
  std::string path = options.path;
  if (IsFolder(path)) return InspectFolder(options, path);
  absl::string_view prefix = path;
  if (absl::ConsumeSuffix(&prefix, ".index") || IsFile(path + ".index"))
    return InspectCheckpoint(options, std::string(prefix));
  if (!IsFile(path)) {
    return errors::NotFound(path, ": no such file, nor a checkpoint of that name (", path, ".index)");
  }
  const std::string name = fs::path(path).filename().string();
  if (absl::StrContains(name, "tfevents")) return InspectEvents(options, path);
  for (const char* suffix : {".meta", ".pb", ".pbtxt"}) {
    if (absl::EndsWith(name, suffix)) return InspectProgram(options, path);
  }
  ASSIGN_OR_RETURN(auto file, RandomAccessFile::Open(path));
  std::string head(12, '\0');
  ASSIGN_OR_RETURN(const size_t got, file->ReadSome(0, head.size(), head.data()));
  head.resize(got);
  return LooksLikeRecords(head) ? InspectRecords(options, path) : InspectProgram(options, path);
}

}  // namespace

void PrintJson(const nlohmann::ordered_json& object) {
  std::printf("%s\n", object.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace).c_str());
}

std::string WithThousands(uint64_t number) {
  std::string digits = std::to_string(number);
  for (int i = static_cast<int>(digits.size()) - 3; i > 0; i -= 3) digits.insert(i, ",");
  return digits;
}

namespace {

Command::Run AddInspectFlags(CLI::App& app) {
  auto options = std::make_shared<InspectOptions>();
  app.add_option("path", options->path, "file, checkpoint prefix or folder")->required();
  app.add_option("--tensor", options->tensor, "checkpoint: print this tensor's values");
  app.add_option("--format", options->format, "program: print all of it as text or json")
      ->check(CLI::IsMember({"text", "json"}));
  app.add_option("--limit", options->limit, "values or records to print (default: 1000 values, 3 records)")
      ->check(CLI::Range(1, 1 << 30));
  app.add_flag("--json", options->json, "print JSON, one object per line");
  return [options] {
    const Status result = Inspect(*options);
    return result.ok() ? 0 : Fail(result);
  };
}

const Registration<Command> kInspectCommand({
    .name = "inspect",
    .group = Command::Group::kFiles,
    .help = "Say what a file holds: a checkpoint, event file, TFRecord file, GraphDef, MetaGraphDef or SavedModel.\n"
            "A folder stands for its latest checkpoint, saved model and event files.\n"
            "Examples: millstream inspect /tmp/train\n"
            "          millstream inspect model.ckpt-1000 --tensor hidden/kernel\n"
            "          millstream inspect model.ckpt-1000.meta --format text\n"
            "          millstream inspect events.out.tfevents.1700000000.host --json",
    .add_flags = AddInspectFlags,
});

}  // namespace
}  // namespace millstream::cli
