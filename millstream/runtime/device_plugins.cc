// SPDX-License-Identifier: Apache-2.0
#include "millstream/runtime/device_plugins.h"

#include <dlfcn.h>

#include <cstdlib>
#include <mutex>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "millstream/base/logging.h"

namespace millstream {

void LoadDevicePlugins() {
  static std::once_flag once;
  std::call_once(once, [] {
    const char* names = std::getenv("MILLSTREAM_DEVICE_PLUGINS");
    if (names == nullptr) return;
    for (const absl::string_view name : absl::StrSplit(names, ':', absl::SkipEmpty())) {
      const std::string path(name);
      if (dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL) == nullptr) {
        LogWarning(absl::StrCat("MILLSTREAM_DEVICE_PLUGINS: cannot load ", path, ": ", dlerror()));
      }
    }
  });
}

}  // namespace millstream
