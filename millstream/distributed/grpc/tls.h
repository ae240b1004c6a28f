// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_DISTRIBUTED_GRPC_TLS_H_
#define MILLSTREAM_DISTRIBUTED_GRPC_TLS_H_

#include <memory>
#include <string>

#include "millstream/base/mutex.h"
#include "millstream/distributed/grpc/transport.h"
#include "millstream/distributed/wire/rpc.h"

struct ssl_ctx_st;

namespace millstream {

// Certificates and keys of one end, from PEM files, which are read again when they have changed. Thread-safe.
//
// At least TLS 1.2, and HTTP/2 by ALPN. Where a certificate authority is given both ends must show a certificate that
// it signed; without one a server asks for none, and a client trusts the system's authorities.
class TlsContext {
 public:
  enum class Side { kServer, kClient };

  // NotFound for a missing file, InvalidArgument for certificates that cannot be used.
  static StatusOr<std::shared_ptr<TlsContext>> Load(const RpcTls& tls, Side side);

  // TLS over a connected socket. Client: the peer's certificate must be for `host`, a name or an address, unless
  // RpcTls::server_name says otherwise.
  StatusOr<std::unique_ptr<Transport>> Wrap(UniqueFd socket, const std::string& host);

 private:
  TlsContext(const RpcTls& tls, Side side) : tls_(tls), side_(side) {}
  StatusOr<std::shared_ptr<ssl_ctx_st>> Build() const;
  // When the files were changed last, as one text.
  std::string FileState() const;
  std::shared_ptr<ssl_ctx_st> Current();

  const RpcTls tls_;
  const Side side_;
  Mutex mu_;
  std::shared_ptr<ssl_ctx_st> context_ ABSL_GUARDED_BY(mu_);
  std::string files_ ABSL_GUARDED_BY(mu_);
};

}  // namespace millstream

#endif  // MILLSTREAM_DISTRIBUTED_GRPC_TLS_H_
