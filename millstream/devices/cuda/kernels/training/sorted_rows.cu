// SPDX-License-Identifier: Apache-2.0
#include <climits>
#include <cub/device/device_radix_sort.cuh>

#include "millstream/devices/cuda/elementwise.cuh"
#include "millstream/devices/cuda/kernels/training/sorted_rows.h"

namespace millstream::cuda {
namespace {

template <typename Index>
__global__ void NumberRows(const Index* indices, int64_t* places, int32_t* positions, int64_t count) {
  CUDA_FOR_EACH(i, count) {
    places[i] = indices[i];
    positions[i] = static_cast<int32_t>(i);
  }
}

size_t RoundUp(size_t bytes) {
  return (bytes + MemoryPool::kAlignment - 1) / MemoryPool::kAlignment * MemoryPool::kAlignment;
}

}  // namespace

StatusOr<SortedRows> SortRows(Call& call, const Tensor& indices, int64_t limit, Tensor* memory) {
  const int64_t count = indices.num_elements();
  if (count > INT_MAX) return errors::InvalidArgument("too many rows for one update on a GPU: ", count);
  const int n = static_cast<int>(count);
  const size_t places = RoundUp(sizeof(int64_t) * count), positions = RoundUp(sizeof(int32_t) * count);
  size_t scratch = 0;
  int64_t* no_keys = nullptr;
  int32_t* no_values = nullptr;
  RETURN_IF_CUDA_ERROR(cub::DeviceRadixSort::SortPairs(nullptr, scratch, no_keys, no_keys, no_values, no_values, n));
  ASSIGN_OR_RETURN(*memory, call.TempBytes(2 * (places + positions) + scratch));
  auto* const base = static_cast<char*>(memory->raw());
  auto* const unsorted_places = reinterpret_cast<int64_t*>(base);
  auto* const sorted_places = reinterpret_cast<int64_t*>(base + places);
  auto* const unsorted = reinterpret_cast<int32_t*>(base + 2 * places);
  auto* const sorted = reinterpret_cast<int32_t*>(base + 2 * places + positions);
  if (indices.dtype() == DType::kInt32) {
    NumberRows<<<BlocksFor(count), kThreads, 0, call.stream()>>>(static_cast<const int32_t*>(indices.raw()),
                                                                 unsorted_places, unsorted, count);
  } else {
    NumberRows<<<BlocksFor(count), kThreads, 0, call.stream()>>>(static_cast<const int64_t*>(indices.raw()),
                                                                 unsorted_places, unsorted, count);
  }
  RETURN_IF_CUDA_ERROR(cub::DeviceRadixSort::SortPairs(base + 2 * (places + positions), scratch, unsorted_places,
                                                       sorted_places, unsorted, sorted, n, 0, 64, call.stream()));
  return SortedRows{sorted_places, sorted, count, limit};
}

}  // namespace millstream::cuda
