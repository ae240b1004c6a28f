// SPDX-License-Identifier: Apache-2.0
#include "millstream/distributed/grpc/tls.h"

#include <arpa/inet.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstring>

#include "millstream/base/file.h"
#include "millstream/base/logging.h"

namespace millstream {
namespace {

constexpr int64_t kMaxPemBytes = int64_t{1} << 20;
constexpr unsigned char kAlpn[] = {2, 'h', '2'};

// The first error of this thread's queue, which is emptied.
std::string SslError() {
  const unsigned long code = ERR_get_error();
  ERR_clear_error();
  if (code == 0) return "unknown error";
  const char* reason = ERR_reason_error_string(code);
  return reason != nullptr ? reason : absl::StrCat("error ", code);
}

bool IsIpAddress(const std::string& host) {
  in6_addr address;
  return inet_pton(AF_INET, host.c_str(), &address) == 1 || inet_pton(AF_INET6, host.c_str(), &address) == 1;
}

int SelectAlpn(SSL*, const unsigned char** out, unsigned char* out_size, const unsigned char* in, unsigned in_size,
               void*) {
  unsigned char* chosen = nullptr;
  if (SSL_select_next_proto(&chosen, out_size, kAlpn, sizeof(kAlpn), in, in_size) != OPENSSL_NPN_NEGOTIATED)
    return SSL_TLSEXT_ERR_ALERT_FATAL;
  *out = chosen;
  return SSL_TLSEXT_ERR_OK;
}

std::string NameText(const GENERAL_NAME& name) {
  const auto text = [](const ASN1_STRING* s) {
    return std::string(reinterpret_cast<const char*>(ASN1_STRING_get0_data(s)),
                       static_cast<size_t>(ASN1_STRING_length(s)));
  };
  if (name.type == GEN_DNS) return text(name.d.dNSName);
  if (name.type == GEN_URI) return text(name.d.uniformResourceIdentifier);
  if (name.type != GEN_IPADD) return "";
  const std::string bytes = text(name.d.iPAddress);
  char number[INET6_ADDRSTRLEN] = "";
  if (bytes.size() != 4 && bytes.size() != 16) return "";
  inet_ntop(bytes.size() == 4 ? AF_INET : AF_INET6, bytes.data(), number, sizeof(number));
  return number;
}

class TlsTransport final : public Transport {
 public:
  TlsTransport(UniqueFd socket, std::shared_ptr<SSL> ssl) : socket_(std::move(socket)), ssl_(std::move(ssl)) {}

  ssize_t Handshake() override {
    if (done_) return 0;
    ERR_clear_error();
    const int result = SSL_do_handshake(ssl_.get());
    if (result != 1) return Result(result, "TLS handshake");
    const unsigned char* protocol = nullptr;
    unsigned size = 0;
    SSL_get0_alpn_selected(ssl_.get(), &protocol, &size);
    if (size != 2 || std::memcmp(protocol, "h2", 2) != 0) {
      end_ = errors::Unavailable("TLS handshake: the peer does not offer HTTP/2 (ALPN h2)");
      return kEnd;
    }
    done_ = true;
    return 0;
  }

  ssize_t Read(char* data, size_t size) override {
    ERR_clear_error();
    const int got = SSL_read(ssl_.get(), data, static_cast<int>(std::min<size_t>(size, 1 << 30)));
    return got > 0 ? got : Result(got, "TLS");
  }

  ssize_t Write(const iovec* parts, int count) override {
    // Small parts go into one record together.
    if (unsent_ == 0) Gather(parts, count);
    ERR_clear_error();
    const int sent = SSL_write(ssl_.get(), record_, static_cast<int>(unsent_));
    if (sent <= 0) return Result(sent, "TLS");
    unsent_ = 0;
    return sent;
  }

  bool may_hold_more() const override { return true; }
  bool wants_write() const override { return wants_write_; }
  int fd() const override { return socket_.get(); }
  void Shutdown() override { ::shutdown(socket_.get(), SHUT_RDWR); }

  std::optional<std::vector<std::string>> peer_names() const override {
    if (!done_ || SSL_get_verify_result(ssl_.get()) != X509_V_OK) return std::nullopt;
    const std::unique_ptr<X509, decltype(&X509_free)> certificate(SSL_get1_peer_certificate(ssl_.get()), X509_free);
    if (certificate == nullptr) return std::nullopt;
    std::vector<std::string> names;
    auto* all =
        static_cast<GENERAL_NAMES*>(X509_get_ext_d2i(certificate.get(), NID_subject_alt_name, nullptr, nullptr));
    for (int i = 0; i < sk_GENERAL_NAME_num(all); ++i) {
      std::string name = NameText(*sk_GENERAL_NAME_value(all, i));
      if (!name.empty()) names.push_back(std::move(name));
    }
    GENERAL_NAMES_free(all);
    return names;
  }

