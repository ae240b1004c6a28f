// SPDX-License-Identifier: Apache-2.0
#include "millstream/distributed/trust/token_proof.h"

#include <algorithm>

#include "millstream/distributed/trust/hmac.h"

namespace millstream {
namespace {

constexpr uint8_t kVersion = 1;
constexpr absl::string_view kClientLabel = "millstream client proof";
constexpr absl::string_view kServerLabel = "millstream server proof";

void AppendText(absl::string_view text, std::string* out) {
  out->push_back(static_cast<char>(text.size() & 0xff));
  out->push_back(static_cast<char>(text.size() >> 8));
  out->append(text.data(), text.size());
}

// Reads a message from its beginning. After the first read that fails all others fail.
class Reader {
 public:
  explicit Reader(absl::string_view bytes) : rest_(bytes.size() > kMaxProofMessage ? absl::string_view() : bytes) {}

  absl::string_view Bytes(size_t size) {
    if (rest_.size() < size) failed_ = true;
    if (failed_) return "";
    const absl::string_view bytes = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return bytes;
  }
  uint8_t Number() {
    const absl::string_view byte = Bytes(1);
    return byte.empty() ? 0 : static_cast<uint8_t>(byte[0]);
  }
  std::string Text() {
    const size_t low = Number(), size = low | (static_cast<size_t>(Number()) << 8);
    if (size > kMaxProofName) failed_ = true;
    return std::string(Bytes(size));
  }
  bool complete() const { return !failed_ && rest_.empty(); }

 private:
  absl::string_view rest_;
  bool failed_ = false;
};

// The HMAC of the handshake so far. Every part has its length before it, so that no two handshakes read the same.
std::string Prove(const std::string& key, absl::string_view label, absl::string_view purpose, absl::string_view hello,
                  absl::string_view nonce_and_name) {
  std::string message;
  for (const absl::string_view part : {label, purpose, hello, nonce_and_name}) AppendText(part, &message);
  return HmacSha256(key, message);
}

Status CheckNames(std::initializer_list<absl::string_view> names) {
  for (const absl::string_view name : names) {
    if (name.size() > kMaxProofName) return errors::InvalidArgument("a name of ", name.size(), " bytes is too long");
  }
  return OkStatus();
}

}  // namespace

ClientProof::ClientProof(Credential credential, std::string client_name, ProofTarget target, ProofPurpose purpose)
    : credential_(std::move(credential)),
      client_name_(std::move(client_name)),
      target_(std::move(target)),
      purpose_(std::move(purpose)) {}

StatusOr<std::string> ClientProof::Hello() {
  if (step_ != Step::kStart) return errors::FailedPrecondition("the handshake has begun already");
  RETURN_IF_ERROR(CheckNames({client_name_, target_.name, target_.endpoint, purpose_}));
  hello_.push_back(static_cast<char>(kVersion));
  hello_.push_back(static_cast<char>(credential_.role));
  hello_ += RandomBytes(kNonceBytes);
  for (const std::string* text : {&client_name_, &target_.name, &target_.endpoint}) AppendText(*text, &hello_);
  step_ = Step::kSaidHello;
  return hello_;
}

StatusOr<std::string> ClientProof::AnswerChallenge(absl::string_view challenge) {
  if (step_ != Step::kSaidHello) return errors::FailedPrecondition("no challenge is expected now");
  step_ = Step::kDone;
  Reader reader(challenge);
  const std::string nonce(reader.Bytes(kNonceBytes));
  const std::string name = reader.Text();
  const absl::string_view proof = reader.Bytes(kHmacBytes);
  if (!reader.complete()) return errors::InvalidArgument("malformed challenge");
  const absl::string_view nonce_and_name = challenge.substr(0, challenge.size() - kHmacBytes);
  if (!EqualInConstantTime(proof, Prove(credential_.key, kServerLabel, purpose_, hello_, nonce_and_name))) {
    return absl::UnauthenticatedError("the server does not know the job token");
  }
  server_name_ = name;
  return Prove(credential_.key, kClientLabel, purpose_, hello_, nonce_and_name);
}

ServerProof::ServerProof(std::string job_token, ServerIdentity identity, ProofPurpose purpose)
    : job_token_(std::move(job_token)), identity_(std::move(identity)), purpose_(std::move(purpose)) {}

bool ServerProof::IsMeant(const ProofTarget& target) const {
  if (target.name == identity_.name) return true;
  if (!target.name.empty() && target.name.front() == '/') return false;  // another task
  if (!target.endpoint.empty() && target.endpoint == identity_.endpoint) return true;
  return std::find(identity_.names.begin(), identity_.names.end(), target.name) != identity_.names.end();
}

StatusOr<std::string> ServerProof::AnswerHello(absl::string_view hello) {
  if (step_ != Step::kStart) return errors::FailedPrecondition("the handshake has begun already");
  step_ = Step::kFailed;
  RETURN_IF_ERROR(CheckNames({identity_.name, purpose_}));
  Reader reader(hello);
  const uint8_t version = reader.Number(), role = reader.Number();
  reader.Bytes(kNonceBytes);
  client_name_ = reader.Text();
  ProofTarget target;
  target.name = reader.Text();
  target.endpoint = reader.Text();
  if (version != 0 && version != kVersion) {
    return errors::FailedPrecondition("handshakes of version ", version, " are not understood here; this is version ",
                                      kVersion);
  }
  if (!reader.complete()) return errors::InvalidArgument("malformed hello");
  role_ = static_cast<Role>(role);
  if (RoleName(role_) == "unknown") return errors::InvalidArgument("unknown role ", role);
  if (!IsMeant(target)) {
    return errors::FailedPrecondition("the caller looks for another server than this one, ", identity_.name,
                                      ": the address leads to another task, or through address translation or a "
                                      "tunnel that this server does not know of");
  }
  ASSIGN_OR_RETURN(const Credential credential, MakeCredential(job_token_, role_));
  std::string challenge = RandomBytes(kNonceBytes);
  AppendText(identity_.name, &challenge);
  expected_proof_ = Prove(credential.key, kClientLabel, purpose_, hello, challenge);
  challenge += Prove(credential.key, kServerLabel, purpose_, hello, challenge);
  step_ = Step::kChallenged;
  return challenge;
}

Status ServerProof::CheckProof(absl::string_view proof) {
  if (step_ != Step::kChallenged) return errors::FailedPrecondition("no proof is expected now");
  step_ = Step::kFailed;
  if (!EqualInConstantTime(proof, expected_proof_)) {
    return absl::UnauthenticatedError("the caller does not know the job token");
  }
  step_ = Step::kProven;
  return OkStatus();
}

}  // namespace millstream
