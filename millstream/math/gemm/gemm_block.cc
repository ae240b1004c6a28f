// SPDX-License-Identifier: Apache-2.0
#include "millstream/math/gemm/gemm_block.h"

#include <algorithm>

#include "millstream/math/gemm/gemm_kernels.h"
#include "millstream/math/gemm/gemm_pack.h"
#include "millstream/math/gemm/gemm_scratch.h"

namespace millstream::math {
namespace {

// A packed panel of the left side must fit the first-level cache, a block of
// the right side the second level.
constexpr int64_t kMaxDepthBytes = 2048;
constexpr int64_t kRightBlockBytes = 512 << 10;
// While a block of a right side is multiplied that comes from beyond the second-level cache, the next one is fetched.
constexpr int64_t kFarBlockBytes = 256 << 10, kFetchBytes = 128;
// The packed left side is kept for all blocks if it is no larger.
constexpr int64_t kLeftBytes = 4 << 20;
constexpr int64_t kMaxDotDepth = 4096;
// From this many columns on, packing the left side pays; less if its lines
// collide in the cache.
constexpr int64_t kPackLeftColumns = 1024, kPackAliasedColumns = 64;
// A right side of more bytes than this comes from beyond the second-level cache. Packing reads its rows in order, as
// prefetchers like it, this many at a time.
constexpr int64_t kFarBytes = 1 << 20, kPackRows = 8;

int64_t CeilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }

// Rows a multiple of 4 KiB apart share few cache sets.
template <typename T>
bool Aliases(int64_t stride) {
  return stride * static_cast<int64_t>(sizeof(T)) % 4096 == 0;
}

// element(i, p) = data[i * row + p * col].
template <typename T>
struct Operand {
  const T* data;
  int64_t row, col;
};

template <typename T>
Epilogue<T> BlockEpilogue(const GemmArgs<T>& args, bool first, bool last) {
  Epilogue<T> e{args.alpha, args.accumulate || !first, nullptr, Activation::kNone};
  if (last) e.bias = args.bias, e.activation = args.activation;
  return e;
}

// kRows and kColumns: the same loops, with the operands swapped for kColumns.
template <typename T>
class TiledProduct {
 public:
  TiledProduct(const GemmArgs<T>& args, bool swapped)
      : args_(args), kernels_(CurrentKernels<T>()), swapped_(swapped), rows_(args.m), cols_(args.n) {
    left_ = {args.a, args.trans_a ? 1 : args.lda, args.trans_a ? args.lda : 1};
    right_ = {args.b, args.trans_b ? args.ldb : 1, args.trans_b ? 1 : args.ldb};
    if (swapped) std::swap(left_, right_), std::swap(rows_, cols_);
    vectors_ = rows_ <= kernels_.max_rows[4] ? 4 : 2;
    panels_ = CeilDiv(rows_, kernels_.max_rows[vectors_]);
    pack_left_ = cols_ >= (Aliases<T>(std::max(left_.row, left_.col)) ? kPackAliasedColumns : kPackLeftColumns);
    far_ = args.k * cols_ * kSize > kFarBytes;
    pack_right_ = right_.row != 1 || panels_ > 4 || Aliases<T>(right_.col);
    depths_ = CeilDiv(args.k, kMaxDepthBytes / kSize);
    const int64_t depth = CeilDiv(args.k, depths_), step = int64_t{vectors_} * kernels_.width;
    const int64_t fitting = (far_ ? kFarBlockBytes : kRightBlockBytes) / (depth * kSize);
    block_ = std::max(step, fitting / step * step);
    keep_left_ = pack_left_ && block_ < cols_ && depth * rows_ * kSize <= kLeftBytes;
  }

  void Run() {
    for (int64_t d = 0; d < depths_; ++d) {
      epilogue_ = BlockEpilogue(args_, d == 0, d + 1 == depths_);
      for (int64_t j = 0; j < cols_; j += block_) {
        const bool last = j + block_ >= cols_;
        FetchBlock(last ? d + 1 : d, last ? 0 : j + block_);
        RunBlock(Begin(d), Begin(d + 1) - Begin(d), j, std::min(block_, cols_ - j));
      }
    }
  }

 private:
  static constexpr int64_t kSize = sizeof(T);

  int64_t Begin(int64_t d) const { return d * args_.k / depths_; }

