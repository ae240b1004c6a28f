// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_STATUS_EVALUATION_MESSAGE_H_
#define MILLSTREAM_STATUS_EVALUATION_MESSAGE_H_

#include <chrono>
#include <string>
#include <vector>

#include "millstream/distributed/wire/rpc.h"
#include "millstream/framework/monitoring/evaluation_results.h"

namespace millstream {

// An evaluator has no server of its own that a status page could ask: it tells its results to a task that has one, in
// the words of TaskService/Status.
std::string EvaluationMessage(const std::vector<EvaluationResult>& results);
// InvalidArgument if `message` is not one.
StatusOr<std::vector<EvaluationResult>> ParseEvaluationMessage(const std::string& message);
bool IsEvaluationMessage(const std::string& message);

// Tells the task at that address. Blocks for at most `timeout`.
Status SendEvaluation(const std::string& address, const RpcChannelOptions& channel, std::chrono::milliseconds timeout,
                      const std::vector<EvaluationResult>& results);

}  // namespace millstream

#endif  // MILLSTREAM_STATUS_EVALUATION_MESSAGE_H_
