// SPDX-License-Identifier: Apache-2.0
#include "millstream/distributed/link/sockets.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <string>

#include "gtest/gtest.h"

namespace millstream {
namespace {

constexpr auto kPatience = std::chrono::seconds(10);

std::string CongestionControl(int socket) {
  char name[32] = "";
  socklen_t size = sizeof(name);
  EXPECT_EQ(getsockopt(socket, IPPROTO_TCP, TCP_CONGESTION, name, &size), 0);
  return name;
}

bool SendsAtOnce(int socket) {
  int value = 0;
  socklen_t size = sizeof(value);
  EXPECT_EQ(getsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &value, &size), 0);
  return value != 0;
}

TEST(SocketsTest, NothingIsPacedInsideAHost) {
  for (const char* host : {"127.0.0.1", "::1", "127.0.0.7"}) {
    int port = 0;
    const StatusOr<UniqueFd> listener = ListenTcp(host, &port);
    if (std::string(host) == "::1" && !listener.ok()) continue;  // a host without IPv6
    ASSERT_TRUE(listener.ok()) << listener.status();
    const StatusOr<UniqueFd> dialed =
        ConnectTcp(JoinHostPort(host, port), std::chrono::steady_clock::now() + kPatience);
    ASSERT_TRUE(dialed.ok()) << dialed.status();
    const UniqueFd accepted(accept(listener->get(), nullptr, nullptr));
    ASSERT_TRUE(accepted);
    SetTcpOptions(accepted.get());
    for (const int socket : {dialed->get(), accepted.get()}) {
      EXPECT_TRUE(SendsAtOnce(socket)) << host;
      EXPECT_EQ(CongestionControl(socket), "reno") << host;
    }
  }
}

// The system's choice holds where the other end is not known.
TEST(SocketsTest, AnUnconnectedSocketKeepsTheSystemsCongestionControl) {
  const UniqueFd socket(::socket(AF_INET, SOCK_STREAM, 0));
  ASSERT_TRUE(socket);
  const std::string before = CongestionControl(socket.get());
  SetTcpOptions(socket.get());
  EXPECT_EQ(CongestionControl(socket.get()), before);
  EXPECT_TRUE(SendsAtOnce(socket.get()));
}

}  // namespace
}  // namespace millstream
