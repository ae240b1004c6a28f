// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_STATUS_HTTP_HOST_H_
#define MILLSTREAM_STATUS_HTTP_HOST_H_

#include "absl/strings/string_view.h"

namespace millstream {

// What a Host header says, against sites that have their own name resolved to an address of ours (DNS rebinding): the
// browser then sends that name.

// The host of "host:port", with the brackets of IPv6 addresses; "" if there is none.
absl::string_view HostOfHeader(absl::string_view header);
// "localhost", or a number of the loopback interface.
bool IsLoopbackName(absl::string_view host);
// A number, which no DNS server can bend; or "localhost".
bool IsAddressLiteral(absl::string_view host);

}  // namespace millstream

#endif  // MILLSTREAM_STATUS_HTTP_HOST_H_
