// SPDX-License-Identifier: Apache-2.0
// What a task of the job may send over a gRPC link: to a server, behind a proper request for a link, or to a dialer,
// as its answer. A link that was opened ends, and its handler hears so once, whatever comes.
//
// The first byte of an input says which side, and whether what follows is HTTP/2, a script of its frames
// (testing/frame_script.h), or the link's own frames, in messages; the second one how it is cut.
#include "millstream/base/mutex.h"
#include "millstream/distributed/grpc/client_connection.h"
#include "millstream/distributed/grpc/server.h"
#include "millstream/distributed/grpc/stream_link.h"
#include "millstream/distributed/grpc/testing/frame_script.h"
#include "millstream/distributed/grpc/testing/input_transport.h"
#include "millstream/distributed/wire/grpc_link.h"

namespace millstream {
namespace {

using testing::Http2Frame;
using testing::InputTransport;

constexpr char kTask[] = "/job:worker/replica:0/task:0";
constexpr uint64_t kIncarnation = 7;

// Counts links; sends back some of what comes.
class Links final : public FrameHandler {
 public:
  StatusOr<Tensor> Allocate(PeerLink&, const Frame& frame, uint64_t bytes) override {
    if (bytes > 65536 || frame.kind % 4 == 0) return errors::ResourceExhausted("too large");
    return Tensor::Make(DType::kUint8, Shape({static_cast<int64_t>(bytes)}));
  }
  void Receive(PeerLink& link, Frame frame) override {
    const uint32_t kind = frame.kind % 8;
    if (kind == 1) link.Send(std::move(frame));
    if (kind == 2) link.Close(errors::Aborted("enough"));
    if (kind == 3) link.CloseAfterQueue(errors::Aborted("enough"));
  }
  void Opened(PeerLink&) override {
    MutexLock lock(mu_);
    ++open_;
  }
  void Closed(PeerLink&, const Status& why) override {
    MS_CHECK(!why.ok());
    MutexLock lock(mu_);
    MS_CHECK(--open_ >= 0);
    changed_.NotifyAll();
  }
  // For at most the fuzzer's time limit.
  void AwaitEnd() {
    MutexLock lock(mu_);
    while (open_ > 0) changed_.Wait(mu_);
  }

 private:
  Mutex mu_;
  CondVar changed_;
  int open_ ABSL_GUARDED_BY(mu_) = 0;
};

Links& AllLinks() {
  static Links* const links = new Links();
  return *links;
}

constexpr uint8_t kData = 0, kHeaders = 1, kEndHeaders = 4;

std::string LinkRequest() {
  const std::pair<std::string, std::string> headers[] = {{":method", "POST"},
                                                         {":scheme", "http"},
                                                         {":path", kGrpcLinkPath},
                                                         {":authority", "here"},
                                                         {"content-type", "application/grpc"},
                                                         {"te", "trailers"},
                                                         {kTaskKey, kTask},
                                                         {kIncarnationKey, absl::StrCat(kIncarnation)},
                                                         {kTicketKey, ""}};
  return testing::kHttp2Preface + testing::kHttp2Settings +
         Http2Frame(kHeaders, kEndHeaders, 1, testing::LiteralHeaders(headers));
}

std::string LinkAnswerHeaders() {
  const std::pair<std::string, std::string> headers[] = {
      {":status", "200"}, {"content-type", "application/grpc"}, {kIncarnationKey, absl::StrCat(kIncarnation)}};
  return testing::kHttp2Settings + Http2Frame(kHeaders, kEndHeaders, 1, testing::LiteralHeaders(headers));
}

// Messages with the link's frames, in frames of HTTP/2; where they are cut depends on `cut`.
std::string InMessages(const std::string& bytes, size_t cut) {
  std::string out;
  for (size_t at = 0; at < bytes.size();) {
    const size_t n = std::min(bytes.size() - at, 1 + cut * 7 + at % 251);
    std::string message("\0\0\0", 3);
    message.push_back(static_cast<char>(n >> 8));
    message.push_back(static_cast<char>(n));
    out += Http2Frame(kData, 0, 1, message + bytes.substr(at, n));
    at += n;
  }
  return out;
}

GrpcServer& Server() {
  static GrpcServer* const server = [] {
    RpcServerOptions options;
    options.name = "/job:ps/replica:0/task:0";
    options.spin = std::chrono::microseconds(0);
    options.insecure = true;
    options.links = std::make_shared<GrpcLinkService>(GrpcLinkService{
        3, "", [](const std::string&, uint64_t) -> StatusOr<FrameHandler*> { return &AllLinks(); }, LinkOptions{}});
    auto* started = new GrpcServer(options);
    MS_CHECK(started->Start({}).ok());
    return started;
  }();
  return *server;
}

void FuzzAcceptor(std::string bytes, size_t piece) {
  const auto connection = Server().Take(std::make_unique<InputTransport>(LinkRequest() + bytes, piece),
                                        PeerAddress{"127.0.0.1", "127.0.0.1:1", true});
  while (!connection->closed()) connection->OnReady(0);
  AllLinks().AwaitEnd();
}

void FuzzDialer(std::string bytes, size_t piece) {
  ClientTarget target;
  target.address = std::make_shared<const std::string>("127.0.0.1:1");
  const auto connection =
      std::make_shared<ClientConnection>(target, std::make_unique<InputTransport>(std::move(bytes), piece));
  const auto link = std::make_shared<StreamLink>(
      StreamLink::Parts{"/job:ps/replica:0/task:0", kIncarnation, "127.0.0.1:1", connection, &AllLinks(), LinkOptions{},
                        [connection] { connection->Close(errors::Unavailable("the link is over")); }});
  std::atomic<int> told{0};
  link->Dial(connection->HeadersFor(kGrpcLinkPath), [&](const Status&) { ++told; });
  connection->Start();
  while (!connection->closed()) connection->OnReady(0);
  AllLinks().AwaitEnd();
  while (told == 0) std::this_thread::yield();  // for at most the fuzzer's time limit
  MS_CHECK(told == 1);
}

}  // namespace
}  // namespace millstream

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 2) return 0;
  const uint8_t how = data[0];
  const size_t piece = 1 + size_t{data[1]} * 64;
  std::string bytes(reinterpret_cast<const char*>(data) + 2, size - 2);
  if ((how & 1) != 0)
    bytes = millstream::InMessages(bytes, how / 8);
  else if ((how & 8) != 0)
    bytes = millstream::testing::FramesOf(bytes);
  if ((how & 2) != 0)
    millstream::FuzzDialer((how & 4) != 0 ? millstream::LinkAnswerHeaders() + bytes : bytes, piece);
  else
    millstream::FuzzAcceptor(std::move(bytes), piece);
  return 0;
}
