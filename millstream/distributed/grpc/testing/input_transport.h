// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_DISTRIBUTED_GRPC_TESTING_INPUT_TRANSPORT_H_
#define MILLSTREAM_DISTRIBUTED_GRPC_TESTING_INPUT_TRANSPORT_H_

#include <sys/socket.h>

#include <algorithm>
#include <cstring>
#include <string>

#include "millstream/base/logging.h"
#include "millstream/distributed/grpc/transport.h"

namespace millstream::testing {

// What each end of a connection says first: the client's preface, and settings that leave everything as it is.
inline constexpr char kHttp2Preface[] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
inline const std::string kHttp2Settings("\0\0\0\4\0\0\0\0\0", 9);

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

}  // namespace millstream::testing

#endif  // MILLSTREAM_DISTRIBUTED_GRPC_TESTING_INPUT_TRANSPORT_H_
