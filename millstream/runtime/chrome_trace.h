// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_RUNTIME_CHROME_TRACE_H_
#define MILLSTREAM_RUNTIME_CHROME_TRACE_H_

#include <string>

namespace millstream {

namespace proto {
class StepStats;
}  // namespace proto

// A traced step as JSON for chrome://tracing or Perfetto: a process for each device, a row for each thread, arrows from
// sends to receives. Times begin with the first node.
std::string ChromeTrace(const proto::StepStats& stats);

}  // namespace millstream

#endif  // MILLSTREAM_RUNTIME_CHROME_TRACE_H_
