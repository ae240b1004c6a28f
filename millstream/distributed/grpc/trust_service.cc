// SPDX-License-Identifier: Apache-2.0
#include "millstream/distributed/grpc/trust_service.h"

#include "google/protobuf/wrappers.pb.h"
#include "millstream/distributed/grpc/server_call.h"
#include "millstream/distributed/grpc/server_connection.h"

namespace millstream {
namespace {

using google::protobuf::BytesValue;

void Challenge(RpcCall& call) {
  StatusOr<std::string> challenge =
      static_cast<ServerCall&>(call).server_connection().AnswerHello(call.request_as<BytesValue>().value());
  if (challenge.ok()) call.response_as<BytesValue>().set_value(*challenge);
  call.Finish(challenge.status());
}

void Prove(RpcCall& call) {
  call.Finish(static_cast<ServerCall&>(call).server_connection().CheckProof(call.request_as<BytesValue>().value()));
}

}  // namespace

std::vector<RpcMethod> TrustMethods() {
  const BytesValue& bytes = BytesValue::default_instance();
  return {{kChallengePath, &bytes, &bytes, Challenge, Role::kObserver},
          {kProvePath, &bytes, &bytes, Prove, Role::kObserver}};
}

}  // namespace millstream
