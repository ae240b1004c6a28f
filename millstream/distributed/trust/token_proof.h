// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_DISTRIBUTED_TRUST_TOKEN_PROOF_H_
#define MILLSTREAM_DISTRIBUTED_TRUST_TOKEN_PROOF_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "millstream/base/status.h"
#include "millstream/distributed/trust/role.h"

namespace millstream {

// Two processes prove to each other that they know the job token, without sending it. Three messages, each at most
// kMaxProofMessage bytes (docs/formats/trust.md):
//
//   client -> server  Hello      role, client's nonce, client's name, which server is meant
//   server -> client  Challenge  server's nonce, server's name, the server's proof
//   client -> server  Proof      the client's proof
//
// A proof is the HMAC of everything said so far under the role's key, with a label for its direction. Fresh nonces
// make recorded messages useless, the label keeps a proof from being sent back, and the names keep whoever holds an
// address from passing the messages on to another server of the job and so getting a trusted connection to that one.
//
// The classes below do no I/O. Each object serves one handshake; a call out of turn is FailedPrecondition, and after
// an error the handshake is over. The error is the other side's fault: close the connection.

inline constexpr size_t kMaxProofMessage = 1024;
inline constexpr size_t kMaxProofName = 256;  // longer ones are InvalidArgument

// Which server the client means to reach. The server agrees if it has that name or, where the name is an address, if
// the endpoint is its own end of this connection: behind address translation only names are alike.
struct ProofTarget {
  std::string name;      // the task, "/job:ps/replica:0/task:0", where the client knows it; else the address it dialed
  std::string endpoint;  // RemoteEndpoint() of the client's socket; "": not known
};

// The protocol that the handshake is for, with whatever both sides know and want to be signed: "grpc", "link ...". A
// handshake cannot be carried from one to another.
using ProofPurpose = std::string;

class ClientProof {
 public:
  ClientProof(Credential credential, std::string client_name, ProofTarget target, ProofPurpose purpose);

  StatusOr<std::string> Hello();
  // Checks the server's proof; the Proof to send. Unauthenticated: the server does not know the token.
  StatusOr<std::string> AnswerChallenge(absl::string_view challenge);
  // As the server proved it. REQUIRES: AnswerChallenge() succeeded.
  const std::string& server_name() const { return server_name_; }

 private:
  const Credential credential_;
  const std::string client_name_;
  const ProofTarget target_;
  const ProofPurpose purpose_;
  enum class Step { kStart, kSaidHello, kDone } step_ = Step::kStart;
  std::string hello_, server_name_;
};

// Who a server is, for clients that look for one.
struct ServerIdentity {
  std::string name;                // its task
  std::vector<std::string> names;  // addresses by which it is known beyond this host
  std::string endpoint;            // LocalEndpoint() of this connection
};

class ServerProof {
 public:
  ServerProof(std::string job_token, ServerIdentity identity, ProofPurpose purpose);

  // The Challenge to send. InvalidArgument: not a hello; FailedPrecondition: another version, or another server is
  // meant.
  StatusOr<std::string> AnswerHello(absl::string_view hello);
  // Unauthenticated: the client does not know the token.
  Status CheckProof(absl::string_view proof);

  bool proven() const { return step_ == Step::kProven; }
  // What the client says of itself; believe it once it is proven().
  Role role() const { return role_; }
  const std::string& client_name() const { return client_name_; }

 private:
  bool IsMeant(const ProofTarget& target) const;

  const std::string job_token_;
  const ServerIdentity identity_;
  const ProofPurpose purpose_;
  enum class Step { kStart, kChallenged, kProven, kFailed } step_ = Step::kStart;
  Role role_ = Role::kObserver;
  std::string client_name_, expected_proof_;
};

}  // namespace millstream

#endif  // MILLSTREAM_DISTRIBUTED_TRUST_TOKEN_PROOF_H_
