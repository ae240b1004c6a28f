// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_BASE_STATUS_H_
#define MILLSTREAM_BASE_STATUS_H_

#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"

namespace millstream {

using Status = absl::Status;
template <typename T>
using StatusOr = absl::StatusOr<T>;

inline Status OkStatus() { return Status(); }

// errors::InvalidArgument("node '", name, "': ...") and friends: one builder for each error class that
// TensorFlow clients know. The arguments are joined as by absl::StrCat.
namespace errors {
#define MILLSTREAM_ERROR_BUILDER(Name)               \
  template <typename... Args>                        \
  Status Name(const Args&... args) {                 \
    return absl::Name##Error(absl::StrCat(args...)); \
  }
MILLSTREAM_ERROR_BUILDER(Aborted)
MILLSTREAM_ERROR_BUILDER(AlreadyExists)
MILLSTREAM_ERROR_BUILDER(Cancelled)
MILLSTREAM_ERROR_BUILDER(DataLoss)
MILLSTREAM_ERROR_BUILDER(DeadlineExceeded)
MILLSTREAM_ERROR_BUILDER(FailedPrecondition)
MILLSTREAM_ERROR_BUILDER(Internal)
MILLSTREAM_ERROR_BUILDER(InvalidArgument)
MILLSTREAM_ERROR_BUILDER(NotFound)
MILLSTREAM_ERROR_BUILDER(OutOfRange)
MILLSTREAM_ERROR_BUILDER(PermissionDenied)
MILLSTREAM_ERROR_BUILDER(ResourceExhausted)
MILLSTREAM_ERROR_BUILDER(Unavailable)
MILLSTREAM_ERROR_BUILDER(Unimplemented)
#undef MILLSTREAM_ERROR_BUILDER
}  // namespace errors

// The same error with `context` in front of its message. REQUIRES: !status.ok().
inline Status WithContext(const Status& status, absl::string_view context) {
  return Status(status.code(), absl::StrCat(context, ": ", status.message()));
}

}  // namespace millstream

#define RETURN_IF_ERROR(expr)                                                              \
  do {                                                                                     \
    if (::millstream::Status returned_status = (expr); !returned_status.ok()) [[unlikely]] \
      return returned_status;                                                              \
  } while (false)

#define MILLSTREAM_CONCAT_INNER_(a, b) a##b
#define MILLSTREAM_CONCAT_(a, b) MILLSTREAM_CONCAT_INNER_(a, b)

// ASSIGN_OR_RETURN(auto x, MakeX()): declares or assigns `lhs`, or leaves the function with the error.
#define ASSIGN_OR_RETURN(lhs, expr) ASSIGN_OR_RETURN_IMPL_(MILLSTREAM_CONCAT_(statusor_, __LINE__), lhs, expr)
#define ASSIGN_OR_RETURN_IMPL_(tmp, lhs, expr) \
  auto tmp = (expr);                           \
  if (!tmp.ok()) [[unlikely]]                  \
    return tmp.status();                       \
  lhs = std::move(tmp).value()

#endif  // MILLSTREAM_BASE_STATUS_H_
