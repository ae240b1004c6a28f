// SPDX-License-Identifier: Apache-2.0
// Bytes as what a stranger may send first to a server, and as what one may answer to a client. The first byte of an
// input says which, whether the rest is bytes or a script of frames (testing/frame_script.h), and, if it is odd, that
// preface and settings of a proper peer come before; the second one how it is cut.
#include "google/protobuf/wrappers.pb.h"
#include "millstream/base/logging.h"
#include "millstream/distributed/grpc/client_connection.h"
#include "millstream/distributed/grpc/server.h"
#include "millstream/distributed/grpc/testing/frame_script.h"
#include "millstream/distributed/grpc/testing/input_transport.h"

namespace millstream {
namespace {

using google::protobuf::StringValue;
using testing::InputTransport;

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
  if (greeted) bytes = testing::kHttp2Preface + testing::kHttp2Settings + bytes;
  const std::shared_ptr<ServerConnection> connection =
      Server(with_token)
          .Take(std::make_unique<InputTransport>(std::move(bytes), piece),
                PeerAddress{"127.0.0.1", "127.0.0.1:1", true});
  while (!connection->closed()) connection->OnReady(0);
}

void FuzzClient(std::string bytes, size_t piece, bool greeted) {
  if (greeted) bytes = testing::kHttp2Settings + bytes;
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
  if ((how & 8) != 0) bytes = millstream::testing::FramesOf(bytes);
  const bool greeted = (how & 1) != 0;
  if ((how & 2) != 0)
    millstream::FuzzClient(std::move(bytes), piece, greeted);
  else
    millstream::FuzzServer(std::move(bytes), piece, (how & 4) != 0, greeted);
  return 0;
}
