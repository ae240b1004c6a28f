// SPDX-License-Identifier: Apache-2.0
#include "millstream/distributed/grpc/testing/raw_client.h"

#include <nghttp2/nghttp2.h>
#include <poll.h>
#include <sys/socket.h>

#include "millstream/base/logging.h"
#include "millstream/distributed/link/sockets.h"

namespace millstream::testing {
namespace {

using Clock = std::chrono::steady_clock;
constexpr auto kPatience = std::chrono::seconds(20);

// False if time has passed.
bool Await(int socket, short events, Clock::time_point deadline) {
  pollfd wanted = {socket, events, 0};
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
  return left > 0 && poll(&wanted, 1, static_cast<int>(left)) > 0;
}

}  // namespace

RawClient::RawClient(int port, bool greets) : session_(Http2Session::Side::kClient, {}, this) {
  StatusOr<UniqueFd> socket = ConnectTcp(absl::StrCat("127.0.0.1:", port), Clock::now() + kPatience);
  MS_CHECK(socket.ok());
  socket_ = *std::move(socket);
  if (greets) Flush();
}

void RawClient::Start(const std::shared_ptr<RawStream>& stream, const std::string& path,
                      const std::vector<HttpHeader>& more, const std::string& method) {
  std::vector<HttpHeader> headers = {{":method", method}, {":scheme", "http"},
                                     {":path", path},     {":authority", "attack"},
                                     {"te", "trailers"},  {"content-type", "application/grpc"}};
  headers.insert(headers.end(), more.begin(), more.end());
  MS_CHECK(session_.StartStream(stream, headers).ok());
  Flush();
}

void RawClient::Reset(const RawStream& stream) {
  session_.Reset(stream, NGHTTP2_CANCEL);
  Flush();
}

bool RawClient::Flush() {
  OutQueue out;
  if (!session_.Collect(&out, size_t{1} << 30).ok()) return false;
  while (!out.empty()) {
    iovec part;
    out.Gather(&part, 1);
    if (!SendRaw(absl::string_view(static_cast<char*>(part.iov_base), part.iov_len))) return false;
    out.Consume(part.iov_len);
  }
  return true;
}

bool RawClient::SendRaw(absl::string_view bytes) {
  const auto deadline = Clock::now() + kPatience;
  while (!bytes.empty()) {
    const ssize_t sent = ::send(socket_.get(), bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent > 0) {
      bytes.remove_prefix(static_cast<size_t>(sent));
      continue;
    }
    if (errno != EAGAIN || !Await(socket_.get(), POLLOUT | POLLRDHUP, deadline)) return false;
    if (IsClosed()) return false;
  }
  return true;
}

bool RawClient::PumpUntil(const std::function<bool()>& done) {
  const auto deadline = Clock::now() + kPatience;
  while (!done()) {
    if (!Await(socket_.get(), POLLIN, deadline)) return false;
    char buffer[16384];
    const ssize_t got = ::recv(socket_.get(), buffer, sizeof(buffer), MSG_DONTWAIT);
    if (got == 0 || (got < 0 && errno != EAGAIN)) return done();
    if (got > 0 && !session_.Receive(buffer, static_cast<size_t>(got)).ok()) return done();
    if (!Flush()) return done();
  }
  return true;
}

bool RawClient::WaitForClose() {
  const auto deadline = Clock::now() + kPatience;
  while (Await(socket_.get(), POLLIN, deadline)) {
    char buffer[16384];
    const ssize_t got = ::recv(socket_.get(), buffer, sizeof(buffer), MSG_DONTWAIT);
    if (got == 0 || (got < 0 && errno != EAGAIN)) return true;
  }
  return false;
}

bool RawClient::IsClosed() {
  char byte;
  const ssize_t got = ::recv(socket_.get(), &byte, 1, MSG_DONTWAIT | MSG_PEEK);
  pollfd wanted = {socket_.get(), POLLRDHUP, 0};
  return got == 0 || (got < 0 && errno != EAGAIN) || (poll(&wanted, 1, 0) > 0 && (wanted.revents & POLLRDHUP) != 0);
}

std::string Frame(uint8_t type, uint8_t flags, uint32_t stream, absl::string_view payload) {
  std::string frame;
  for (const int shift : {16, 8, 0}) frame += static_cast<char>(payload.size() >> shift);
  frame += static_cast<char>(type);
  frame += static_cast<char>(flags);
  for (const int shift : {24, 16, 8, 0}) frame += static_cast<char>(stream >> shift);
  frame.append(payload.data(), payload.size());
  return frame;
}

}  // namespace millstream::testing
