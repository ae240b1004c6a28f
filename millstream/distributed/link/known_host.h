// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_DISTRIBUTED_LINK_KNOWN_HOST_H_
#define MILLSTREAM_DISTRIBUTED_LINK_KNOWN_HOST_H_

#include <string>

namespace millstream {

// "127.0.0.1" for "localhost" on a machine that has no address for that name, as in small containers; else `host`.
std::string KnownHost(const std::string& host);

}  // namespace millstream

#endif  // MILLSTREAM_DISTRIBUTED_LINK_KNOWN_HOST_H_
