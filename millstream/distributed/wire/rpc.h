// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_DISTRIBUTED_WIRE_RPC_H_
#define MILLSTREAM_DISTRIBUTED_WIRE_RPC_H_

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "google/protobuf/message.h"
#include "millstream/base/cancellation.h"
#include "millstream/base/status.h"
#include "millstream/distributed/trust/role.h"

namespace millstream {

// Remote procedure calls by path and protobuf message. distributed/grpc/ has the one implementation, over gRPC.

// PEM files. All empty: no encryption. With `ca`, both ends must show a certificate that it signed (mutual TLS).
struct RpcTls {
  std::string cert, key, ca;
  std::string server_name;  // client: the name that the server's certificate must carry; "": the host of the address
  bool enabled() const { return !cert.empty() || !ca.empty(); }
};

// One call that a server is answering. It lives until Finish(), which any thread calls, exactly once.
class RpcCall {
 public:
  virtual google::protobuf::Message& request() = 0;  // the handler may move its parts out
  virtual google::protobuf::Message& response() = 0;
  template <typename T>
  T& request_as() {
    return static_cast<T&>(request());
  }
  template <typename T>
  T& response_as() {
    return static_cast<T&>(response());
  }

  virtual std::string peer() = 0;  // "127.0.0.1:40312"
  virtual bool peer_is_loopback() = 0;
  virtual Role role() { return Role::kTask; }                     // of the caller: at least the method's
  virtual absl::string_view metadata(absl::string_view key) = 0;  // "" if absent
  // The connection that brought the call: a number that no other connection has (0: the transport cannot tell), and
  // something that lives as long as it does.
  virtual uint64_t connection_number() { return 0; }
  virtual std::weak_ptr<const void> connection() { return {}; }
  // Cancelled when the client has gone, has given up or its deadline has passed, and when the server shuts down. The
  // call still has to be finished.
  virtual Cancellation* cancellation() = 0;
  // Sends the response, or the error. `this` and both messages are gone afterwards.
  virtual void Finish(Status status) = 0;

 protected:
  virtual ~RpcCall() = default;
};

struct RpcMethod {
  std::string path;                          // "/tensorflow.MasterService/RunStep"
  const google::protobuf::Message* request;  // prototypes
  const google::protobuf::Message* response;
  // Runs on the thread that reads the network, and may finish the call at once (which is fastest) or later, from
  // elsewhere. While it takes longer than some tens of milliseconds (less: long_call.h) another thread reads for it.
  std::function<void(RpcCall& call)> run;
  Role role = Role::kTask;  // that a caller must have; PermissionDenied for lower ones
};

struct GrpcLinkService;  // grpc_link.h

struct RpcServerOptions {
  std::string address = "127.0.0.1";  // to bind: a host name or number, without port
  int port = 0;                       // 0: any free one
  RpcTls tls;
  // Who may call, by the rule of trust/admission.h, decided before a request is read. With a token, a connection that
  // is not of the same user proves that it knows the token, once (docs/formats/trust.md).
  std::string token;
  bool insecure = false;               // without token and mutual TLS: acts for everybody, not only for the same user
  std::string name;                    // of this task, for the proof
  std::vector<std::string> addresses;  // by which callers from other hosts may know it: "ps0.example:2222"
  int max_message_bytes = -1;          // received; -1: no limit
  std::function<Status(RpcCall&)>
      authorize;  // if set, asked before a request is even parsed; must not use its messages
  std::shared_ptr<const GrpcLinkService> links;  // if set, links between tasks are accepted too
  // How long the reading thread looks for more before it blocks; a blocked wake-up costs more than most calls.
  std::chrono::microseconds spin{300};
};

class RpcServer {
 public:
  // Calls are answered from here on. InvalidArgument for an address that makes no sense or a method named twice,
  // Unknown ("Could not start gRPC server: ...", as in TensorFlow) if it cannot be bound; a port is never shared with
  // another server.
  static StatusOr<std::unique_ptr<RpcServer>> Start(const RpcServerOptions& options, std::vector<RpcMethod> methods);
  virtual ~RpcServer() = default;  // Shutdown()

  virtual int port() const = 0;
  // Refuses new calls, cancels the running ones and waits until they are finished. Not from within a handler.
  virtual void Shutdown() = 0;
};

struct RpcChannelOptions {
  RpcTls tls;
  std::string token;  // the job's or a role's; with one, a server that cannot prove that it knows it is not called
  Role role = Role::kClient;  // in which to call
  std::string name = "";      // who calls: a task of the job; "": a client
  std::string server = "";    // the task that must answer; "": whichever task has the address
};

struct RpcCallOptions {
  std::chrono::steady_clock::time_point deadline = std::chrono::steady_clock::time_point::max();
  Cancellation* cancellation = nullptr;  // must outlive the call
  // Wait for a server that is not up yet (until the deadline), where a call fails with Unavailable otherwise.
  bool wait_for_ready = false;
};

// A connection to one server, made when it is first needed and remade after it broke. Thread-safe.
//
// Errors are the server's own (code and message), else Unavailable (nobody there, connection lost: the message names
// the address), DeadlineExceeded or Cancelled.
class RpcChannel {
 public:
  static StatusOr<std::shared_ptr<RpcChannel>> Connect(const std::string& address,
                                                       const RpcChannelOptions& options = {});
  virtual ~RpcChannel() = default;

  virtual Status Call(const std::string& path, const google::protobuf::Message& request,
                      google::protobuf::Message* response, const RpcCallOptions& options = {}) = 0;
  // `request` is not used after this returns; `response` must live until `done`, which runs on a thread of the channel
  // and must not block.
  virtual void CallAsync(const std::string& path, const google::protobuf::Message& request,
                         google::protobuf::Message* response, const RpcCallOptions& options,
                         std::function<void(Status)> done) = 0;
  // Blocks until the server can be reached. DeadlineExceeded, Cancelled; the message names the address.
  virtual Status AwaitServer(const RpcCallOptions& options) = 0;
  virtual bool connected() = 0;
  virtual const std::string& address() const = 0;
};

}  // namespace millstream

#endif  // MILLSTREAM_DISTRIBUTED_WIRE_RPC_H_
