// SPDX-License-Identifier: Apache-2.0
#include "millstream/math/conv/conv_winograd.h"

#include <algorithm>

#include "millstream/math/gemm/gemm_block.h"
#include "millstream/math/gemm/gemm_scratch.h"
#include "millstream/math/gemm/winograd_kernels.h"

namespace millstream::math {
namespace {

constexpr int64_t kSide = 6, kPositions = kSide * kSide;
constexpr int64_t kChunkBytes = 640 << 10;  // transformed tiles at a time: most of the second-level cache
constexpr double kFlopsPerNs = 80;

int64_t CeilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }

// How the output is cut into tiles. Tiles are worked on in chunks of whole tile
// lines, counted through all images.
struct Tiling {
  Tiling(const ConvShape& s, const ThreadPool* pool)
      : tile(kSide + 1 - s.filter_height), high(CeilDiv(s.out_height, tile)), wide(CeilDiv(s.out_width, tile)) {
    const int64_t tile_bytes = kPositions * (s.in_channels + s.out_channels) * int64_t{sizeof(float)};
    const int64_t tiles = std::clamp<int64_t>(kChunkBytes / tile_bytes, 28, 128);
    const int64_t all = high * s.batch, threads = pool == nullptr ? 1 : pool->parallelism();
    const int64_t fitting = std::clamp<int64_t>((tiles + wide / 2) / wide, 1, std::max<int64_t>(1, all));
    // As many chunks for every thread.
    chunks = CeilDiv(std::max<int64_t>(1, CeilDiv(all, fitting)), threads) * threads;
    lines = std::max<int64_t>(1, CeilDiv(all, chunks));
    chunks = CeilDiv(all, lines);
  }
  int64_t tile;        // outputs along a side
  int64_t high, wide;  // tiles in an image
  int64_t lines;       // tile lines in a chunk
  int64_t chunks;
};

// A copy of one image with zeros around it, so that every tile is whole.
class PaddedImage {
 public:
  PaddedImage(const ConvShape& s, const Tiling& t, const FoldedImage* folded)
      : s_(s),
        folded_(folded),
        rows_(t.high * t.tile + s.filter_height - 1),
        cols_(t.wide * t.tile + s.filter_width - 1),
        data_(ThreadScratchFor<float>(Scratch::kConvData, rows_ * cols_ * s.in_channels)) {}

  // The padded image `index` of `input`.
  const float* Load(const float* input, int64_t index) {
    if (index == loaded_) return data_;
    loaded_ = index;
    if (folded_ != nullptr) return Fold(input + index * folded_->height * folded_->width * folded_->channels);
    const int64_t channels = s_.in_channels;
    const float* image = input + index * s_.in_height * s_.in_width * channels;
    const int64_t left = std::max<int64_t>(s_.pad_left, 0), skip = std::max<int64_t>(-s_.pad_left, 0);
    const int64_t used = std::clamp<int64_t>(s_.in_width - skip, 0, cols_ - left);
    for (int64_t row = 0; row < rows_; ++row) {
      float* to = data_ + row * pitch();
      const int64_t y = row - s_.pad_top;
      if (y < 0 || y >= s_.in_height) {
        std::fill_n(to, pitch(), 0.0f);
        continue;
      }
      std::fill_n(to, left * channels, 0.0f);
      std::copy_n(image + (y * s_.in_width + skip) * channels, used * channels, to + left * channels);
      std::fill_n(to + (left + used) * channels, (cols_ - left - used) * channels, 0.0f);
    }
    return data_;
  }
  int64_t pitch() const { return cols_ * s_.in_channels; }

 private:
  const float* Fold(const float* image) {
    for (int64_t row = 0; row < rows_; ++row) {
      float* to = data_ + row * pitch();
      std::fill_n(to, pitch(), 0.0f);
      const int64_t y = row - s_.pad_top;
      if (y < 0 || y >= s_.in_height) continue;
      const int64_t last = std::min(s_.in_width, cols_ - s_.pad_left);
      folded_->ForEachRun(y, std::max<int64_t>(-s_.pad_left, 0), last, [&](int64_t pixel, int64_t at, int64_t n) {
        std::copy_n(image + pixel, n, to + std::max<int64_t>(s_.pad_left, 0) * s_.in_channels + at);
      });
    }
    return data_;
  }

