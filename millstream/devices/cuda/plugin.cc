// SPDX-License-Identifier: Apache-2.0
// libmillstream_cuda.so, to be named in MILLSTREAM_DEVICE_PLUGINS. Kernels register themselves while it is loaded
// (cuda_kernel.h); where there is no driver or no GPU, the factory says so and programs run without.
#include "absl/strings/str_format.h"
#include "millstream/base/mutex.h"
#include "millstream/devices/cuda/cuda_device.h"
#include "millstream/devices/cuda/cuda_status.h"
#include "millstream/devices/cuda/layout.h"
#include "millstream/framework/device_factory.h"
#include "millstream/framework/device_kernels.h"

namespace millstream::cuda {
namespace {

constexpr char kType[] = "GPU";
constexpr size_t kLeftToDriver = size_t{512} << 20;  // for code, handles and workspaces

std::string Description(int index, const Gpu& gpu) {
  const cudaDeviceProp& p = gpu.properties();
  return absl::StrFormat("device: %d, name: %s, pci bus id: %04x:%02x:%02x.0, compute capability: %d.%d", index, p.name,
                         p.pciDomainID, p.pciBusID, p.pciDeviceID, p.major, p.minor);
}

StatusOr<size_t> MemoryOf(int ordinal) {
  size_t free = 0, total = 0;
  RETURN_IF_CUDA_ERROR(cudaSetDevice(ordinal));
  RETURN_IF_CUDA_ERROR(cudaMemGetInfo(&free, &total));
  return total > 2 * kLeftToDriver ? total - kLeftToDriver : total / 2;
}

StatusOr<std::vector<DevicePlace>> FindPlaces(const AcceleratorOptions& options) {
  int count = 0;
  const cudaError_t error = cudaGetDeviceCount(&count);
  if (error == cudaErrorInsufficientDriver) {
    return errors::Unavailable("no NVIDIA driver is loaded, or it is too old for CUDA ", CUDART_VERSION / 1000, ".",
                               CUDART_VERSION % 1000 / 10);
  }
  RETURN_IF_ERROR(ToStatus(error, "cudaGetDeviceCount"));
  std::vector<size_t> memory;
  for (int i = 0; i < count; ++i) {
    ASSIGN_OR_RETURN(memory.emplace_back(), MemoryOf(i));
  }
  return LayOut(options, memory);
}

// All sessions of a process share its GPUs, as they were asked for by the first.
StatusOr<std::vector<DevicePlace>> PlacesOfProcess(const AcceleratorOptions& options) {
  static Mutex mu;
  static auto* const places = new std::vector<DevicePlace>;
  MutexLock lock(mu);
  if (places->empty()) {
    ASSIGN_OR_RETURN(*places, FindPlaces(options));
  }
  return *places;
}

StatusOr<std::vector<std::unique_ptr<Device>>> MakeDevices(const DeviceRequest& request) {
  std::vector<std::unique_ptr<Device>> devices;
  if (request.max_devices == 0) return devices;
  ASSIGN_OR_RETURN(const std::vector<DevicePlace> places, PlacesOfProcess(request.options));
  for (const DevicePlace& place : places) {
    const int index = static_cast<int>(devices.size());
    if (index == request.max_devices) break;
    ASSIGN_OR_RETURN(Gpu * gpu, Gpu::Get(place.ordinal, place.part, place.memory_limit));
    DeviceAttributes attributes;
    attributes.name = absl::StrCat(request.task, "/device:GPU:", index);
    attributes.type = kType;
    attributes.memory_limit = static_cast<int64_t>(gpu->memory().limit());
    attributes.incarnation = request.incarnation + static_cast<uint64_t>(index);
    attributes.physical_desc = Description(index, *gpu);
    devices.push_back(std::make_unique<CudaDevice>(std::move(attributes), gpu, request.pool));
  }
  return devices;
}

[[maybe_unused]] const bool registered = [] {
  AddNeutralKernels(kType);
  RegisterDeviceFactory({kType, MakeDevices});
  return true;
}();

}  // namespace
}  // namespace millstream::cuda
