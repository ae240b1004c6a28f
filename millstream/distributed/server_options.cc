// SPDX-License-Identifier: Apache-2.0
#include "millstream/distributed/server_options.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cstdlib>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "millstream/base/file.h"
#include "millstream/proto/tensorflow_server.pb.h"

namespace millstream {
namespace {

std::string Env(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// Leaves the number as it is if the variable is not set.
template <typename T>
Status ReadNumber(const char* name, T* number) {
  const std::string value = Env(name);
  if (value.empty() || (absl::SimpleAtoi(value, number) && *number > 0)) return OkStatus();
  return errors::InvalidArgument(name, ": '", value, "' is not a positive number");
}

bool IsLoopback(const sockaddr& address) {
  if (address.sa_family == AF_INET) {
    return (ntohl(reinterpret_cast<const sockaddr_in&>(address).sin_addr.s_addr) >> 24) == 127;
  }
  return address.sa_family == AF_INET6 &&
         IN6_IS_ADDR_LOOPBACK(&reinterpret_cast<const sockaddr_in6&>(address).sin6_addr);
}

RpcTls TlsFromEnvironment() {
  RpcTls tls;
  tls.cert = Env("MILLSTREAM_TLS_CERT");
  tls.key = Env("MILLSTREAM_TLS_KEY");
  tls.ca = Env("MILLSTREAM_TLS_CA");
  return tls;
}

}  // namespace

bool IsLoopbackHost(const std::string& host) {
  if (host == "localhost") return true;
  addrinfo hints = {};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (getaddrinfo(host.c_str(), nullptr, &hints, &found) != 0) return false;
  bool all = true;
  for (const addrinfo* at = found; at != nullptr; at = at->ai_next) all = all && IsLoopback(*at->ai_addr);
  freeaddrinfo(found);
  return all;
}

StatusOr<std::string> ReadTokenFile(const std::string& path) {
  StatusOr<std::string> text = ReadFile(path, int64_t{1} << 16);
  if (!text.ok()) return WithContext(text.status(), "job token");
  const std::string token(absl::StripAsciiWhitespace(*text));
  if (token.empty()) return errors::InvalidArgument("job token: ", path, " is empty");
  for (unsigned char c : token) {
    if (!absl::ascii_isgraph(c))
      return errors::InvalidArgument("job token: ", path, " must hold one word of printable characters");
  }
  return token;
}

StatusOr<RpcChannelOptions> ChannelOptionsFromEnvironment() {
  RpcChannelOptions options;
  options.tls = TlsFromEnvironment();
  if (const std::string file = Env("MILLSTREAM_TOKEN_FILE"); !file.empty()) {
    ASSIGN_OR_RETURN(options.token, ReadTokenFile(file));
  }
  options.server = Env("MILLSTREAM_SERVER_TASK");
  return options;
}

StatusOr<ServerOptions> ServerOptions::FromProto(const proto::ServerDef& def) {
  ServerOptions options;
  ASSIGN_OR_RETURN(options.cluster, ClusterSpec::FromProto(def.cluster()));
  options.job_name = def.job_name();
  options.task_index = def.task_index();
  if (!def.protocol().empty() && def.protocol() != "grpc") {
    return errors::NotFound("No server factory registered for the given ServerDef: protocol \"", def.protocol(),
                            "\" (\"grpc\" is)");
  }
  if (def.port() != 0) options.port = def.port();
  if (def.has_default_session_config()) {
    options.default_session_config = std::make_shared<const proto::ConfigProto>(def.default_session_config());
  }
  RETURN_IF_ERROR(options.Check());
  return options;
}

void ServerOptions::ToProto(proto::ServerDef* def) const {
  def->Clear();
  cluster.ToProto(def->mutable_cluster());
  def->set_job_name(job_name);
  def->set_task_index(task_index);
  def->set_protocol("grpc");
  if (port > 0) def->set_port(port);
  if (default_session_config != nullptr) *def->mutable_default_session_config() = *default_session_config;
}

Status ServerOptions::ReadEnvironment() {
  ASSIGN_OR_RETURN(RpcChannelOptions channel, ChannelOptionsFromEnvironment());
  if (channel.tls.enabled()) tls = channel.tls;
  if (!channel.token.empty()) token = channel.token;
  if (const std::string value = Env("MILLSTREAM_INSECURE"); !value.empty()) insecure = value != "0";
  if (const std::string value = Env("MILLSTREAM_JOB_ID"); !value.empty()) job_id = value;
  if (const std::string value = Env("MILLSTREAM_FILE_ROOT"); !value.empty())
    file_roots = absl::StrSplit(value, ':', absl::SkipEmpty());
  int64_t deadline_ms = deadline.count();
  RETURN_IF_ERROR(ReadNumber("MILLSTREAM_DEADLINE_MS", &deadline_ms));
  deadline = std::chrono::milliseconds(deadline_ms);
  int64_t lease_ms = session_lease.count();
  RETURN_IF_ERROR(ReadNumber("MILLSTREAM_SESSION_LEASE_MS", &lease_ms));
  session_lease = std::chrono::milliseconds(lease_ms);
  RETURN_IF_ERROR(ReadNumber("MILLSTREAM_MAX_MESSAGE_BYTES", &max_message_bytes));
  RETURN_IF_ERROR(ReadNumber("MILLSTREAM_MAX_TENSOR_BYTES", &max_tensor_bytes));
  if (const std::string value = Env("MILLSTREAM_STATUS_PORT"); !value.empty()) {
    if (!absl::SimpleAtoi(value, &status_port) || status_port < 0 || status_port > 65535) {
      return errors::InvalidArgument("MILLSTREAM_STATUS_PORT: '", value, "' is not a port (0 to 65535)");
    }
  }
  if (const std::string value = Env("MILLSTREAM_STATUS_ADDRESS"); !value.empty()) status_address = value;
  if (const std::string value = Env("MILLSTREAM_LINKS"); !value.empty()) return SetLinks(value);
  return OkStatus();
}

Status ServerOptions::SetLinks(absl::string_view list) {
  shm = tcp = grpc = false;
  for (absl::string_view name : absl::StrSplit(list, ',')) {
    if (name == "shm")
      shm = true;
    else if (name == "tcp")
      tcp = true;
    else if (name == "grpc")
      grpc = true;
    else
      return errors::InvalidArgument("'", name, "' is not a kind of link: use shm, tcp or grpc");
  }
  return OkStatus();
}

Status ServerOptions::Check() const {
  RETURN_IF_ERROR(cluster.address(job_name, task_index).status());
  if (port > 65535) return errors::InvalidArgument("port ", port, " is out of range (0 to 65535)");
  if (status_port > 65535) return errors::InvalidArgument("status port ", status_port, " is out of range (0 to 65535)");
  if (status_port >= 0 && token.empty() && !IsLoopbackHost(status_address)) {
    return errors::InvalidArgument("the status page on ", status_address,
                                   ", where others can reach it, needs a job token (MILLSTREAM_TOKEN_FILE)");
  }
  if (IsRoleToken(token)) {
    return errors::InvalidArgument("a server needs the job token; MILLSTREAM_TOKEN_FILE names that of a role");
  }
  if (deadline.count() <= 0) return errors::InvalidArgument("the deadline must be above 0");
  if (max_message_bytes <= 0 || max_tensor_bytes <= 0)
    return errors::InvalidArgument("limits of messages and tensors must be above 0");
  if (tls.enabled() && (tls.cert.empty() || tls.key.empty())) {
    return errors::InvalidArgument("TLS: a server needs a certificate and its key");
  }
  if (!shm && !tcp && !grpc) return errors::InvalidArgument("at least one link (shm, tcp, grpc) must be allowed");
  return OkStatus();
}

StatusOr<HostPort> ServerOptions::AddressToBind() const {
  ASSIGN_OR_RETURN(const std::string address, cluster.address(job_name, task_index));
  ASSIGN_OR_RETURN(HostPort bind, ParseHostPort(address));
  if (port >= 0) bind.port = port;
  const std::string host = bind_address.empty() ? bind.host : bind_address;
  if (IsLoopbackHost(host)) {
    bind.host = host;
    return bind;
  }
  if (token.empty() && !admission().mutual_tls && !insecure) {
    return errors::FailedPrecondition(task_name(), " would listen on ", host, ":", bind.port,
                                      ", where others can reach it: set a job token (MILLSTREAM_TOKEN_FILE) or ",
                                      "mutual TLS (MILLSTREAM_TLS_CERT, MILLSTREAM_TLS_KEY, MILLSTREAM_TLS_CA), or let "
                                      "everybody in with --insecure (MILLSTREAM_INSECURE=1)");
  }
  if (!bind_address.empty())
    bind.host = bind_address;
  else
    bind.host = absl::StrContains(bind.host, ':') ? "::" : "0.0.0.0";
  return bind;
}

RpcChannelOptions ServerOptions::channel_options(const std::string& server) const {
  const bool task = !job_name.empty();
  return {tls, token, task ? Role::kTask : Role::kClient, task ? task_name() : "", server};
}

std::vector<std::string> ServerOptions::FileRootsFor(const HostPort& bind) const {
  if (!file_roots.empty() || IsLoopbackHost(bind.host)) return file_roots;
  return {"."};
}

}  // namespace millstream
