// SPDX-License-Identifier: Apache-2.0
#include "millstream/launch/agent.h"

#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <nlohmann/json.hpp>

#include "absl/strings/numbers.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "millstream/base/version.h"
#include "millstream/launch/job_token.h"
#include "millstream/launch/process_group.h"

namespace millstream::launch {
namespace {

using Json = nlohmann::ordered_json;

constexpr absl::string_view kAnswer = "millstream-agent ";
constexpr size_t kLongestRequest = 16 << 20;

// Byte by byte, so that what follows the line stays unread.
StatusOr<std::string> ReadRequest() {
  std::string line;
  char c = 0;
  while (line.size() < kLongestRequest) {
    const ssize_t got = read(0, &c, 1);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0)
      return errors::InvalidArgument("no request on standard input: the launcher starts this command, not a person");
    if (c == '\n') return line;
    line.push_back(c);
  }
  return errors::InvalidArgument("the request is too long");
}

int Refuse(const Status& status) {
  WriteAll(2, absl::StrCat("millstream: ", status.message(), "\n"));
  return 1;
}

}  // namespace

std::string AgentRequest::ToLine() const {
  Json json;
  json["name"] = process.name;
  json["command"] = process.command;
  for (const auto& [name, value] : process.environment) json["environment"][name] = value;
  json["folder"] = process.folder;
  json["token"] = token;
  json["grace_ms"] = grace.count();
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

StatusOr<AgentRequest> AgentRequest::FromLine(absl::string_view line) {
  const Json json = Json::parse(line.begin(), line.end(), nullptr, false);
  const auto has = [&](const char* name, auto is) { return json.contains(name) && (json[name].*is)(); };
  if (!json.is_object() || !has("name", &Json::is_string) || !has("command", &Json::is_array) ||
      !has("folder", &Json::is_string) || !has("token", &Json::is_string) ||
      !has("grace_ms", &Json::is_number_integer)) {
    return errors::InvalidArgument("the request cannot be read: does the launcher have another version?");
  }
  AgentRequest request;
  request.process.name = json["name"];
  for (const Json& word : json["command"]) {
    if (!word.is_string()) return errors::InvalidArgument("the request's command must be a list of strings");
    request.process.command.push_back(word);
  }
  if (json.contains("environment")) {
    for (const auto& [name, value] : json["environment"].items()) {
      if (!value.is_string()) return errors::InvalidArgument("the request's environment must hold strings");
      request.process.environment.emplace_back(name, value);
    }
  }
  request.process.folder = json["folder"];
  request.token = json["token"];
  request.grace = std::chrono::milliseconds(json["grace_ms"].get<int64_t>());
  return request;
}

int ServeAgent() {
  StatusOr<std::string> line = ReadRequest();
  if (!line.ok()) return Refuse(line.status());
  StatusOr<AgentRequest> request = AgentRequest::FromLine(*line);
  if (!request.ok()) return Refuse(request.status());
  GroupOptions options;
  options.grace = request->grace;
  options.control_fd = 0;
  options.tail_lines = 0;
  options.on_note = [](absl::string_view) {};  // the launcher says it
  if (!request->token.empty()) {
    StatusOr<TokenFile> file = WriteTokenFile(request->token);
    if (!file.ok()) return Refuse(file.status());
    options.scratch_folder = file->folder;
    request->process.environment.emplace_back("MILLSTREAM_TOKEN_FILE", file->path);
  }
  ProcessGroup* running = nullptr;
  options.on_line = [&running](const std::string&, bool is_error, absl::string_view text) {
    if (!WriteAll(is_error ? 2 : 1, absl::StrCat(text, "\n")) && !running->stopping()) running->Stop(SIGTERM);
  };
  ProcessGroup group({request->process}, options);
  running = &group;
  const GroupResult result = group.Run();
  if (!result.failures.empty() && result.failures[0].exit_code == 127) {
    WriteAll(2, absl::StrCat("millstream: ", result.failures[0].how, "\n"));
  }
  return result.exit_code();
}

std::string AnswerPorts(const std::vector<int>& ports) {
  return absl::StrCat(kAnswer, kVersion, " ", absl::StrJoin(ports, ","));
}

StatusOr<std::vector<int>> ParsePorts(absl::string_view output) {
  for (absl::string_view line : absl::StrSplit(output, '\n')) {
    if (!absl::ConsumePrefix(&line, kAnswer)) continue;
    const std::pair<absl::string_view, absl::string_view> parts = absl::StrSplit(line, absl::MaxSplits(' ', 1));
    if (parts.first != kVersion)
      return errors::FailedPrecondition("has version ", parts.first, " of millstream, this is ", kVersion);
    std::vector<int> ports;
    for (absl::string_view word : absl::StrSplit(parts.second, ',', absl::SkipEmpty())) {
      if (!absl::SimpleAtoi(word, &ports.emplace_back()))
        return errors::InvalidArgument("answers with a port '", word, "'");
    }
    return ports;
  }
  return errors::NotFound("does not answer as 'millstream agent' would");
}

}  // namespace millstream::launch