  const ConvShape& s_;
  const FoldedImage* const folded_;
  const int64_t rows_, cols_;
  float* const data_;
  int64_t loaded_ = -1;
};

// Tile lines [first, first + count) and the room for their transforms:
// position-major, then tile, then channel.
struct Chunk {
  int64_t first, count, tiles;
};

Chunk ChunkAt(const ConvShape& s, const Tiling& t, int64_t index) {
  const int64_t first = index * t.lines, count = std::min(t.lines, t.high * s.batch - first);
  return {first, count, count * t.wide};
}

void TransformInput(const ConvShape& s, const Tiling& t, const Chunk& chunk, const float* input, PaddedImage* padded,
                    float* out) {
  const auto transform = CurrentWinogradKernels(s.filter_height).input;
  const int64_t channels = s.in_channels, position = chunk.tiles * channels;
  for (int64_t line = 0; line < chunk.count; ++line) {
    const int64_t image = (chunk.first + line) / t.high, ty = (chunk.first + line) % t.high;
    const float* from = padded->Load(input, image) + ty * t.tile * padded->pitch();
    for (int64_t tx = 0; tx < t.wide; ++tx) {
      transform({from + tx * t.tile * channels, padded->pitch(), channels, out + (line * t.wide + tx) * channels,
                 kSide * position, position, channels});
    }
  }
}

// Where a tile of the output lies, and how much of it is inside.
struct TilePlace {
  int64_t image, y, x;  // its first pixel
  int64_t offset;       // of that
  int64_t rows, cols;
  bool whole;
};

TilePlace PlaceOf(const ConvShape& s, const Tiling& t, int64_t line, int64_t tx) {
  const int64_t image = line / t.high, y = line % t.high * t.tile, x = tx * t.tile;
  const int64_t rows = std::min(t.tile, s.out_height - y), cols = std::min(t.tile, s.out_width - x);
  const int64_t offset = ((image * s.out_height + y) * s.out_width + x) * s.out_channels;
  return {image, y, x, offset, rows, cols, rows == t.tile && cols == t.tile};
}

void CopyTile(const TilePlace& place, int64_t channels, const float* from, int64_t from_row, float* to,
              int64_t to_row) {
  for (int64_t y = 0; y < place.rows; ++y) std::copy_n(from + y * from_row, place.cols * channels, to + y * to_row);
}

// The part of a tile that is inside, to where it belongs in the images.
void UnfoldTile(const FoldedImage& folded, const TilePlace& place, const float* from, int64_t from_row, float* images) {
  float* image = images + place.image * folded.height * folded.width * folded.channels;
  for (int64_t y = 0; y < place.rows; ++y, from += from_row) {
    folded.ForEachRun(place.y + y, place.x, place.x + place.cols,
                      [&](int64_t pixel, int64_t at, int64_t n) { std::copy_n(from + at, n, image + pixel); });
  }
}

void TransformOutput(const ConvShape& s, const Tiling& t, const Chunk& chunk, const float* products, float* output,
                     const ConvEpilogue<float>& epilogue, const FoldedImage* folded) {
  const auto transform = CurrentWinogradKernels(s.filter_height).output;
  const int64_t channels = s.out_channels, position = chunk.tiles * channels;
  const int64_t out_row = s.out_width * channels, edge_row = t.tile * channels;
  float* edge = ThreadScratchFor<float>(Scratch::kConvEdge, t.tile * edge_row);
  for (int64_t i = 0; i < chunk.tiles; ++i) {
    const TilePlace place = PlaceOf(s, t, chunk.first + i / t.wide, i % t.wide);
    const bool direct = place.whole && folded == nullptr;
    float* to = direct ? output + place.offset : edge;
    transform({products + i * channels, kSide * position, position, to, direct ? out_row : edge_row, channels, channels,
               epilogue.bias, epilogue.activation});
    if (folded != nullptr) {
      UnfoldTile(*folded, place, edge, edge_row, output);
    } else if (!direct) {
      CopyTile(place, channels, edge, edge_row, output + place.offset, out_row);
    }
  }
}

void TransformOutputGrad(const ConvShape& s, const Tiling& t, const Chunk& chunk, const float* grad, float* out) {
  const auto transform = CurrentWinogradKernels(s.filter_height).output_grad;
  const int64_t channels = s.out_channels, position = chunk.tiles * channels;
  const int64_t grad_row = s.out_width * channels, edge_row = t.tile * channels;
  float* edge = ThreadScratchFor<float>(Scratch::kConvEdge, t.tile * edge_row);
  for (int64_t i = 0; i < chunk.tiles; ++i) {
    const TilePlace place = PlaceOf(s, t, chunk.first + i / t.wide, i % t.wide);
    const float* from = grad + place.offset;
    if (!place.whole) {
      std::fill_n(edge, t.tile * edge_row, 0.0f);
      CopyTile(place, channels, from, grad_row, edge, edge_row);
    }
    transform({place.whole ? from : edge, place.whole ? grad_row : edge_row, channels, out + i * channels,
               kSide * position, position, channels});
  }
}

template <typename Fn>
void ForRange(int64_t total, double cost, ThreadPool* pool, Fn fn, int64_t align = 1) {
  if (pool == nullptr) return fn(0, total);
  pool->ParallelFor(total, cost, fn, align);
}

double ChunkCost(const ConvShape& s, const Tiling& t) {
  return 2.0 * kPositions * static_cast<double>(t.lines * t.wide * s.in_channels * s.out_channels) / kFlopsPerNs;
}

void TransformFilter(const ConvShape& s, const float* filter, float* out, ThreadPool* pool) {
  const int64_t size = s.in_channels * s.out_channels;
  const auto transform = CurrentWinogradKernels(s.filter_height).filter;
  ForRange(
      size, 10, pool,
      [&](int64_t begin, int64_t end) {
        transform({filter + begin, s.filter_width * size, size, out + begin, kSide * size, size, end - begin});
      },
      16);
}

// One matrix product for each position of the block; operands of consecutive
// positions follow each other.
void MultiplyPositions(GemmArgs<float> args) {
  args.lda = args.trans_a ? args.m : args.k, args.ldb = args.n, args.ldc = args.n;
  for (int64_t i = 0; i < kPositions; ++i) {
    GemmBlock(args, GemmPath::kRows);
    args.a += args.m * args.k, args.b += args.k * args.n, args.c += args.m * args.n;
  }
}

// Adds up what chunks [begin, end) give to the transformed gradient of the
// filter.
void SumChunks(const ConvShape& s, const Tiling& t, const float* input, const FoldedImage* folded,
               const float* out_grad, int64_t begin, int64_t end, float* sum) {
  PaddedImage padded(s, t, folded);
  for (int64_t i = begin; i < end; ++i) {
    const Chunk chunk = ChunkAt(s, t, i);
    float* tiles =
        ThreadScratchFor<float>(Scratch::kConvProduct, kPositions * chunk.tiles * (s.in_channels + s.out_channels));
    float* grads = tiles + kPositions * chunk.tiles * s.in_channels;
    TransformInput(s, t, chunk, input, &padded, tiles);
    TransformOutputGrad(s, t, chunk, out_grad, grads);
    GemmArgs<float> product;
    product.m = s.in_channels, product.n = s.out_channels, product.k = chunk.tiles;
    product.a = tiles, product.trans_a = true, product.b = grads, product.c = sum;
    product.accumulate = i > begin;
    MultiplyPositions(product);
  }
}

}  // namespace

