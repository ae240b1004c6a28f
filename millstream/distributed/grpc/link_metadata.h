// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_DISTRIBUTED_GRPC_LINK_METADATA_H_
#define MILLSTREAM_DISTRIBUTED_GRPC_LINK_METADATA_H_

#include <grpc/grpc.h>

#include "absl/strings/string_view.h"
#include "millstream/distributed/grpc/core.h"

namespace millstream {

// How the two ends of a gRPC link greet each other. A ticket is any bytes, which only keys that end in "-bin" may
// carry.
inline constexpr char kTaskKey[] = "millstream-task";
inline constexpr char kIncarnationKey[] = "millstream-incarnation";
inline constexpr char kTicketKey[] = "millstream-ticket-bin";

// "" if there is none.
inline absl::string_view FindMetadata(const grpc_metadata_array& all, absl::string_view key) {
  for (size_t i = 0; i < all.count; ++i) {
    if (ViewOf(all.metadata[i].key) == key) return ViewOf(all.metadata[i].value);
  }
  return "";
}

}  // namespace millstream

#endif  // MILLSTREAM_DISTRIBUTED_GRPC_LINK_METADATA_H_
