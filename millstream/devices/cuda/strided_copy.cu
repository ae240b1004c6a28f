// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "millstream/devices/cuda/copy_types.cuh"
#include "millstream/devices/cuda/elementwise.cuh"
#include "millstream/devices/cuda/locate.cuh"
#include "millstream/devices/cuda/strided_copy.h"

namespace millstream::cuda {
namespace {

constexpr int kTo = 0, kFrom = 1;  // operands of the Strided<2>
constexpr int kTile = 32, kTileRows = 8;
constexpr int64_t kSmallestTiled = 8;

template <typename U>
__global__ void CopyElements(Strided<2> at, int64_t count, const U* from, U* to) {
  CUDA_FOR_EACH(i, count) {
    int64_t where[2];
    Locate(at, i, where);
    to[where[kTo]] = from[where[kFrom]];
  }
}

// Dimension 0 is contiguous in the target, dimension 1 in the source: tiles pass through shared memory, so that both
// sides are read and written in whole lines.
template <typename U>
__global__ void CopyTiles(Strided<2> at, int64_t across, int64_t tiles, const U* from, U* to) {
  __shared__ U tile[kTile][kTile + 1];
  Strided<2> batch;
  batch.rank = at.rank - 2;
  for (int d = 2; d < at.rank; ++d) {
    batch.dims[d - 2] = at.dims[d];
    batch.strides[kTo][d - 2] = at.strides[kTo][d];
    batch.strides[kFrom][d - 2] = at.strides[kFrom][d];
  }
  const int64_t down = (at.dims[1] + kTile - 1) / kTile;
  for (int64_t t = blockIdx.x; t < tiles; t += gridDim.x) {
    int64_t base[2];
    Locate(batch, t / (across * down), base);
    const int64_t first0 = t % across * kTile, first1 = t / across % down * kTile;
    for (int r = threadIdx.y; r < kTile; r += kTileRows) {
      const int64_t i0 = first0 + r, i1 = first1 + threadIdx.x;
      if (i0 < at.dims[0] && i1 < at.dims[1]) tile[r][threadIdx.x] = from[base[kFrom] + i0 * at.strides[kFrom][0] + i1];
    }
    __syncthreads();
    for (int r = threadIdx.y; r < kTile; r += kTileRows) {
      const int64_t i0 = first0 + threadIdx.x, i1 = first1 + r;
      if (i0 < at.dims[0] && i1 < at.dims[1]) to[base[kTo] + i0 + i1 * at.strides[kTo][1]] = tile[threadIdx.x][r];
    }
    __syncthreads();
  }
}

int64_t CountOf(const Strided<2>& at) {
  int64_t count = 1;
  for (int d = 0; d < at.rank; ++d) count *= at.dims[d];
  return count;
}

// Makes elements larger where runs are contiguous on both sides; returns their size in bytes.
int Widen(Strided<2>* at, int size, const void* from, const void* to) {
  if (at->rank == 0 || at->strides[kTo][0] != 1 || at->strides[kFrom][0] != 1) return size;
  uint64_t bits = AddressBits(from) | AddressBits(to) | static_cast<uint64_t>(at->dims[0] * size);
  for (int d = 1; d < at->rank; ++d) {
    bits |= static_cast<uint64_t>(at->strides[kTo][d] * size) | static_cast<uint64_t>(at->strides[kFrom][d] * size);
  }
  const int unit = CopyUnit(bits);
  if (unit <= size) return size;
  const int factor = unit / size;
  at->dims[0] /= factor;
  for (int d = 1; d < at->rank; ++d) {
    at->strides[kTo][d] /= factor;
    at->strides[kFrom][d] /= factor;
  }
  return unit;
}

// Whether the copy turns rows into columns; if so, brings the dimension that is contiguous in the source to place 1.
bool PrepareTiles(Strided<2>* at) {
  if (at->rank < 2 || at->strides[kTo][0] != 1 || at->strides[kFrom][0] == 1 || at->dims[0] < kSmallestTiled) {
    return false;
  }
  for (int d = 1; d < at->rank; ++d) {
    if (at->strides[kFrom][d] != 1 || at->dims[d] < kSmallestTiled) continue;
    std::swap(at->dims[1], at->dims[d]);
    std::swap(at->strides[kTo][1], at->strides[kTo][d]);
    std::swap(at->strides[kFrom][1], at->strides[kFrom][d]);
    return true;
  }
  return false;
}

template <typename U>
void LaunchCopy(cudaStream_t stream, Strided<2> at, const void* from, void* to) {
  const int64_t count = CountOf(at);
  const auto* const source = static_cast<const U*>(from);
  auto* const target = static_cast<U*>(to);
  if (!PrepareTiles(&at)) {
    CopyElements<<<BlocksFor(count), kThreads, 0, stream>>>(at, count, source, target);
    return;
  }
  const int64_t across = (at.dims[0] + kTile - 1) / kTile, down = (at.dims[1] + kTile - 1) / kTile;
  const int64_t tiles = across * down * (count / (at.dims[0] * at.dims[1]));
  const auto blocks = static_cast<unsigned int>(std::min(tiles, kMaxBlocks * 4));
  CopyTiles<<<blocks, dim3(kTile, kTileRows), 0, stream>>>(at, across, tiles, source, target);
}

}  // namespace

Status DeviceStridedCopy::Launch(Call& call, DType dtype, const void* from, int64_t from_at, void* to,
                                 int64_t to_at) const {
  Strided<2> at;
  for (auto axis = axes_.rbegin(); axis != axes_.rend(); ++axis) {
    if (axis->size == 0) return OkStatus();
    if (!AddDim<2>(axis->size, {axis->to, axis->from}, &at)) {
      return errors::Unimplemented("copies of more than ", kMaxStridedDims, " dimensions on GPUs");
    }
  }
  const auto size = static_cast<int>(DTypeSize(dtype));
  const void* const source = static_cast<const char*>(from) + from_at * size;
  void* const target = static_cast<char*>(to) + to_at * size;
  const int unit = Widen(&at, size, source, target);
  WithUnit(unit, [&](auto type) { LaunchCopy<typename decltype(type)::type>(call.stream(), at, source, target); });
  return call.Launched();
}

}  // namespace millstream::cuda