bool WinogradFits(const ConvShape& s) {
  const bool unit = s.stride_height == 1 && s.stride_width == 1 && s.dilation_height == 1 && s.dilation_width == 1;
  const bool square = s.filter_height == s.filter_width && (s.filter_height == 3 || s.filter_height == 5);
  const bool channels = s.in_channels % 16 == 0 && s.out_channels % 16 == 0;
  return unit && square && channels && s.groups == 1 && s.out_height >= 4 && s.out_width >= 4 &&
         s.batch * s.out_height * s.out_width >= 256;
}

void WinogradConv(const ConvShape& s, const float* input, const float* filter, float* output,
                  const ConvEpilogue<float>& epilogue, ThreadPool* pool, const WinogradFolds& folds) {
  const Tiling t(s, pool);
  float* transformed = ThreadScratchFor<float>(Scratch::kConvFilter, kPositions * s.in_channels * s.out_channels);
  TransformFilter(s, filter, transformed, pool);
  ForRange(t.chunks, ChunkCost(s, t), pool, [&](int64_t begin, int64_t end) {
    PaddedImage padded(s, t, folds.input);
    for (int64_t i = begin; i < end; ++i) {
      const Chunk chunk = ChunkAt(s, t, i);
      float* tiles =
          ThreadScratchFor<float>(Scratch::kConvProduct, kPositions * chunk.tiles * (s.in_channels + s.out_channels));
      GemmArgs<float> product;
      product.m = chunk.tiles, product.n = s.out_channels, product.k = s.in_channels;
      product.a = tiles, product.b = transformed, product.c = tiles + kPositions * chunk.tiles * s.in_channels;
      TransformInput(s, t, chunk, input, &padded, tiles);
      MultiplyPositions(product);
      TransformOutput(s, t, chunk, product.c, output, epilogue, folds.output);
    }
  });
}

void WinogradFilterGrad(const ConvShape& s, const float* input, const float* out_grad, float* filter_grad,
                        ThreadPool* pool, const WinogradFolds& folds) {
  const Tiling t(s, pool);
  const int64_t size = s.in_channels * s.out_channels;
  const int64_t parts = std::min<int64_t>(pool == nullptr ? 1 : pool->parallelism(), t.chunks);
  float* sums = ThreadScratchFor<float>(Scratch::kConvFilter, parts * kPositions * size);
  ForRange(parts, ChunkCost(s, t) * static_cast<double>(t.chunks) / static_cast<double>(parts), pool,
           [&](int64_t begin, int64_t end) {
             for (int64_t part = begin; part < end; ++part) {
               SumChunks(s, t, input, folds.input, out_grad, part * t.chunks / parts, (part + 1) * t.chunks / parts,
                         sums + part * kPositions * size);
             }
           });
  const auto transform = CurrentWinogradKernels(s.filter_height).filter_grad;
  ForRange(
      size, 10, pool,
      [&](int64_t begin, int64_t end) {
        for (int64_t part = 1; part < parts; ++part) {
          for (int64_t p = 0; p < kPositions; ++p) {
            float* to = sums + p * size;
            const float* from = to + part * kPositions * size;
            for (int64_t i = begin; i < end; ++i) to[i] += from[i];
          }
        }
        transform({sums + begin, kSide * size, size, filter_grad + begin, s.filter_width * size, size, end - begin});
      },
      16);
}

}  // namespace millstream::math