  // Tiles will fetch the block of depth `d` that begins at column `j`, if there is one.
  void FetchBlock(int64_t d, int64_t j) {
    fetch_ = fetch_end_ = nullptr;
    if (!far_ || right_.row != 1 || d >= depths_) return;
    fetch_ = right_.data + Begin(d) * right_.col + j;
    fetch_end_ = fetch_ + std::min(block_, cols_ - j);
  }
  void SetAhead(TileArgs<T>* tile) {
    tile->ahead = fetch_ < fetch_end_ ? fetch_ : nullptr;
    tile->ahead_step = right_.col;
    if (fetch_ < fetch_end_) fetch_ += kFetchBytes / kSize;
  }

  int64_t PanelWidth(int64_t cols) const {
    const int64_t needed = CeilDiv(cols, kernels_.width);
    return std::min<int64_t>(needed >= vectors_ ? vectors_ : needed >= 2 ? 2 : 1, needed) * kernels_.width;
  }

  void RunBlock(int64_t p, int64_t depth, int64_t first_col, int64_t cols) {
    T* packed_right = PackRight(p, depth, first_col, cols);
    const int64_t left_rows = keep_left_ ? rows_ : GemmKernels<T>::kMaxRows;
    T* packed_left = pack_left_ ? ThreadScratchFor<T>(Scratch::kPackA, depth * left_rows) : nullptr;
    for (int64_t panel = 0; panel < panels_; ++panel) {
      const int64_t i = panel * rows_ / panels_;
      const int rows = static_cast<int>((panel + 1) * rows_ / panels_ - i);
      TileArgs<T> tile{};
      tile.k = depth;
      SetLeft(&tile, i, rows, p, keep_left_ ? packed_left + i * depth : packed_left, !keep_left_ || first_col == 0);
      for (int64_t j = 0; j < cols;) {
        const int64_t width = PanelWidth(cols - j);
        tile.cols = static_cast<int>(std::min(width, cols - j));
        SetRight(&tile, p, first_col, j, width, packed_right);
        SetAhead(&tile);
        RunTile(tile, i, rows, first_col + j, static_cast<int>(width));
        j += width;
      }
    }
  }

  // With `pack` what is packed is made anew.
  void SetLeft(TileArgs<T>* tile, int64_t i, int rows, int64_t p, T* packed, bool pack) const {
    const T* source = left_.data + i * left_.row + p * left_.col;
    if (!pack_left_) {
      tile->a = source, tile->a_row = left_.row, tile->a_col = left_.col;
      return;
    }
    if (!pack) {
      // It is there since the first block.
    } else if (left_.row == 1) {
      CopyPanel(source, left_.col, tile->k, rows, packed, rows, rows);
    } else {
      TransposePanel(source, left_.row, rows, tile->k, packed, rows, rows);
    }
    tile->a = packed, tile->a_row = 1, tile->a_col = rows;
  }

  // Panels that end beyond the last column are packed in any case, so that
  // whole vectors can be read.
  bool Packs(int64_t col, int64_t width) const { return pack_right_ || col + width > cols_; }

  T* PackRight(int64_t p, int64_t depth, int64_t first_col, int64_t cols) const {
    T* packed = ThreadScratchFor<T>(Scratch::kPackB, depth * CeilDiv(cols, kernels_.width) * kernels_.width);
    const int64_t step = right_.row == 1 ? kPackRows : depth;
    for (int64_t row = 0; row < depth; row += step) {
      PackRows(p + row, std::min(step, depth - row), depth, first_col, cols, packed, row);
    }
    return packed;
  }

  // `rows` rows from p on, which become rows from `to_row` on of panels that have `depth` rows.
  void PackRows(int64_t p, int64_t rows, int64_t depth, int64_t first_col, int64_t cols, T* packed,
                int64_t to_row) const {
    for (int64_t j = 0; j < cols;) {
      const int64_t width = PanelWidth(cols - j);
      if (Packs(first_col + j, width)) {
        const T* source = right_.data + (first_col + j) * right_.row + p * right_.col;
        T* to = packed + j * depth + to_row * width;
        const int64_t used = std::min(width, cols - j);
        if (right_.row == 1) {
          CopyPanel(source, right_.col, rows, used, to, width, width);
        } else {
          TransposePanel(source, right_.row, used, rows, to, width, width);
        }
      }
      j += width;
    }
  }

  void SetRight(TileArgs<T>* tile, int64_t p, int64_t first_col, int64_t j, int64_t width, const T* packed) const {
    if (Packs(first_col + j, width)) {
      tile->b = packed + j * tile->k, tile->ldb = width;
    } else {
      tile->b = right_.data + first_col + j + p * right_.col, tile->ldb = right_.col;
    }
  }

