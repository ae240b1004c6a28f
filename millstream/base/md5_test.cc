// SPDX-License-Identifier: Apache-2.0
#include "millstream/base/md5.h"

#include <gtest/gtest.h>

#include "absl/strings/escaping.h"

namespace millstream {
namespace {

std::string HexOf(absl::string_view text) {
  const std::array<uint8_t, 16> digest = Md5(text);
  return absl::BytesToHexString({reinterpret_cast<const char*>(digest.data()), digest.size()});
}

// The test suite of RFC 1321, A.5.
TEST(Md5Test, DigestsOfTheRfc) {
  EXPECT_EQ(HexOf(""), "d41d8cd98f00b204e9800998ecf8427e");
  EXPECT_EQ(HexOf("a"), "0cc175b9c0f1b6a831c399e269772661");
  EXPECT_EQ(HexOf("abc"), "900150983cd24fb0d6963f7d28e17f72");
  EXPECT_EQ(HexOf("message digest"), "f96b697d7cb7938d525a2f31aaf161d0");
  EXPECT_EQ(HexOf("abcdefghijklmnopqrstuvwxyz"), "c3fcd3d76192e4007dfb496cca67e13b");
  EXPECT_EQ(HexOf("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"),
            "d174ab98d277d9f5a5611c2c9f419d9f");
  EXPECT_EQ(HexOf("12345678901234567890123456789012345678901234567890123456789012345678901234567890"),
            "57edf4a22be3c955ac49da2e2107b67a");
}

TEST(Md5Test, LengthsAroundTheEndOfABlock) {
  EXPECT_EQ(HexOf(std::string(55, 'x')), "04364420e25c512fd958a70738aa8f72");
  EXPECT_EQ(HexOf(std::string(56, 'x')), "668a72d5ba17f08e62dabcafad6db14b");
  EXPECT_EQ(HexOf(std::string(64, 'x')), "c1bb4f81d892b2d57947682aeb252456");
}

}  // namespace
}  // namespace millstream
