// SPDX-License-Identifier: Apache-2.0
#include "millstream/distributed/grpc/core.h"

#include <grpc/byte_buffer_reader.h>
#include <grpc/grpc_security.h>
#include <grpc/support/time.h>

#include <limits>

#include "absl/synchronization/mutex.h"
#include "google/protobuf/io/zero_copy_stream.h"
#include "millstream/base/file.h"
#include "millstream/base/logging.h"
#include "millstream/distributed/grpc/hand_over.h"

namespace millstream {
namespace {

// Reads the slices of a byte buffer one after the other, without copying them.
class SliceStream final : public google::protobuf::io::ZeroCopyInputStream {
 public:
  explicit SliceStream(grpc_byte_buffer* buffer) { valid_ = grpc_byte_buffer_reader_init(&reader_, buffer) != 0; }
  ~SliceStream() override {
    if (valid_) grpc_byte_buffer_reader_destroy(&reader_);
  }
  bool Next(const void** data, int* size) override {
    if (!valid_) return false;
    if (unread_ == 0) {
      if (grpc_byte_buffer_reader_peek(&reader_, &slice_) == 0) return false;
      unread_ = GRPC_SLICE_LENGTH(*slice_);
    }
    *data = GRPC_SLICE_END_PTR(*slice_) - unread_;
    *size = static_cast<int>(std::min<size_t>(unread_, std::numeric_limits<int>::max()));
    unread_ -= static_cast<size_t>(*size);
    count_ += *size;
    return true;
  }
  void BackUp(int count) override {
    unread_ += static_cast<size_t>(count);
    count_ -= count;
  }
  bool Skip(int count) override {
    const void* data;
    int size;
    while (count > 0 && Next(&data, &size)) {
      if (size > count) BackUp(size - count);
      count -= std::min(size, count);
    }
    return count == 0;
  }
  int64_t ByteCount() const override { return count_; }

