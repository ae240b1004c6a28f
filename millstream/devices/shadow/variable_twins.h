// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_DEVICES_SHADOW_VARIABLE_TWINS_H_
#define MILLSTREAM_DEVICES_SHADOW_VARIABLE_TWINS_H_

#include <map>

#include "millstream/devices/shadow/shadow_device.h"
#include "millstream/framework/variable.h"

namespace millstream::shadow {

// Variables as kernels of the CPU may see them: each twin shares the memory of a variable of the device, which is
// locked as long as this lives. Used on the stream's thread.
class VariableTwins {
 public:
  explicit VariableTwins(ShadowDevice* device) : device_(device) {}
  ~VariableTwins();

  // The same twin for the same variable.
  StatusOr<Ref<Variable>> Of(const Ref<Variable>& variable);
  // The variable whose twin this is; null if it is none.
  Ref<Variable> OriginalOf(const Ref<Variable>& twin) const;
  // Gives the variables what their twins have got.
  Status Commit();

 private:
  struct Pair {
    Ref<Variable> original, twin;
  };

  ShadowDevice* const device_;
  std::map<Variable*, Pair> pairs_;
};

}  // namespace millstream::shadow

#endif  // MILLSTREAM_DEVICES_SHADOW_VARIABLE_TWINS_H_