  void RunTile(TileArgs<T>& tile, int64_t i, int rows, int64_t j, int width) const {
    const auto kernel = kernels_.tile[width / kernels_.width][rows];
    Epilogue<T> epilogue = epilogue_;
    if (epilogue.bias != nullptr) epilogue.bias += swapped_ ? i : j;
    if (!swapped_) {
      tile.epilogue = &epilogue;
      tile.c = args_.c + i * args_.ldc + j, tile.ldc = args_.ldc;
      return kernel(tile);
    }
    static constexpr Epilogue<T> kPlain{};
    constexpr int kMaxTile = GemmKernels<T>::kMaxRows * 2 * 64 / static_cast<int>(sizeof(T));
    alignas(64) T out[kMaxTile];
    const int cols = tile.cols;
    tile.epilogue = &kPlain, tile.c = out, tile.ldc = width, tile.cols = width;
    kernel(tile);
    StoreTransposed(out, width, rows, cols, args_.c + j * args_.ldc + i, args_.ldc, epilogue);
  }

  const GemmArgs<T>& args_;
  const GemmKernels<T>& kernels_;
  const bool swapped_;
  int64_t rows_, cols_;
  Operand<T> left_, right_;  // right_.row is the distance between columns
  int vectors_;
  int64_t panels_;
  bool pack_left_, pack_right_;
  bool far_;                  // the right side is beyond the second-level cache
  bool keep_left_;            // packed once for all blocks
  int64_t depths_, block_;    // how many parts k is cut into; columns done at a time
  const T* fetch_ = nullptr;  // of the next block: columns that no tile fetches yet
  const T* fetch_end_ = nullptr;
  Epilogue<T> epilogue_;
};

// Rows of the packed or given operand that lie along k.
template <typename T>
Operand<T> AlongDepth(const T* data, bool along, int64_t ld, int64_t count, int64_t p, int64_t depth, Scratch use) {
  if (along) return {data + p, ld, 1};
  const int64_t padded = CeilDiv(depth, 16) * 16;
  T* packed = ThreadScratchFor<T>(use, padded * count);
  TransposePanel(data + p * ld, ld, depth, count, packed, padded, depth);
  return {packed, padded, 1};
}

template <typename T>
void StoreDots(const GemmArgs<T>& args, const Epilogue<T>& e, const T* sums, int64_t i, int rows, int64_t j, int cols) {
  for (int r = 0; r < rows; ++r) {
    T* c = args.c + (i + r) * args.ldc + j;
    for (int s = 0; s < cols; ++s) c[s] = FinishElement(sums[r * cols + s], c[s], j + s, e);
  }
}

template <typename T>
void DotDepth(const GemmArgs<T>& args, int64_t p, int64_t depth, const Epilogue<T>& e) {
  const GemmKernels<T>& kernels = CurrentKernels<T>();
  const Operand<T> a = AlongDepth(args.a, !args.trans_a, args.lda, args.m, p, depth, Scratch::kPackA);
  const Operand<T> b = AlongDepth(args.b, args.trans_b, args.ldb, args.n, p, depth, Scratch::kPackB);
  const int64_t row_blocks = CeilDiv(args.m, kernels.dot_rows), col_blocks = CeilDiv(args.n, kernels.dot_cols);
  T sums[GemmKernels<T>::kMaxDotRows * GemmKernels<T>::kMaxDotCols];
  for (int64_t r = 0; r < row_blocks; ++r) {
    const int64_t i = r * args.m / row_blocks;
    const int rows = static_cast<int>((r + 1) * args.m / row_blocks - i);
    for (int64_t s = 0; s < col_blocks; ++s) {
      const int64_t j = s * args.n / col_blocks;
      const int cols = static_cast<int>((s + 1) * args.n / col_blocks - j);
      kernels.dot[rows][cols]({depth, a.data + i * a.row, a.row, b.data + j * b.row, b.row, sums});
      StoreDots(args, e, sums, i, rows, j, cols);
    }
  }
}

template <typename T>
void DotProduct(const GemmArgs<T>& args) {
  const int64_t depths = CeilDiv(args.k, kMaxDotDepth);
  for (int64_t d = 0; d < depths; ++d) {
    const int64_t begin = d * args.k / depths, end = (d + 1) * args.k / depths;
    DotDepth(args, begin, end - begin, BlockEpilogue(args, d == 0, d + 1 == depths));
  }
}

// A few rows times a large matrix whose rows are read once, in order, as memory gives them: sums stay in the cache.
// Reads kTerms rows of B at a time, so that C is loaded and stored as many times less often.
constexpr int64_t kStreamRows = 4, kStreamBytes = 256 << 10, kStreamColumns = 1024, kTerms = 4;

template <typename T>
bool Streams(const GemmArgs<T>& args) {
  return args.m <= kStreamRows && !args.trans_b && args.n >= 64 &&
         args.n * args.k * static_cast<int64_t>(sizeof(T)) >= kStreamBytes;
}

template <typename T>
void AddTerms(const T* a, int64_t a_col, const T* b, int64_t ldb, int64_t depth, int64_t cols, T* sums) {
  simd::Run<T>([=]() MILLSTREAM_INLINE_LAMBDA {
    int64_t p = 0;
    for (; p + kTerms <= depth; p += kTerms) {
      const T a0 = a[p * a_col], a1 = a[(p + 1) * a_col], a2 = a[(p + 2) * a_col], a3 = a[(p + 3) * a_col];
      const T *b0 = b + p * ldb, *b1 = b0 + ldb, *b2 = b1 + ldb, *b3 = b2 + ldb;
      MILLSTREAM_INDEPENDENT_LOOP
      for (int64_t j = 0; j < cols; ++j) sums[j] += a0 * b0[j] + a1 * b1[j] + a2 * b2[j] + a3 * b3[j];
    }
    for (; p < depth; ++p) {
      const T a0 = a[p * a_col];
      const T* b0 = b + p * ldb;
      MILLSTREAM_INDEPENDENT_LOOP
      for (int64_t j = 0; j < cols; ++j) sums[j] += a0 * b0[j];
    }
  });
}

template <typename T>
void StreamProduct(const GemmArgs<T>& args) {
  constexpr int64_t kDepth = 16;  // rows of B that all rows of A meet before the next ones are read
  const int64_t a_row = args.trans_a ? 1 : args.lda, a_col = args.trans_a ? args.lda : 1;
  const Epilogue<T> e{args.alpha, args.accumulate, args.bias, args.activation};
  alignas(64) T sums[kStreamRows * kStreamColumns];
  for (int64_t j = 0; j < args.n; j += kStreamColumns) {
    const int64_t cols = std::min(kStreamColumns, args.n - j);
    std::fill_n(sums, args.m * kStreamColumns, T(0));
    for (int64_t p = 0; p < args.k; p += kDepth) {
      for (int64_t i = 0; i < args.m; ++i) {
        AddTerms(args.a + i * a_row + p * a_col, a_col, args.b + p * args.ldb + j, args.ldb,
                 std::min(kDepth, args.k - p), cols, sums + i * kStreamColumns);
      }
    }
    for (int64_t i = 0; i < args.m; ++i) {
      T* c = args.c + i * args.ldc + j;
      for (int64_t s = 0; s < cols; ++s) c[s] = FinishElement(sums[i * kStreamColumns + s], c[s], j + s, e);
    }
  }
}

}  // namespace