 private:
  grpc_byte_buffer_reader reader_;
  grpc_slice* slice_ = nullptr;
  size_t unread_ = 0;  // at the end of *slice_
  int64_t count_ = 0;
  bool valid_;
};

struct Pem {
  std::string cert, key, ca;
};

StatusOr<Pem> ReadPem(const RpcTls& tls) {
  Pem pem;
  if (tls.cert.empty() != tls.key.empty()) return errors::InvalidArgument("TLS needs a certificate and its key");
  constexpr int64_t kMaxPem = int64_t{1} << 20;
  if (!tls.cert.empty()) {
    ASSIGN_OR_RETURN(pem.cert, ReadFile(tls.cert, kMaxPem));
    ASSIGN_OR_RETURN(pem.key, ReadFile(tls.key, kMaxPem));
  }
  if (!tls.ca.empty()) {
    ASSIGN_OR_RETURN(pem.ca, ReadFile(tls.ca, kMaxPem));
  }
  return pem;
}

}  // namespace

void InitGrpc() {
  static const bool started = [] {
    // Debian builds Abseil with a search for deadlocks in every lock of gRPC (68 against 61 us for a step of nothing).
    absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
    grpc_init();
    return true;
  }();
  (void)started;
}

void GrpcArgs::Add(const char* key, int value) {
  grpc_arg arg;
  arg.type = GRPC_ARG_INTEGER;
  arg.key = const_cast<char*>(key);
  arg.value.integer = value;
  args_.push_back(arg);
}

void GrpcArgs::Add(const char* key, std::string value) {
  texts_.push_back(std::move(value));
  grpc_arg arg;
  arg.type = GRPC_ARG_STRING;
  arg.key = const_cast<char*>(key);
  arg.value.string = texts_.back().data();
  args_.push_back(arg);
}

const grpc_channel_args* GrpcArgs::get() {
  all_ = {args_.size(), args_.data()};
  return &all_;
}

void StartBatch(grpc_call* call, std::span<const grpc_op> ops, const void* tag) {
  const grpc_call_error error = grpc_call_start_batch(call, ops.data(), ops.size(), HandToGrpc(tag), nullptr);
  MS_CHECK(error == GRPC_CALL_OK);
}

StatusOr<grpc_byte_buffer*> SerializeToBuffer(const google::protobuf::Message& message) {
  const size_t bytes = message.ByteSizeLong();
  if (bytes > static_cast<size_t>(std::numeric_limits<int>::max())) {
    return errors::InvalidArgument(message.GetTypeName(), " of ", bytes,
                                   " bytes is larger than a protobuf message may be (2 GB)");
  }
  grpc_slice slice = grpc_slice_malloc(bytes);
  message.SerializeWithCachedSizesToArray(GRPC_SLICE_START_PTR(slice));
  grpc_byte_buffer* buffer = grpc_raw_byte_buffer_create(&slice, 1);
  grpc_slice_unref(slice);
  return buffer;
}

bool ParseFromBuffer(grpc_byte_buffer* buffer, google::protobuf::Message* message) {
  if (buffer == nullptr) return false;
  SliceStream stream(buffer);
  return message->ParseFromZeroCopyStream(&stream);
}

// The codes of gRPC and absl are the same numbers.
grpc_status_code ToGrpcCode(absl::StatusCode code) { return static_cast<grpc_status_code>(code); }

Status FromGrpcStatus(grpc_status_code code, absl::string_view message) {
  const int number = static_cast<int>(code);
  const bool known = number >= 0 && number <= static_cast<int>(absl::StatusCode::kUnauthenticated);
  return Status(known ? static_cast<absl::StatusCode>(number) : absl::StatusCode::kUnknown, message);
}

absl::string_view ViewOf(const grpc_slice& slice) {
  return absl::string_view(reinterpret_cast<const char*>(GRPC_SLICE_START_PTR(slice)), GRPC_SLICE_LENGTH(slice));
}

bool SameSecret(absl::string_view a, absl::string_view b) {
  unsigned char difference = a.size() == b.size() ? 0 : 1;
  for (size_t i = 0; i < std::min(a.size(), b.size()); ++i) difference |= static_cast<unsigned char>(a[i] ^ b[i]);
  return difference == 0;
}

gpr_timespec ToGprTime(std::chrono::steady_clock::time_point time) {
  if (time == std::chrono::steady_clock::time_point::max()) return gpr_inf_future(GPR_CLOCK_MONOTONIC);
  const auto left = std::chrono::duration_cast<std::chrono::microseconds>(time - std::chrono::steady_clock::now());
  return gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC), gpr_time_from_micros(left.count(), GPR_TIMESPAN));
}

StatusOr<grpc_server_credentials*> MakeServerCredentials(const RpcTls& tls) {
  if (!tls.enabled()) return grpc_insecure_server_credentials_create();
  if (tls.cert.empty()) return errors::InvalidArgument("a server with TLS needs a certificate and its key");
  ASSIGN_OR_RETURN(const Pem pem, ReadPem(tls));
  grpc_ssl_pem_key_cert_pair pair = {pem.key.c_str(), pem.cert.c_str()};
  const bool mutual = !pem.ca.empty();
  grpc_server_credentials* credentials = grpc_ssl_server_credentials_create_ex(
      mutual ? pem.ca.c_str() : nullptr, &pair, 1,
      mutual ? GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY : GRPC_SSL_DONT_REQUEST_CLIENT_CERTIFICATE,
      nullptr);
  if (credentials == nullptr)
    return errors::InvalidArgument("cannot use certificate ", tls.cert, " with key ", tls.key);
  return credentials;
}

StatusOr<grpc_channel_credentials*> MakeChannelCredentials(const RpcTls& tls) {
  if (!tls.enabled()) return grpc_insecure_credentials_create();
  ASSIGN_OR_RETURN(const Pem pem, ReadPem(tls));
  grpc_ssl_pem_key_cert_pair pair = {pem.key.c_str(), pem.cert.c_str()};
  grpc_channel_credentials* credentials = grpc_ssl_credentials_create(
      pem.ca.empty() ? nullptr : pem.ca.c_str(), pem.cert.empty() ? nullptr : &pair, nullptr, nullptr);
  if (credentials == nullptr)
    return errors::InvalidArgument("cannot use certificate ", tls.cert, " with key ", tls.key);
  return credentials;
}

}  // namespace millstream
