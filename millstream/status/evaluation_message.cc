// SPDX-License-Identifier: Apache-2.0
#include "millstream/status/evaluation_message.h"

#include <cmath>

#include "absl/strings/match.h"
#include "google/protobuf/wrappers.pb.h"
#include "millstream/distributed/wire/task_methods.h"
#include "millstream/status/json_text.h"

namespace millstream {
namespace {

constexpr char kPrefix[] = "evaluation=";
constexpr size_t kMaxResults = 1000;

}  // namespace

std::string EvaluationMessage(const std::vector<EvaluationResult>& results) {
  Json list = Json::array();
  for (const EvaluationResult& r : results)
    list.push_back({{"run", r.run}, {"tag", r.tag}, {"value", r.value}, {"step", r.step}});
  return kPrefix + ToText(list);
}

bool IsEvaluationMessage(const std::string& message) { return absl::StartsWith(message, kPrefix); }

StatusOr<std::vector<EvaluationResult>> ParseEvaluationMessage(const std::string& message) {
  if (!IsEvaluationMessage(message)) return errors::InvalidArgument("not results of an evaluation");
  const Json list = ParseJson(message.substr(sizeof(kPrefix) - 1));
  if (!list.is_array() || list.size() > kMaxResults)
    return errors::InvalidArgument("results of an evaluation are a list of at most ", kMaxResults);
  std::vector<EvaluationResult> results;
  for (const Json& entry : list) {
    const Json &value = MemberOf(entry, "value"), &step = MemberOf(entry, "step");
    if (!MemberOf(entry, "tag").is_string()) return errors::InvalidArgument("a result of an evaluation has no tag");
    results.push_back({TextOf(entry, "run"), TextOf(entry, "tag"),
                       value.is_number() ? value.get<double>() : std::nan(""),
                       step.is_number_integer() ? step.get<int64_t>() : -1});
  }
  return results;
}

Status SendEvaluation(const std::string& address, const RpcChannelOptions& channel, std::chrono::milliseconds timeout,
                      const std::vector<EvaluationResult>& results) {
  ASSIGN_OR_RETURN(const std::shared_ptr<RpcChannel> task, RpcChannel::Connect(address, channel));
  google::protobuf::StringValue request;
  google::protobuf::BytesValue response;
  request.set_value(EvaluationMessage(results));
  return task->Call(TaskMethod("Status"), request, &response,
                    {.deadline = std::chrono::steady_clock::now() + timeout, .cancellation = nullptr});
}

}  // namespace millstream
