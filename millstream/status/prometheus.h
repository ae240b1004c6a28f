// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_STATUS_PROMETHEUS_H_
#define MILLSTREAM_STATUS_PROMETHEUS_H_

#include <string>

namespace millstream {

// Tasks as TaskStatus::Describe() has them, one object or (within "tasks" of ClusterStatus::Describe()) several, in
// Prometheus' text format 0.0.4. Never fails: what a task does not say is left out.
std::string PrometheusText(const std::string& status_json);

}  // namespace millstream

#endif  // MILLSTREAM_STATUS_PROMETHEUS_H_
