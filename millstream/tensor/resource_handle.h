// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_TENSOR_RESOURCE_HANDLE_H_
#define MILLSTREAM_TENSOR_RESOURCE_HANDLE_H_

#include <atomic>
#include <cstdint>
#include <string>

#include "millstream/base/ref.h"

namespace millstream {

// Something that outlives a step: a variable, queue, accumulator, iterator, reader, TensorArray, ... Shared by whoever
// holds a Ref; `alive` turns false when its owner (a ResourceManager) lets go of it, so that cached pointers notice.
class Resource : public RefCounted {
 public:
  virtual std::string DebugString() const = 0;
  bool alive() const { return alive_.load(std::memory_order_acquire); }
  void MarkDead() { alive_.store(false, std::memory_order_release); }

 private:
  std::atomic<bool> alive_{true};
};

// The value of a DT_RESOURCE element: names a resource on a device. `resource` points straight to it where the handle
// was made in this process, and is null in a handle that came over the wire (look it up by name then).
class ResourceHandle {
 public:
  std::string device;
  std::string container;
  std::string name;
  std::string type_name;
  uint64_t hash_code = 0;
  Ref<Resource> resource;
};

}  // namespace millstream

#endif  // MILLSTREAM_TENSOR_RESOURCE_HANDLE_H_
