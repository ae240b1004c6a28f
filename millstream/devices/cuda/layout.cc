// SPDX-License-Identifier: Apache-2.0
#include "millstream/devices/cuda/layout.h"

#include <algorithm>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"

namespace millstream::cuda {
namespace {

StatusOr<std::vector<int>> VisibleOrdinals(const std::string& list, int count) {
  std::vector<int> ordinals;
  if (list.empty()) {
    for (int i = 0; i < count; ++i) ordinals.push_back(i);
    return ordinals;
  }
  for (const absl::string_view text : absl::StrSplit(list, ',')) {
    int ordinal = -1;
    if (!absl::SimpleAtoi(text, &ordinal)) {
      return errors::InvalidArgument("Could not parse entry in 'visible_device_list': '", text,
                                     "'. visible_device_list = ", list);
    }
    if (ordinal < 0 || ordinal >= count) {
      return errors::InvalidArgument("'visible_device_list' listed an invalid GPU id '", ordinal,
                                     "' but visible device count is ", count);
    }
    if (std::find(ordinals.begin(), ordinals.end(), ordinal) != ordinals.end()) {
      return errors::InvalidArgument("visible_device_list contained a duplicate entry: ", list);
    }
    ordinals.push_back(ordinal);
  }
  return ordinals;
}

}  // namespace

StatusOr<std::vector<DevicePlace>> LayOut(const AcceleratorOptions& options, const std::vector<size_t>& memory) {
  ASSIGN_OR_RETURN(const std::vector<int> ordinals,
                   VisibleOrdinals(options.visible_devices, static_cast<int>(memory.size())));
  if (options.memory_fraction < 0 || options.memory_fraction > 1) {
    return errors::InvalidArgument("per_process_gpu_memory_fraction must be between 0 and 1: ",
                                   options.memory_fraction);
  }
  if (!options.virtual_memory_mb.empty() && options.virtual_memory_mb.size() > ordinals.size()) {
    return errors::Unavailable("virtual_devices are given for ", options.virtual_memory_mb.size(), " GPUs, but ",
                               ordinals.size(), " are visible");
  }
  std::vector<DevicePlace> places;
  for (size_t i = 0; i < ordinals.size(); ++i) {
    const size_t all = memory[ordinals[i]];
    const double fraction = options.memory_fraction == 0 ? 1 : options.memory_fraction;
    const auto share = static_cast<size_t>(static_cast<double>(all) * fraction);
    if (i >= options.virtual_memory_mb.size() || options.virtual_memory_mb[i].empty()) {
      places.push_back({ordinals[i], 0, share});
      continue;
    }
    int part = 0;
    for (const int64_t limit : options.virtual_memory_mb[i]) {
      if (limit <= 0 || static_cast<size_t>(limit) > (all >> 20)) {
        return errors::InvalidArgument("a virtual device of ", limit, " MB on GPU ", ordinals[i], ", which has ",
                                       all >> 20, " MB");
      }
      places.push_back({ordinals[i], part++, static_cast<size_t>(limit) << 20});
    }
  }
  return places;
}

}  // namespace millstream::cuda
