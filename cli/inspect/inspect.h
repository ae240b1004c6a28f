// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_CLI_INSPECT_INSPECT_H_
#define MILLSTREAM_CLI_INSPECT_INSPECT_H_

#include <nlohmann/json.hpp>
#include <string>

#include "millstream/base/status.h"

namespace millstream::cli {

struct InspectOptions {
  std::string path;
  std::string tensor;  // of a checkpoint: show its values
  std::string format;  // of a program: "text" or "json" prints all of it
  int limit = 0;       // values or records to show; 0: what suits the kind
  bool json = false;
};

// Each describes one kind of file: prints a text for people, or one JSON object (of events and records one per line).
Status InspectCheckpoint(const InspectOptions& options, const std::string& prefix);
Status InspectEvents(const InspectOptions& options, const std::string& path);
Status InspectRecords(const InspectOptions& options, const std::string& path);
Status InspectProgram(const InspectOptions& options, const std::string& path);

void PrintJson(const nlohmann::ordered_json& object);
std::string WithThousands(uint64_t number);  // "1,234,567"

}  // namespace millstream::cli

#endif  // MILLSTREAM_CLI_INSPECT_INSPECT_H_
