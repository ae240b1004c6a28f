// SPDX-License-Identifier: Apache-2.0
#include "millstream/distributed/trust/peer_user.h"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>

#include "absl/strings/str_cat.h"
#include "millstream/distributed/link/unique_fd.h"
#include "millstream/distributed/trust/tcp_endpoint.h"

namespace millstream {
namespace {

constexpr uid_t kNobody = 65534;

// A listener on a loopback address; which families the two ends have is the case.
struct Families {
  const char* name;
  int server, client;
};
constexpr Families kFamilies[] = {{"IPv4", AF_INET, AF_INET},
                                  {"IPv6", AF_INET6, AF_INET6},
                                  {"IPv4ToDualStack", AF_INET6, AF_INET},
                                  {"MappedToIPv4", AF_INET, AF_INET6}};

sockaddr_storage Loopback(int family, bool mapped, bool any, uint16_t port, socklen_t* size) {
  sockaddr_storage storage = {};
  storage.ss_family = static_cast<sa_family_t>(family);
  if (family == AF_INET) {
    auto& four = reinterpret_cast<sockaddr_in&>(storage);
    four.sin_addr.s_addr = htonl(any ? INADDR_ANY : INADDR_LOOPBACK);
    four.sin_port = htons(port);
    *size = sizeof(four);
    return storage;
  }
  auto& six = reinterpret_cast<sockaddr_in6&>(storage);
  six.sin6_addr = any ? in6addr_any : in6addr_loopback;
  if (mapped) {
    six.sin6_addr = {};
    std::memcpy(six.sin6_addr.s6_addr, "\0\0\0\0\0\0\0\0\0\0\xff\xff\x7f\0\0\1", 16);
  }
  six.sin6_port = htons(port);
  *size = sizeof(six);
  return storage;
}

class PeerUserTest : public ::testing::TestWithParam<Families> {
 protected:
  void SetUp() override {
    const Families& families = GetParam();
    listener_ = UniqueFd(socket(families.server, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const bool dual = families.server == AF_INET6 && families.client == AF_INET;
    const int six_only = dual ? 0 : 1;
    if (families.server == AF_INET6) {
      setsockopt(listener_.get(), IPPROTO_IPV6, IPV6_V6ONLY, &six_only, sizeof(six_only));
    }
    socklen_t size = 0;
    sockaddr_storage address = Loopback(families.server, false, dual, 0, &size);
    if (bind(listener_.get(), reinterpret_cast<sockaddr*>(&address), size) != 0) {
      GTEST_SKIP() << "no such loopback address here";
    }
    ASSERT_EQ(listen(listener_.get(), 4), 0);
    size = sizeof(address);
    ASSERT_EQ(getsockname(listener_.get(), reinterpret_cast<sockaddr*>(&address), &size), 0);
    port_ = ntohs(reinterpret_cast<sockaddr_in&>(address).sin_port);
  }

  UniqueFd Connect() const {
    UniqueFd client(socket(GetParam().client, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const bool mapped = GetParam().server == AF_INET && GetParam().client == AF_INET6;
    socklen_t size = 0;
    const sockaddr_storage address = Loopback(GetParam().client, mapped, false, port_, &size);
    EXPECT_EQ(connect(client.get(), reinterpret_cast<const sockaddr*>(&address), size), 0) << std::strerror(errno);
    return client;
  }
  UniqueFd Accept() const { return UniqueFd(accept(listener_.get(), nullptr, nullptr)); }

  UniqueFd listener_;
  uint16_t port_ = 0;
};

INSTANTIATE_TEST_SUITE_P(Families, PeerUserTest, ::testing::ValuesIn(kFamilies),
                         [](const auto& info) { return info.param.name; });

TEST_P(PeerUserTest, FindsTheUserFromBothSources) {
  const UniqueFd client = Connect(), server = Accept();
  EXPECT_EQ(PeerUser(server.get()), geteuid());
  EXPECT_EQ(PeerUserFromTables(server.get(), "/proc/net"), geteuid());
  EXPECT_EQ(PeerUserFromDiagnostics(server.get()), geteuid());
  EXPECT_TRUE(PeerIsLoopback(server.get()));
  EXPECT_EQ(PeerUserFromTables(server.get(), "/nowhere"), std::nullopt);
}

TEST_P(PeerUserTest, FindsAnotherUser) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root, to become another user";
  const pid_t child = fork();
  if (child == 0) {
    const bool other = setresuid(kNobody, kNobody, kNobody) == 0;
    const UniqueFd client = Connect();
    char byte = 0;
    const ssize_t n = read(client.get(), &byte, 1);  // until the parent closes
    _exit(other && n == 0 ? 0 : 1);
  }
  UniqueFd server = Accept();
  EXPECT_EQ(PeerUser(server.get()), kNobody);
  EXPECT_EQ(PeerUserFromTables(server.get(), "/proc/net"), kNobody);
  EXPECT_EQ(PeerUserFromDiagnostics(server.get()), kNobody);
  server.Close();
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

// The kernel shows the socket of a process that has closed it as root's.
TEST_P(PeerUserTest, AClosedPeerIsNobody) {
  UniqueFd client = Connect();
  const UniqueFd server = Accept();
  ASSERT_EQ(send(client.get(), "x", 1, 0), 1);
  client.Close();
  EXPECT_EQ(PeerUserFromDiagnostics(server.get()), std::nullopt);
  EXPECT_EQ(PeerUserFromTables(server.get(), "/proc/net"), std::nullopt);
  EXPECT_EQ(PeerUser(server.get()), std::nullopt);
}

TEST_P(PeerUserTest, AResetPeerIsNobody) {
  UniqueFd client = Connect();
  const UniqueFd server = Accept();
  const linger at_once = {1, 0};
  setsockopt(client.get(), SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
  client.Close();
  EXPECT_EQ(PeerUser(server.get()), std::nullopt);
}

TEST_P(PeerUserTest, EndpointsAreEqualAtBothEnds) {
  const UniqueFd client = Connect(), server = Accept();
  EXPECT_NE(LocalEndpoint(server.get()), "");
  EXPECT_EQ(RemoteEndpoint(client.get()), LocalEndpoint(server.get()));
  EXPECT_EQ(LocalEndpoint(client.get()), RemoteEndpoint(server.get()));
  EXPECT_NE(LocalEndpoint(server.get()).find(absl::StrCat(":", port_, "@")), std::string::npos);
}

TEST(PeerUserOfUnixSocketTest, IsThatOfTheOtherEnd) {
  int ends[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
  const UniqueFd a(ends[0]), b(ends[1]);
  EXPECT_EQ(PeerUser(a.get()), geteuid());
  EXPECT_TRUE(PeerIsLoopback(a.get()));
  EXPECT_EQ(RemoteEndpoint(a.get()), "");
}

TEST(PeerUserOfNothingTest, IsNobody) {
  EXPECT_EQ(PeerUser(-1), std::nullopt);
  const UniqueFd unconnected(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  EXPECT_EQ(PeerUser(unconnected.get()), std::nullopt);
  EXPECT_FALSE(PeerIsLoopback(unconnected.get()));
}

TEST(TcpEndpointTest, KnowsLoopback) {
  EXPECT_TRUE((TcpEndpoint{AF_INET, std::string("\x7f\x01\x02\x03", 4), 1}.is_loopback()));
  EXPECT_FALSE((TcpEndpoint{AF_INET, std::string("\x0a\x00\x00\x01", 4), 1}.is_loopback()));
  EXPECT_TRUE((TcpEndpoint{AF_INET6, std::string(15, '\0') + '\1', 1}.is_loopback()));
  EXPECT_FALSE((TcpEndpoint{AF_INET6, std::string(16, '\0'), 1}.is_loopback()));
  EXPECT_EQ((TcpEndpoint{AF_INET6, std::string(15, '\0') + '\1', 22}.ToString()), "[::1]:22");
}

}  // namespace
}  // namespace millstream