 private:
  // A write that could not be finished is repeated with the same bytes.
  void Gather(const iovec* parts, int count) {
    for (int i = 0; i < count && unsent_ < sizeof(record_); ++i) {
      const size_t n = std::min(parts[i].iov_len, sizeof(record_) - unsent_);
      std::memcpy(record_ + unsent_, parts[i].iov_base, n);
      unsent_ += n;
    }
  }

  ssize_t Result(int result, const char* what) {
    const int error = SSL_get_error(ssl_.get(), result);
    wants_write_ = error == SSL_ERROR_WANT_WRITE;
    if (error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE) return kAgain;
    if (error == SSL_ERROR_ZERO_RETURN || (error == SSL_ERROR_SYSCALL && ERR_peek_error() == 0)) {
      end_ = errors::Unavailable(done_ ? "" : "TLS handshake: ", "it closed the connection");
    } else {
      const long verified = SSL_get_verify_result(ssl_.get());
      end_ = errors::Unavailable(
          what, ": ", verified == X509_V_OK ? SslError() : std::string(X509_verify_cert_error_string(verified)));
    }
    ERR_clear_error();
    return kEnd;
  }

  UniqueFd socket_;
  const std::shared_ptr<SSL> ssl_;
  bool done_ = false, wants_write_ = false;
  size_t unsent_ = 0;
  char record_[16 << 10];
};

Status UseCertificate(SSL_CTX* context, const RpcTls& tls) {
  ASSIGN_OR_RETURN(const std::string cert, ReadFile(tls.cert, kMaxPemBytes));
  ASSIGN_OR_RETURN(const std::string key, ReadFile(tls.key, kMaxPemBytes));
  const auto bad = [&] {
    return errors::InvalidArgument("cannot use certificate ", tls.cert, " with key ", tls.key, ": ", SslError());
  };
  const std::unique_ptr<BIO, decltype(&BIO_free)> certs(BIO_new_mem_buf(cert.data(), static_cast<int>(cert.size())),
                                                        BIO_free);
  const std::unique_ptr<BIO, decltype(&BIO_free)> keys(BIO_new_mem_buf(key.data(), static_cast<int>(key.size())),
                                                       BIO_free);
  const std::unique_ptr<X509, decltype(&X509_free)> first(PEM_read_bio_X509(certs.get(), nullptr, nullptr, nullptr),
                                                          X509_free);
  if (first == nullptr || SSL_CTX_use_certificate(context, first.get()) != 1) return bad();
  while (X509* next = PEM_read_bio_X509(certs.get(), nullptr, nullptr, nullptr)) {
    if (SSL_CTX_add0_chain_cert(context, next) != 1) {
      X509_free(next);
      return bad();
    }
  }
  ERR_clear_error();  // the end of the file
  const std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)> private_key(
      PEM_read_bio_PrivateKey(keys.get(), nullptr, nullptr, nullptr), EVP_PKEY_free);
  if (private_key == nullptr || SSL_CTX_use_PrivateKey(context, private_key.get()) != 1 ||
      SSL_CTX_check_private_key(context) != 1) {
    return bad();
  }
  return OkStatus();
}

Status UseAuthorities(SSL_CTX* context, const std::string& path, bool tell_client) {
  ASSIGN_OR_RETURN(const std::string pem, ReadFile(path, kMaxPemBytes));
  const std::unique_ptr<BIO, decltype(&BIO_free)> bio(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())),
                                                      BIO_free);
  int count = 0;
  while (X509* raw = PEM_read_bio_X509(bio.get(), nullptr, nullptr, nullptr)) {
    const std::unique_ptr<X509, decltype(&X509_free)> authority(raw, X509_free);
    if (X509_STORE_add_cert(SSL_CTX_get_cert_store(context), raw) == 1) ++count;
    if (tell_client) SSL_CTX_add_client_CA(context, raw);
  }
  ERR_clear_error();
  return count > 0 ? OkStatus() : errors::InvalidArgument("no certificate of an authority in ", path);
}

}  // namespace

