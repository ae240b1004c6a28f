// SPDX-License-Identifier: Apache-2.0
#include "millstream/distributed/grpc/transport.h"

#include <sys/socket.h>

#include <cerrno>
#include <cstring>

namespace millstream {
namespace {

class PlainTransport final : public Transport {
 public:
  explicit PlainTransport(UniqueFd socket) : socket_(std::move(socket)) {}

  ssize_t Read(char* data, size_t size) override {
    for (;;) {
      const ssize_t got = ::recv(socket_.get(), data, size, MSG_DONTWAIT);
      if (got > 0) return got;
      if (got == 0) return End("it closed the connection");
      if (errno == EAGAIN || errno == EWOULDBLOCK) return kAgain;
      if (errno != EINTR) return End(std::strerror(errno));
    }
  }

  ssize_t Write(const iovec* parts, int count) override {
    msghdr message = {};
    message.msg_iov = const_cast<iovec*>(parts);
    message.msg_iovlen = static_cast<size_t>(count);
    for (;;) {
      const ssize_t sent = ::sendmsg(socket_.get(), &message, MSG_DONTWAIT | MSG_NOSIGNAL);
      if (sent >= 0) return sent;
      if (errno == EAGAIN || errno == EWOULDBLOCK) return kAgain;
      if (errno != EINTR) return End(std::strerror(errno));
    }
  }

  int fd() const override { return socket_.get(); }
  void Shutdown() override { ::shutdown(socket_.get(), SHUT_RDWR); }

 private:
  ssize_t End(const char* why) {
    end_ = errors::Unavailable(why);
    return kEnd;
  }

  UniqueFd socket_;
};

}  // namespace

std::unique_ptr<Transport> MakePlainTransport(UniqueFd socket) {
  return std::make_unique<PlainTransport>(std::move(socket));
}

}  // namespace millstream
