// SPDX-License-Identifier: Apache-2.0
#include "millstream/runtime/device_plugins.h"

#include <dlfcn.h>

#include <cstdlib>
#include <mutex>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "millstream/base/file.h"
#include "millstream/base/logging.h"

namespace millstream {
namespace {

// This library lies in <packages>/millstream; the wheel millstream-cuda has a folder beside that.
std::string PackagedPlugin() {
  Dl_info here;
  if (dladdr(reinterpret_cast<const void*>(&LoadDevicePlugins), &here) == 0 || here.dli_fname == nullptr) return "";
  const std::string packages = FolderOf(FolderOf(here.dli_fname));
  std::string path = absl::StrCat(packages, packages.empty() ? "" : "/", "millstream_cuda/libmillstream_cuda.so");
  return FileExists(path) ? path : "";
}

void Load(const std::string& path, absl::string_view who) {
  if (dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL) == nullptr) {
    LogWarning(absl::StrCat(who, ": cannot load ", path, ": ", dlerror()));
  }
}

}  // namespace

void LoadDevicePlugins() {
  static std::once_flag once;
  std::call_once(once, [] {
    if (const char* const names = std::getenv("MILLSTREAM_DEVICE_PLUGINS")) {
      for (const absl::string_view name : absl::StrSplit(names, ':', absl::SkipEmpty())) {
        Load(std::string(name), "MILLSTREAM_DEVICE_PLUGINS");
      }
    } else if (const std::string packaged = PackagedPlugin(); !packaged.empty()) {
      Load(packaged, "millstream-cuda");
    }
  });
}

}  // namespace millstream