template <typename T>
GemmPath ChooseGemmPath(const GemmArgs<T>& args) {
  // Costs in vector multiply-adds, measured on Zen 4.
  constexpr double kTurn = 0.5;         // to transpose an element
  constexpr double kStoreTurned = 2.5;  // to store an element of a transposed tile
  constexpr double kSumLanes = 6;       // to add up the lanes of a dot product and store it
  const double m = args.m, n = args.n, k = args.k;
  const int64_t width = CurrentKernels<T>().width;
  const double by_rows = m * CeilDiv(args.n, width) * k + (args.trans_b ? n * k * kTurn : 0);
  const double by_columns = n * CeilDiv(args.m, width) * k + (args.trans_a ? 0 : m * k * kTurn) + m * n * kStoreTurned;
  const double by_dots = m * n * CeilDiv(args.k, width) + (args.trans_a ? m * k * kTurn : 0) +
                         (args.trans_b ? 0 : n * k * kTurn) + m * n * kSumLanes;
  const bool narrow = std::min(args.m, args.n) <= 32;  // a dot product packs its operands whole
  if (narrow && by_dots < std::min(by_rows, by_columns)) return GemmPath::kDots;
  return by_columns < by_rows ? GemmPath::kColumns : GemmPath::kRows;
}

template <typename T>
void GemmBlock(const GemmArgs<T>& args, GemmPath path) {
  if (Streams(args)) return StreamProduct(args);
  if (path == GemmPath::kDots) return DotProduct(args);
  TiledProduct<T>(args, path == GemmPath::kColumns).Run();
}

template GemmPath ChooseGemmPath(const GemmArgs<float>&);
template GemmPath ChooseGemmPath(const GemmArgs<double>&);
template void GemmBlock(const GemmArgs<float>&, GemmPath);
template void GemmBlock(const GemmArgs<double>&, GemmPath);

}  // namespace millstream::math
