// SPDX-License-Identifier: Apache-2.0
#include "tests/chaos/threads/network.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <nghttp2/nghttp2.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "millstream/base/logging.h"
#include "tests/chaos/threads/virtual_time.h"

namespace millstream::chaos {
namespace {

constexpr size_t kPiece = 65536;
constexpr size_t kHeard = 4 * kPiece;  // of a connection, in which its dialer names itself

sockaddr_in AddressOf(const std::string& host, int port) {
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(port));
  MS_CHECK(inet_pton(AF_INET, host.c_str(), &address.sin_addr) == 1);
  return address;
}

UniqueFd NewSocket() { return UniqueFd(socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)); }

// Both ends see a reset, not an orderly end.
void ResetSocket(UniqueFd* socket) {
  const linger at_once = {1, 0};
  setsockopt(socket->get(), SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
  socket->Close();
}

// The first task other than `not_this` that the bytes name; "" if there is none.
std::string TaskNamedIn(const std::string& bytes, const std::string& not_this) {
  constexpr absl::string_view kTask = "/replica:0/task:";
  for (size_t at = bytes.find("/job:"); at != std::string::npos; at = bytes.find("/job:", at + 1)) {
    const size_t number = bytes.find(kTask.data(), at);
    if (number == std::string::npos || number > at + 40) continue;
    size_t end = number + kTask.size();
    while (end < bytes.size() && isdigit(static_cast<unsigned char>(bytes[end])) != 0) ++end;
    const std::string task = bytes.substr(at, end - at);
    if (end > number + kTask.size() && task != not_this) return task;
  }
  return "";
}

// Values of the headers in the beginning of an HTTP/2 connection, which are compressed there.
std::string HeadersIn(const std::string& bytes) {
  constexpr size_t kPreface = 24, kFrameHead = 9;
  constexpr uint8_t kHeaders = 1;
  std::string values;
  if (bytes.rfind("PRI * HTTP/2.0", 0) != 0) return values;
  nghttp2_hd_inflater* inflater = nullptr;
  MS_CHECK(nghttp2_hd_inflate_new(&inflater) == 0);
  const auto* data = reinterpret_cast<const uint8_t*>(bytes.data());
  for (size_t at = kPreface; at + kFrameHead <= bytes.size();) {
    const size_t size = static_cast<size_t>(data[at]) << 16 | static_cast<size_t>(data[at + 1]) << 8 | data[at + 2];
    const bool is_headers = data[at + 3] == kHeaders;
    const uint8_t* block = data + at + kFrameHead;
    at += kFrameHead + size;
    if (at > bytes.size()) break;
    for (const uint8_t* end = block + size; is_headers && block < end;) {
      nghttp2_nv header;
      int flags = 0;
      const ssize_t read =
          nghttp2_hd_inflate_hd2(inflater, &header, &flags, block, static_cast<size_t>(end - block), 1);
      if (read < 0) break;
      block += read;
      if ((flags & NGHTTP2_HD_INFLATE_EMIT) != 0)
        values.append(reinterpret_cast<const char*>(header.value), header.valuelen).push_back('\n');
      if ((flags & NGHTTP2_HD_INFLATE_FINAL) != 0) nghttp2_hd_inflate_end_headers(inflater);
      if ((flags & NGHTTP2_HD_INFLATE_FINAL) != 0 || (read == 0 && flags == 0)) break;
    }
  }
  nghttp2_hd_inflate_del(inflater);
  return values;
}

// Who has dialed `task` and said this; "" if it does not say.
std::string DialerIn(const std::string& heard, const std::string& task) {
  const std::string named = TaskNamedIn(HeadersIn(heard), task);
  return named.empty() ? TaskNamedIn(heard, task) : named;
}

}  // namespace

// What one end sends to the other, on its way.
struct Network::Pipe {
  int from, to;  // sockets of the connection
  bool to_task;  // from who dialed
  std::string bytes;
  int64_t due_ns = 0;
  bool ended = false;   // nothing more comes
  bool broken = false;  // by an error, not by an orderly end
  bool passed = false;  // the other end knows
};

struct Network::Connection {
  std::string task;    // who was dialed
  std::string source;  // who dialed; "": not known yet
  std::string heard;   // from it until then
  UniqueFd client, server;
  Pipe to_task, from_task;
  bool over = false;
};

