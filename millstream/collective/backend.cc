// SPDX-License-Identifier: Apache-2.0
#include "millstream/collective/backend.h"

#include <dlfcn.h>

#include "millstream/base/status.h"

namespace millstream::collective {
namespace {

constexpr struct {
  const char* name;
  const char* packages;  // of Debian
} kBackends[] = {{"mpi", "libopenmpi-dev openmpi-bin"}, {"gloo", "libgloo-dev"}};

// The folder of the library or program that this code is part of.
std::string OwnFolder() {
  Dl_info info = {};
  if (dladdr(reinterpret_cast<const void*>(&MakeBackend), &info) == 0 || info.dli_fname == nullptr) return ".";
  const std::string path = info.dli_fname;
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : path.substr(0, slash);
}

}  // namespace

StatusOr<std::unique_ptr<Backend>> MakeBackend(const std::string& name) {
  for (const auto& known : kBackends) {
    if (name != known.name) continue;
    const std::string path = absl::StrCat(OwnFolder(), "/libmillstream_", name, ".so");
    void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);  // stays for as long as the process
    if (library == nullptr) {
      return errors::FailedPrecondition("The back end '", name, "' of collectives cannot be loaded: ", dlerror(),
                                        ". It is built where its packages are installed (Debian: ", known.packages,
                                        ")");
    }
    const auto make = reinterpret_cast<MakeBackendFunction>(dlsym(library, kMakeBackendSymbol));
    if (make == nullptr) return errors::FailedPrecondition(path, " is no back end of this version");
    return std::unique_ptr<Backend>(make());
  }
  return errors::InvalidArgument("There is no back end '", name, "' of collectives; there are mpi and gloo");
}

}  // namespace millstream::collective
