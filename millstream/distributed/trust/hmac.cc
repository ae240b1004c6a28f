// SPDX-License-Identifier: Apache-2.0
#include "millstream/distributed/trust/hmac.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <sys/random.h>

#include "millstream/base/logging.h"

namespace millstream {

std::string HmacSha256(absl::string_view key, absl::string_view message) {
  std::string mac(kHmacBytes, '\0');
  unsigned int size = kHmacBytes;
  const unsigned char* made = HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()),
                                   reinterpret_cast<const unsigned char*>(message.data()), message.size(),
                                   reinterpret_cast<unsigned char*>(mac.data()), &size);
  MS_CHECK(made != nullptr && size == kHmacBytes);
  return mac;
}

bool EqualInConstantTime(absl::string_view a, absl::string_view b) {
  return a.size() == b.size() && CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

std::string RandomBytes(size_t size) {
  std::string bytes(size, '\0');
  MS_CHECK(size <= 256 &&
           getrandom(bytes.data(), size, 0) == static_cast<ssize_t>(size));  // cannot fail up to 256 bytes
  return bytes;
}

}  // namespace millstream
