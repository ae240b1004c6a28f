// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_DISTRIBUTED_GRPC_SERVER_CALL_H_
#define MILLSTREAM_DISTRIBUTED_GRPC_SERVER_CALL_H_

#include <grpc/grpc.h>

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "millstream/base/mutex.h"
#include "millstream/distributed/grpc/event_loop.h"
#include "millstream/distributed/wire/rpc.h"

namespace millstream {

class GrpcServer;
class ServerCall;

// Slots that wait for calls of a method.
inline constexpr int kServerSlots = 4;

// A method of a running server, and the messages that its calls use again and again. Thread-safe.
class ServerMethod {
 public:
  struct Messages {
    std::unique_ptr<google::protobuf::Message> request, response;
  };

  ServerMethod(RpcMethod method, void* registered) : method_(std::move(method)), registered_(registered) {}

  const RpcMethod& method() const { return method_; }
  void* registered() const { return registered_; }
  Messages Take();
  // `bytes` is what they held: larger ones are not kept.
  void GiveBack(Messages messages, size_t bytes);

  std::atomic<int> waiting{0};  // slots in gRPC's hands
  // Slots that are not; null if there are none.
  ServerCall* TakeFree();
  void PutFree(ServerCall* call);

 private:
  static constexpr size_t kMaxKept = 8;
  static constexpr size_t kMaxKeptBytes = size_t{16} << 20;

  const RpcMethod method_;
  void* const registered_;
  Mutex mu_;
  std::vector<Messages> kept_ ABSL_GUARDED_BY(mu_);  // the last ones used are used first: they are in the cache
  std::vector<ServerCall*> free_ ABSL_GUARDED_BY(mu_);
};

// A slot for one call of one method, used for one call after the other. It is in gRPC's hands until a call arrives,
// then runs the handler, and is free again when both the answer is out and gRPC has said how the call ended.
class ServerCall final : public RpcCall {
 public:
  ServerCall(GrpcServer* server, ServerMethod* method);

  // Hands the slot to gRPC, for the next call.
  void Request();

  google::protobuf::Message& request() override { return *messages_.request; }
  google::protobuf::Message& response() override { return *messages_.response; }
  std::string peer() override;
  bool peer_is_loopback() override;
  absl::string_view metadata(absl::string_view key) override;
  Cancellation* cancellation() override { return &*cancellation_; }
  void Finish(Status status) override;

 private:
  static void OnArrived(void* self, bool ok);
  static void OnAnswered(void* self, bool ok);
  static void OnClosed(void* self, bool ok);
  static void OnAnsweredAndClosed(void* self, bool ok);

  // On the stack of a thread while it runs a handler.
  struct Frame {
    ServerCall* call;
    bool answered;
  };
  static thread_local Frame* frame_;

  void Run();
  // Checks who calls, and parses the request.
  Status Prepare();
  void SendAnswer(const Status& status, grpc_byte_buffer* message, bool await_close);
  void AwaitClose();
  // `ends` of the two ends (answer out, call closed) are reached; after both, the slot is free.
  void Done(int ends);

  GrpcServer* const server_;
  ServerMethod* const method_;
  const GrpcTag arrived_, answered_, closed_, answered_and_closed_;

  grpc_call* call_ = nullptr;
  gpr_timespec deadline_;
  grpc_metadata_array metadata_;
  grpc_byte_buffer* payload_ = nullptr;
  size_t bytes_ = 0;
  int was_cancelled_ = 0;
  ServerMethod::Messages messages_;
  std::optional<Cancellation> cancellation_;
  std::atomic<int> ends_left_{0};
};

// The address at the other end of a call: "1.2.3.4:5".
std::string PeerOf(grpc_call* call);
// The same from gRPC's "ipv4:1.2.3.4:5".
std::string PeerText(absl::string_view uri);
bool IsLoopbackPeer(absl::string_view uri);

}  // namespace millstream

#endif  // MILLSTREAM_DISTRIBUTED_GRPC_SERVER_CALL_H_