StatusOr<std::shared_ptr<TlsContext>> TlsContext::Load(const RpcTls& tls, Side side) {
  if (tls.cert.empty() != tls.key.empty()) return errors::InvalidArgument("TLS needs a certificate and its key");
  if (side == Side::kServer && tls.cert.empty())
    return errors::InvalidArgument("a server with TLS needs a certificate and its key");
  const std::shared_ptr<TlsContext> context(new TlsContext(tls, side));
  MutexLock lock(context->mu_);
  context->files_ = context->FileState();
  ASSIGN_OR_RETURN(context->context_, context->Build());
  return context;
}

StatusOr<std::shared_ptr<SSL_CTX>> TlsContext::Build() const {
  const bool server = side_ == Side::kServer;
  std::shared_ptr<SSL_CTX> context(SSL_CTX_new(server ? TLS_server_method() : TLS_client_method()), SSL_CTX_free);
  if (context == nullptr) return errors::Internal("OpenSSL: ", SslError());
  SSL_CTX_set_min_proto_version(context.get(), TLS1_2_VERSION);
  SSL_CTX_set_options(context.get(), SSL_OP_NO_COMPRESSION | SSL_OP_NO_RENEGOTIATION | SSL_OP_IGNORE_UNEXPECTED_EOF);
  SSL_CTX_set_mode(context.get(),
                   SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER | SSL_MODE_RELEASE_BUFFERS);
  SSL_CTX_set_session_cache_mode(context.get(), SSL_SESS_CACHE_OFF);
  if (!tls_.cert.empty()) RETURN_IF_ERROR(UseCertificate(context.get(), tls_));
  if (!tls_.ca.empty())
    RETURN_IF_ERROR(UseAuthorities(context.get(), tls_.ca, server));
  else if (!server)
    SSL_CTX_set_default_verify_paths(context.get());
  const bool verifies = !server || !tls_.ca.empty();
  SSL_CTX_set_verify(context.get(), verifies ? SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT : SSL_VERIFY_NONE,
                     nullptr);
  if (server)
    SSL_CTX_set_alpn_select_cb(context.get(), SelectAlpn, nullptr);
  else
    SSL_CTX_set_alpn_protos(context.get(), kAlpn, sizeof(kAlpn));
  return context;
}

std::string TlsContext::FileState() const {
  std::string state;
  for (const std::string* path : {&tls_.cert, &tls_.key, &tls_.ca}) {
    struct stat file = {};
    if (!path->empty() && ::stat(path->c_str(), &file) == 0)
      absl::StrAppend(&state, file.st_mtim.tv_sec, ".", file.st_mtim.tv_nsec, ":", file.st_ino, ":", file.st_size, " ");
  }
  return state;
}

std::shared_ptr<SSL_CTX> TlsContext::Current() {
  const std::string files = FileState();
  MutexLock lock(mu_);
  if (files == files_) return context_;
  files_ = files;  // those that cannot be used are not tried again until they change
  StatusOr<std::shared_ptr<SSL_CTX>> renewed = Build();
  if (renewed.ok()) {
    context_ = *std::move(renewed);
    LogInfo(absl::StrCat("TLS: the certificate files have changed; new connections use ", tls_.cert));
  } else {
    LogWarning(absl::StrCat("TLS: the certificate files have changed but cannot be used; the old ones stay: ",
                            renewed.status().message()));
  }
  return context_;
}

StatusOr<std::unique_ptr<Transport>> TlsContext::Wrap(UniqueFd socket, const std::string& host) {
  const std::shared_ptr<SSL_CTX> context = Current();
  std::shared_ptr<SSL> ssl(SSL_new(context.get()), SSL_free);
  if (ssl == nullptr || SSL_set_fd(ssl.get(), socket.get()) != 1) return errors::Internal("OpenSSL: ", SslError());
  if (side_ == Side::kServer) {
    SSL_set_accept_state(ssl.get());
  } else {
    const std::string& name = tls_.server_name.empty() ? host : tls_.server_name;
    X509_VERIFY_PARAM* const verify = SSL_get0_param(ssl.get());
    const bool set = IsIpAddress(name) ? X509_VERIFY_PARAM_set1_ip_asc(verify, name.c_str()) == 1
                                       : SSL_set_tlsext_host_name(ssl.get(), name.c_str()) == 1 &&
                                             X509_VERIFY_PARAM_set1_host(verify, name.data(), name.size()) == 1;
    if (!set) return errors::InvalidArgument("'", name, "' cannot be the name of a TLS server: ", SslError());
    SSL_set_connect_state(ssl.get());
  }
  return std::unique_ptr<Transport>(std::make_unique<TlsTransport>(std::move(socket), std::move(ssl)));
}

}  // namespace millstream
