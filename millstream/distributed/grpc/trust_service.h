// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_DISTRIBUTED_GRPC_TRUST_SERVICE_H_
#define MILLSTREAM_DISTRIBUTED_GRPC_TRUST_SERVICE_H_

#include <vector>

#include "absl/strings/string_view.h"
#include "millstream/distributed/wire/rpc.h"

namespace millstream {

// The calls by which a connection proves that it knows the job's token (docs/formats/trust.md): the only ones that
// those may make who have not.
inline constexpr char kChallengePath[] = "/millstream.Trust/Challenge";
inline constexpr char kProvePath[] = "/millstream.Trust/Prove";
inline constexpr uint64_t kMaxTrustRequest = 2048;

inline bool IsTrustMethod(absl::string_view path) { return path == kChallengePath || path == kProvePath; }

// For calls that are ServerCalls.
std::vector<RpcMethod> TrustMethods();

}  // namespace millstream

#endif  // MILLSTREAM_DISTRIBUTED_GRPC_TRUST_SERVICE_H_
