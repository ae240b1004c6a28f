// SPDX-License-Identifier: Apache-2.0
#include "millstream/devices/cuda/fusion/nvrtc.h"

#include <dlfcn.h>

#include <cstdlib>
#include <type_traits>

#include "absl/strings/escaping.h"
#include "millstream/base/file.h"
#include "millstream/base/md5.h"

namespace millstream::cuda {
namespace {

constexpr char kLibrary[] = "libnvrtc.so.13";

// The part of NVRTC's interface that is used, as nvrtc.h declares it; 0 is success.
struct Nvrtc {
  using Program = void*;
  int (*create)(Program*, const char* source, const char* name, int, const char* const*, const char* const*) = nullptr;
  int (*compile)(Program, int, const char* const* options) = nullptr;
  int (*code_size)(Program, size_t*) = nullptr;
  int (*code)(Program, char*) = nullptr;
  int (*log_size)(Program, size_t*) = nullptr;
  int (*log)(Program, char*) = nullptr;
  int (*destroy)(Program*) = nullptr;
  int (*version)(int* major, int* minor) = nullptr;
  bool loaded = false;
};

Nvrtc LoadNvrtc() {
  Nvrtc n;
  void* library = nullptr;
  for (const char* const name : {kLibrary, "libnvrtc.so"}) {
    if (library == nullptr) library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
  }
  if (library == nullptr) return n;
  const auto find = [&](const char* name, auto* to) {
    *to = reinterpret_cast<std::remove_pointer_t<decltype(to)>>(dlsym(library, name));
    return *to != nullptr;
  };
  n.loaded = find("nvrtcCreateProgram", &n.create) && find("nvrtcCompileProgram", &n.compile) &&
             find("nvrtcGetCUBINSize", &n.code_size) && find("nvrtcGetCUBIN", &n.code) &&
             find("nvrtcGetProgramLogSize", &n.log_size) && find("nvrtcGetProgramLog", &n.log) &&
             find("nvrtcDestroyProgram", &n.destroy) && find("nvrtcVersion", &n.version);
  return n;
}

const Nvrtc& LoadedNvrtc() {
  static const Nvrtc nvrtc = LoadNvrtc();
  return nvrtc;
}

std::string CacheFolder() {
  if (const char* const set = std::getenv("MILLSTREAM_KERNEL_CACHE")) return set;
  if (const char* const cache = std::getenv("XDG_CACHE_HOME"); cache != nullptr && *cache != '\0') {
    return absl::StrCat(cache, "/millstream/kernels");
  }
  const char* const home = std::getenv("HOME");
  return home == nullptr || *home == '\0' ? "" : absl::StrCat(home, "/.cache/millstream/kernels");
}

std::string NvrtcVersion() {
  int major = 0, minor = 0;
  if (LoadedNvrtc().loaded) LoadedNvrtc().version(&major, &minor);
  return absl::StrCat(major, ".", minor);
}

}  // namespace

bool HasNvrtc() { return LoadedNvrtc().loaded; }

StatusOr<std::string> CompileForGpu(const std::string& source, const std::string& architecture) {
  const Nvrtc& nvrtc = LoadedNvrtc();
  if (!nvrtc.loaded) return errors::NotFound(kLibrary, " was not found");
  Nvrtc::Program program = nullptr;
  if (nvrtc.create(&program, source.c_str(), "fused.cu", 0, nullptr, nullptr) != 0) {
    return errors::Internal("nvrtcCreateProgram failed");
  }
  const std::string target = absl::StrCat("--gpu-architecture=", architecture);
  const char* const options[] = {target.c_str(), "--std=c++17"};
  std::string text;
  size_t size = 0;
  const bool compiled = nvrtc.compile(program, 2, options) == 0;
  const auto get_size = compiled ? nvrtc.code_size : nvrtc.log_size;
  const auto get = compiled ? nvrtc.code : nvrtc.log;
  bool got = get_size(program, &size) == 0;
  text.resize(size);
  got = got && get(program, text.data()) == 0;
  nvrtc.destroy(&program);
  if (!compiled) return errors::Internal("NVRTC: ", text);
  if (!got || size == 0) return errors::Internal("NVRTC made no code for ", architecture);
  return text;
}

StatusOr<std::string> CompileOrReadCached(const std::string& source, const std::string& architecture) {
  const std::string folder = CacheFolder();
  if (folder.empty()) return CompileForGpu(source, architecture);
  const std::string key = absl::StrCat(architecture, " NVRTC ", NvrtcVersion(), "\n", source, "\n");
  const auto digest = Md5(key);
  const std::string path = absl::StrCat(
      folder, "/",
      absl::BytesToHexString(absl::string_view(reinterpret_cast<const char*>(digest.data()), digest.size())));
  const StatusOr<std::string> known = ReadFile(path);
  if (known.ok() && known->size() > key.size() && known->compare(0, key.size(), key) == 0)
    return known->substr(key.size());
  ASSIGN_OR_RETURN(std::string code, CompileForGpu(source, architecture));
  if (MakeFolders(folder).ok()) WriteFileAtomically(path, absl::StrCat(key, code)).IgnoreError();
  return code;
}

}  // namespace millstream::cuda
