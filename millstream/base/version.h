// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_BASE_VERSION_H_
#define MILLSTREAM_BASE_VERSION_H_

namespace millstream {

// The one place where the release is named: CMake, the Python package and pyproject.toml take it from here.
inline constexpr char kVersion[] = "0.1.0";

}  // namespace millstream

#endif  // MILLSTREAM_BASE_VERSION_H_
