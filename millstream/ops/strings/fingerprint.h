// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_OPS_STRINGS_FINGERPRINT_H_
#define MILLSTREAM_OPS_STRINGS_FINGERPRINT_H_

#include <cstdint>

#include "absl/strings/string_view.h"

namespace millstream {

// Hashes whose values are part of models: they never change.
uint64_t Fingerprint64(absl::string_view s);  // FarmHash's Fingerprint64
struct Fingerprint128Value {
  uint64_t low, high;
};
Fingerprint128Value Fingerprint128(absl::string_view s);  // FarmHash's Fingerprint128
// A fingerprint of two fingerprints in order.
uint64_t FingerprintCat64(uint64_t a, uint64_t b);
uint64_t Murmur64(absl::string_view s, uint64_t seed);                // MurmurHash64A
uint64_t SipHash(uint64_t key0, uint64_t key1, absl::string_view s);  // SipHash-2-4

}  // namespace millstream

#endif  // MILLSTREAM_OPS_STRINGS_FINGERPRINT_H_
