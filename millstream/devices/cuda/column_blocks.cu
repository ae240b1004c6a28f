// SPDX-License-Identifier: Apache-2.0
#include "millstream/devices/cuda/column_blocks.h"
#include "millstream/devices/cuda/copy_types.cuh"
#include "millstream/devices/cuda/elementwise.cuh"
#include "millstream/devices/cuda/strided_copy.h"

namespace millstream::cuda {
namespace {

constexpr int kBlocksPerLaunch = 64;

struct Pieces {
  struct Piece {
    void* data;
    int64_t width, offset;  // in units
  } piece[kBlocksPerLaunch];
};

template <typename U, bool kJoin>
__global__ void MoveColumns(Pieces pieces, int64_t rows, int64_t row_width, U* whole) {
  const auto piece = pieces.piece[blockIdx.y];
  auto* const part = static_cast<U*>(piece.data);
  const int64_t count = rows * piece.width;
  CUDA_FOR_EACH(i, count) {
    const int64_t row =
        count <= INT32_MAX ? static_cast<uint32_t>(i) / static_cast<uint32_t>(piece.width) : i / piece.width;
    U* const at = whole + row * row_width + piece.offset + (i - row * piece.width);
    if constexpr (kJoin) {
      *at = part[i];
    } else {
      part[i] = *at;
    }
  }
}

template <bool kJoin>
Status Move(Call& call, DType dtype, const std::vector<DeviceColumns>& blocks, int64_t rows, void* whole) {
  const auto size = static_cast<int64_t>(DTypeSize(dtype));
  uint64_t bits = AddressBits(whole);
  int64_t row_width = 0;
  for (const DeviceColumns& block : blocks) {
    bits |= AddressBits(block.data) | static_cast<uint64_t>(block.width * size);
    row_width += block.width * size;
  }
  if (rows == 0 || row_width == 0) return OkStatus();
  const int unit = CopyUnit(bits);
  Pieces pieces;
  int n = 0;
  int64_t offset = 0, widest = 0;
  const auto launch = [&] {
    if (n == 0) return;
    const dim3 grid(BlocksFor(rows * widest), n);
    WithUnit(unit, [&](auto type) {
      using U = typename decltype(type)::type;
      MoveColumns<U, kJoin>
          <<<grid, kThreads, 0, call.stream()>>>(pieces, rows, row_width / unit, static_cast<U*>(whole));
    });
    n = 0;
    widest = 0;
  };
  for (const DeviceColumns& block : blocks) {
    if (block.width == 0) continue;
    const int64_t width = block.width * size / unit;
    pieces.piece[n++] = {block.data, width, offset};
    offset += width;
    widest = std::max(widest, width);
    if (n == kBlocksPerLaunch) launch();
  }
  launch();
  return call.Launched();
}

}  // namespace

Status JoinColumns(Call& call, DType dtype, const std::vector<DeviceColumns>& blocks, int64_t rows, void* whole) {
  return Move<true>(call, dtype, blocks, rows, whole);
}
Status SplitColumns(Call& call, DType dtype, const std::vector<DeviceColumns>& blocks, int64_t rows,
                    const void* whole) {
  return Move<false>(call, dtype, blocks, rows, const_cast<void*>(whole));
}

}  // namespace millstream::cuda