Network::Network() : wake_(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {
  thread_ = std::thread([this] { Main(); });
}

Network::~Network() {
  {
    MutexLock lock(mu_);
    quit_ = true;
  }
  Wake();
  thread_.join();
}

void Network::Wake() {
  const uint64_t one = 1;
  [[maybe_unused]] const ssize_t n = write(wake_.get(), &one, sizeof(one));
}

void Network::Serve(const std::string& task, const std::string& host, const std::set<int>& ports) {
  MutexLock lock(mu_);
  for (const int port : ports) {
    UniqueFd listener = NewSocket();
    const int yes = 1;
    setsockopt(listener.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
    const sockaddr_in address = AddressOf(host, port);
    MS_CHECK(bind(listener.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0);
    MS_CHECK(listen(listener.get(), 64) == 0);
    listeners_.push_back({task, port, std::move(listener)});
  }
  Wake();
}

void Network::StopServing(const std::string& task) {
  MutexLock lock(mu_);
  listeners_.remove_if([&](const Listener& listener) { return listener.task == task; });
  Wake();
}

void Network::Hold(const std::string& from, const std::string& to, bool held) {
  MutexLock lock(mu_);
  conditions_[{from, to}].held = held;
  Wake();
}

void Network::Delay(const std::string& from, const std::string& to, int64_t delay_ms) {
  MutexLock lock(mu_);
  conditions_[{from, to}].delay_ns = delay_ms * 1'000'000;
  Wake();
}

void Network::Reset(const std::string& a, const std::string& b) {
  MutexLock lock(mu_);
  ResetIf([&](const Connection& c) { return (c.source == a && c.task == b) || (c.source == b && c.task == a); });
}

void Network::CutOff(const std::string& task, bool off) {
  MutexLock lock(mu_);
  if (off) {
    cut_off_.insert(task);
    ResetIf([&](const Connection& c) { return c.source == task || c.task == task; });
  } else {
    cut_off_.erase(task);
  }
  Wake();
}

void Network::Squat(const std::string& task, const char* answer) {
  MutexLock lock(mu_);
  squatters_.erase(task);
  if (answer != nullptr) squatters_[task] = answer;
  ResetIf([&](const Connection& c) { return answer != nullptr && c.task == task; });
  Wake();
}

void Network::Heal() {
  MutexLock lock(mu_);
  conditions_.clear();
  squatters_.clear();
  squatted_.clear();
  Wake();
}

size_t Network::num_connections() {
  MutexLock lock(mu_);
  return connections_.size();
}

void Network::ResetIf(const std::function<bool(const Connection&)>& which) {
  for (Connection& connection : connections_) {
    if (!which(connection)) continue;
    ResetSocket(&connection.client);
    ResetSocket(&connection.server);
    connection.over = true;
  }
  connections_.remove_if([](const Connection& connection) { return connection.over; });
  Wake();
}

Network::Condition Network::ConditionOf(const Connection& connection, const Pipe& pipe) const {
  const auto found = pipe.to_task ? conditions_.find({connection.source, connection.task})
                                  : conditions_.find({connection.task, connection.source});
  return found == conditions_.end() ? Condition() : found->second;
}

void Network::Accept(Listener& listener) {
  UniqueFd client(accept4(listener.socket.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
  if (!client) return;
  if (cut_off_.contains(listener.task)) return ResetSocket(&client);
  if (const auto squatter = squatters_.find(listener.task); squatter != squatters_.end()) {
    if (squatter->second.empty()) return;
    send(client.get(), squatter->second.data(), squatter->second.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    squatted_.push_back(std::move(client));
    return;
  }
  UniqueFd server = NewSocket();
  const sockaddr_in address = AddressOf("127.0.0.1", listener.port);
  if (connect(server.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0 && errno != EINPROGRESS)
    return ResetSocket(&client);
  const int yes = 1;
  for (const int socket : {client.get(), server.get()}) setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
  Connection connection;
  connection.task = listener.task;
  connection.to_task = {client.get(), server.get(), true, "", 0, false, false, false};
  connection.from_task = {server.get(), client.get(), false, "", 0, false, false, false};
  connection.client = std::move(client);
  connection.server = std::move(server);
  connections_.push_back(std::move(connection));
}

// Takes what has come, and hands on what is due.
void Network::Move(Connection& connection, Pipe& pipe) {
  const Condition condition = ConditionOf(connection, pipe);
  const int64_t now = VirtualTime::now_ns();
  if (pipe.bytes.empty() && !pipe.ended && !condition.held) {
    char bytes[kPiece];
    const ssize_t n = recv(pipe.from, bytes, sizeof(bytes), MSG_DONTWAIT);
    if (n > 0) {
      pipe.bytes.assign(bytes, static_cast<size_t>(n));
      pipe.due_ns = now + condition.delay_ns;
      if (pipe.to_task && connection.source.empty() && connection.heard.size() < kHeard) {
        connection.heard += pipe.bytes;
        connection.source = DialerIn(connection.heard, connection.task);
      }
      if (cut_off_.contains(connection.source)) pipe.ended = pipe.broken = true;
    } else if (n == 0 || (errno != EAGAIN && errno != EINTR && errno != ENOTCONN)) {
      pipe.ended = true;
      pipe.broken = n != 0;
    }
  }
  if (condition.held || pipe.due_ns > now) return;
  if (!pipe.bytes.empty()) {
    const ssize_t n = send(pipe.to, pipe.bytes.data(), pipe.bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    if (n > 0) pipe.bytes.erase(0, static_cast<size_t>(n));
    if (n < 0 && errno != EAGAIN && errno != EINTR && errno != ENOTCONN) pipe.ended = pipe.broken = true;
  }
  if (pipe.broken) connection.over = true;
  if (pipe.ended && pipe.bytes.empty() && !pipe.passed) {
    pipe.passed = true;
    shutdown(pipe.to, SHUT_WR);
  }
}

void Network::Main() {
  for (;;) {
    std::vector<pollfd> wanted;
    int64_t next = INT64_MAX;
    {
      MutexLock lock(mu_);
      if (quit_) return;
      wanted.push_back({wake_.get(), POLLIN, 0});
      for (Listener& listener : listeners_) {
        Accept(listener);
        wanted.push_back({listener.socket.get(), POLLIN, 0});
      }
      for (Connection& connection : connections_) {
        for (Pipe* pipe : {&connection.to_task, &connection.from_task}) Move(connection, *pipe);
        if (connection.over || (connection.to_task.passed && connection.from_task.passed)) {
          if (connection.over) ResetSocket(&connection.client), ResetSocket(&connection.server);
          connection.over = true;
          continue;
        }
        for (Pipe* pipe : {&connection.to_task, &connection.from_task}) {
          if (ConditionOf(connection, *pipe).held) continue;
          if (!pipe->bytes.empty() && pipe->due_ns > VirtualTime::now_ns())
            next = std::min(next, pipe->due_ns);
          else if (!pipe->bytes.empty())
            wanted.push_back({pipe->to, POLLOUT, 0});
          else if (!pipe->ended)
            wanted.push_back({pipe->from, POLLIN, 0});
        }
      }
      connections_.remove_if([](const Connection& connection) { return connection.over; });
    }
    const int64_t left = next == INT64_MAX ? -1 : std::max<int64_t>(1, (next - VirtualTime::now_ns()) / 1'000'000);
    poll(wanted.data(), wanted.size(), static_cast<int>(left));
    uint64_t count;
    [[maybe_unused]] const ssize_t n = read(wake_.get(), &count, sizeof(count));
  }
}

std::set<int> ListeningPorts() {
  std::set<std::string> inodes;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code error;
    const std::string name = std::filesystem::read_symlink(entry.path(), error).string();
    if (name.rfind("socket:[", 0) == 0) inodes.insert(name.substr(8, name.size() - 9));
  }
  std::set<int> ports;
  std::ifstream table("/proc/self/net/tcp");
  std::string line;
  std::getline(table, line);
  while (std::getline(table, line)) {
    const std::vector<std::string> words = absl::StrSplit(line, ' ', absl::SkipEmpty());
    int port = 0;
    if (words.size() > 9 && words[3] == "0A" && words[1].rfind("0100007F:", 0) == 0 && inodes.contains(words[9]) &&
        absl::SimpleHexAtoi(words[1].substr(9), &port)) {
      ports.insert(port);
    }
  }
  return ports;
}

}  // namespace millstream::chaos
