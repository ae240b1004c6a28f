// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_FRAMEWORK_DEVICE_NAME_H_
#define MILLSTREAM_FRAMEWORK_DEVICE_NAME_H_

#include <optional>
#include <string>

#include "millstream/base/status.h"

namespace millstream {

// A device name, full or partial: "/job:ps/replica:0/task:1/device:CPU:0", "/job:ps", "/cpu:0", "/device:GPU:*", "".
// Parts that are absent (or "*") fit anything.
struct DeviceName {
  std::optional<std::string> job;
  std::optional<int> replica;
  std::optional<int> task;
  std::optional<std::string> type;  // upper case
  std::optional<int> index;

  // InvalidArgument if malformed.
  static StatusOr<DeviceName> Parse(absl::string_view name);
  std::string ToString() const;

  // True if a device with the (full) name `device` fits this one.
  bool Matches(const DeviceName& device) const;
  // Takes over the parts of `other` that are absent here.
  void FillFrom(const DeviceName& other);
  // As FillFrom(); InvalidArgument where both have a part and differ. With `allow_soft`, differing types and indices
  // are dropped instead.
  Status MergeWith(const DeviceName& other, bool allow_soft);
};

}  // namespace millstream

#endif  // MILLSTREAM_FRAMEWORK_DEVICE_NAME_H_
