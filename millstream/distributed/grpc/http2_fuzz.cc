// SPDX-License-Identifier: Apache-2.0
// Bytes as what a stranger may send first to a server, and as what one may answer to a client. The first byte of an
// input says which, and how the rest is cut; an odd one sends the preface and settings of a proper peer before.
#include <fcntl.h>
#include <sys/socket.h>

#include <cstring>

#include "google/protobuf/wrappers.pb.h"
#include "millstream/base/logging.h"
#include "millstream/distributed/grpc/client_connection.h"
#include "millstream/distributed/grpc/server.h"
#include "millstream/distributed/wire/grpc_link.h"

namespace millstream {
namespace {

using google::protobuf::StringValue;

constexpr char kPreface[] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
constexpr char kSettings[] = "\0\0\0\4\0\0\0\0\0";

// Gives an input piece by piece, then ends; takes whatever is written. A socket pair stands for the descriptor.
class InputTransport final : public Transport {
 public:
  InputTransport(std::string input, size_t piece) : input_(std::move(input)), piece_(piece) {
    int sockets[2];
    MS_CHECK(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) == 0);
    near_ = UniqueFd(sockets[0]);
    far_ = UniqueFd(sockets[1]);
  }
  ssize_t Read(char* data, size_t size) override {
    const size_t n = std::min({size, piece_, input_.size() - at_});
    if (n == 0) {
      end_ = errors::Unavailable("the input is over");
      return kEnd;
    }
    std::memcpy(data, input_.data() + at_, n);
    at_ += n;
    return static_cast<ssize_t>(n);
  }
  ssize_t Write(const iovec* parts, int count) override {
    size_t total = 0;
    for (int i = 0; i < count; ++i) total += parts[i].iov_len;
    return static_cast<ssize_t>(total);
  }
  bool may_hold_more() const override { return true; }
  int fd() const override { return near_.get(); }
  void Shutdown() override { ::shutdown(near_.get(), SHUT_RDWR); }

 private:
  const std::string input_;
  const size_t piece_;
  size_t at_ = 0;
  UniqueFd near_, far_;
};

GrpcServer& Server(bool with_token) {
  const auto start = [](const std::string& token) {
    RpcServerOptions options;
    options.token = token;
    options.name = "/job:ps/replica:0/task:0";
    options.max_message_bytes = 1 << 20;
    options.spin = std::chrono::microseconds(0);
    options.insecure = true;
    ServerLimits limits;
    limits.trusts_same_user = false;
    auto* server = new GrpcServer(options, limits);
    const StringValue& text = StringValue::default_instance();
    MS_CHECK(server
                 ->Start({{"/a", &text, &text,
                           [](RpcCall& call) {
                             call.response_as<StringValue>().set_value(call.request_as<StringValue>().value());
                             call.Finish(OkStatus());
                           },
                           Role::kClient}})
                 .ok());
    return server;
  };
  static GrpcServer* const open = start("");
  static GrpcServer* const closed = start("token");
  return with_token ? *closed : *open;
}

void FuzzServer(std::string bytes, size_t piece, bool with_token, bool greeted) {
  if (greeted) bytes = std::string(kPreface) + std::string(kSettings, 9) + bytes;
  const std::shared_ptr<ServerConnection> connection =
      Server(with_token)
          .Take(std::make_unique<InputTransport>(std::move(bytes), piece),
                PeerAddress{"127.0.0.1", "127.0.0.1:1", true});
  while (!connection->closed()) connection->OnReady(0);
}

void FuzzClient(std::string bytes, size_t piece, bool greeted) {
  if (greeted) bytes = std::string(kSettings, 9) + bytes;
  ClientTarget target;
  target.address = std::make_shared<const std::string>("127.0.0.1:1");
  StringValue request, response;
  auto call = std::make_shared<ClientCall>(target.address, *SerializeMessage(request), &response);
  const auto connection =
      std::make_shared<ClientConnection>(target, std::make_unique<InputTransport>(std::move(bytes), piece));
  const Status started = call->Start(connection, "/a", std::chrono::steady_clock::now() + std::chrono::seconds(20));
  if (!started.ok()) call->Fail(started);
  connection->Start();
  while (!connection->closed()) connection->OnReady(0);
  connection->Await(*call, std::chrono::steady_clock::now() + std::chrono::seconds(20));
  call->TakeOutcome().IgnoreError();
}

}  // namespace
}  // namespace millstream

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 2) return 0;
  const uint8_t how = data[0];
  const size_t piece = 1 + size_t{data[1]} * 64;
  std::string bytes(reinterpret_cast<const char*>(data) + 2, size - 2);
  const bool greeted = (how & 1) != 0;
  if ((how & 2) != 0)
    millstream::FuzzClient(std::move(bytes), piece, greeted);
  else
    millstream::FuzzServer(std::move(bytes), piece, (how & 4) != 0, greeted);
  return 0;
}
