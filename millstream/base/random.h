// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_BASE_RANDOM_H_
#define MILLSTREAM_BASE_RANDOM_H_

#include <cstdint>
#include <random>

namespace millstream {

// A number that nobody else gets: for names of sessions, incarnations, first numbers of steps.
inline uint64_t RandomNumber() {
  std::random_device device;
  return (static_cast<uint64_t>(device()) << 32) | device();
}

}  // namespace millstream

#endif  // MILLSTREAM_BASE_RANDOM_H_
