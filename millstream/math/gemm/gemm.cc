// SPDX-License-Identifier: Apache-2.0
#include "millstream/math/gemm/gemm.h"

#include <algorithm>

#include "millstream/math/gemm/gemm_block.h"
#include "millstream/math/gemm/gemm_kernels.h"
#include "millstream/math/gemm/gemm_pack.h"
#include "millstream/math/gemm/gemm_scratch.h"

namespace millstream::math {
namespace {

// A second thread pays from this much work on, in nanoseconds for each thread.
constexpr double kMinThreadNs = 5000;
constexpr double kParallelNs = 1e6;  // tells ParallelFor() that we have decided
constexpr double kFlopsPerNs = 100;
constexpr int64_t kSplitDepth = 2048;

int64_t CeilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }

template <typename T>
GemmArgs<T> WithLeadingDimensions(GemmArgs<T> args) {
  if (args.lda == 0) args.lda = args.trans_a ? args.m : args.k;
  if (args.ldb == 0) args.ldb = args.trans_b ? args.k : args.n;
  if (args.ldc == 0) args.ldc = args.n;
  return args;
}

template <typename T>
int ThreadsFor(const GemmArgs<T>& args, double count, const ThreadPool* pool) {
  if (pool == nullptr) return 1;
  const double ns = count * 2.0 * args.m * args.n * args.k * (sizeof(T) / 4.0) / kFlopsPerNs;
  return std::max(1, static_cast<int>(std::min<double>(pool->parallelism(), ns / kMinThreadNs)));
}

// With no terms to add, C is the epilogue of zero.
template <typename T>
void FinishEmpty(const GemmArgs<T>& args) {
  const Epilogue<T> e{args.alpha, args.accumulate, args.bias, args.activation};
  for (int64_t i = 0; i < args.m; ++i) {
    T* c = args.c + i * args.ldc;
    for (int64_t j = 0; j < args.n; ++j) c[j] = FinishElement(T(0), c[j], j, e);
  }
}

// The part of a product that computes rows [i, i + rows) and columns [j, j +
// cols) of C.
template <typename T>
GemmArgs<T> Part(const GemmArgs<T>& args, int64_t i, int64_t rows, int64_t j, int64_t cols) {
  GemmArgs<T> part = args;
  part.m = rows, part.n = cols;
  part.a += args.trans_a ? i : i * args.lda;
  part.b += args.trans_b ? j * args.ldb : j;
  part.c += i * args.ldc + j;
  if (part.bias != nullptr) part.bias += j;
  return part;
}

// How many pieces each side of C is cut into.
struct Grid {
  int64_t rows, cols;
};

template <typename T>
Grid ChooseGrid(const GemmArgs<T>& args, int64_t pieces) {
  const int64_t width = CurrentKernels<T>().width;
  Grid best{1, pieces};
  double best_cost = 0;
  for (int64_t rows = 1; rows <= pieces; ++rows) {
    if (pieces % rows != 0) continue;
    const int64_t m = CeilDiv(args.m, rows), n = CeilDiv(args.n, pieces / rows);
    // The piece itself, and what it reads: the wider a piece is than high, the
    // more of B it must pack.
    const double cost = static_cast<double>(m) * CeilDiv(n, width) * width + 2.0 * (m + n);
    if (rows == 1 || cost < best_cost) best = {rows, pieces / rows}, best_cost = cost;
  }
  return best;
}

template <typename T>
void SplitOutput(const GemmArgs<T>& args, int threads, ThreadPool* pool) {
  const GemmPath path = ChooseGemmPath(args);
  const Grid grid = ChooseGrid(args, threads);
  const int64_t width = args.n >= 4 * threads * 16 ? 16 : 1;
  const int64_t m = CeilDiv(args.m, grid.rows), n = CeilDiv(CeilDiv(args.n, grid.cols), width) * width;
  const auto run = [&](int64_t begin, int64_t end) {
    for (int64_t piece = begin; piece < end; ++piece) {
      const int64_t i = piece / grid.cols * m, j = piece % grid.cols * n;
      const int64_t rows = std::min(m, args.m - i), cols = std::min(n, args.n - j);
      if (rows > 0 && cols > 0) GemmBlock(Part(args, i, rows, j, cols), path);
    }
  };
  pool->ParallelFor(grid.rows * grid.cols, kParallelNs, run);
}

// For a small C with a long sum: every thread adds up a part of k into its own
// copy of C.
template <typename T>
void SplitSum(const GemmArgs<T>& args, int threads, ThreadPool* pool) {
  const int64_t size = args.m * args.n;
  T* partial = ThreadScratchFor<T>(Scratch::kSplitK, size * threads);
  const auto run = [&](int64_t begin, int64_t end) {
    for (int64_t t = begin; t < end; ++t) {
      const int64_t first = t * args.k / threads, last = (t + 1) * args.k / threads;
      GemmArgs<T> part = args;
      part.k = last - first;
      part.a += first * (args.trans_a ? args.lda : 1);
      part.b += first * (args.trans_b ? 1 : args.ldb);
      part.c = partial + t * size, part.ldc = args.n;
      part.accumulate = false, part.bias = nullptr, part.activation = Activation::kNone, part.alpha = T(1);
      GemmBlock(part, ChooseGemmPath(part));
    }
  };
  pool->ParallelFor(threads, kParallelNs, run);
  const Epilogue<T> e{args.alpha, args.accumulate, args.bias, args.activation};
  for (int64_t i = 0; i < args.m; ++i) {
    for (int64_t j = 0; j < args.n; ++j) {
      T sum = T(0);
      for (int t = 0; t < threads; ++t) sum += partial[t * size + i * args.n + j];
      T& c = args.c[i * args.ldc + j];
      c = FinishElement(sum, c, j, e);
    }
  }
}

template <typename T>
void Multiply(const GemmArgs<T>& given, ThreadPool* pool) {
  const GemmArgs<T> args = WithLeadingDimensions(given);
  if (args.m <= 0 || args.n <= 0) return;
  if (args.k <= 0) return FinishEmpty(args);
  const int threads = ThreadsFor(args, 1, pool);
  if (threads == 1) return GemmBlock(args, ChooseGemmPath(args));
  const bool small = args.m * args.n <= 64 * 64 * threads;
  if (small && args.k >= kSplitDepth) return SplitSum(args, threads, pool);
  SplitOutput(args, threads, pool);
}

template <typename T>
void MultiplyBatch(const BatchGemmArgs<T>& args, ThreadPool* pool) {
  const auto run = [&](int64_t begin, int64_t end, ThreadPool* inner) {
    for (int64_t i = begin; i < end; ++i) {
      GemmArgs<T> one = args.first;
      one.a += i * args.stride_a, one.b += i * args.stride_b, one.c += i * args.stride_c;
      Multiply(one, inner);
    }
  };
  const int threads = ThreadsFor(args.first, static_cast<double>(args.batch), pool);
  if (threads <= 1) return run(0, args.batch, nullptr);
  if (args.batch < 2 * threads && ThreadsFor(args.first, 1, pool) > 1) return run(0, args.batch, pool);
  pool->ParallelFor(args.batch, kParallelNs, [&](int64_t begin, int64_t end) { run(begin, end, nullptr); });
}

}  // namespace

void Gemm(const GemmArgs<float>& args, ThreadPool* pool) { Multiply(args, pool); }
void Gemm(const GemmArgs<double>& args, ThreadPool* pool) { Multiply(args, pool); }
void BatchGemm(const BatchGemmArgs<float>& args, ThreadPool* pool) { MultiplyBatch(args, pool); }
void BatchGemm(const BatchGemmArgs<double>& args, ThreadPool* pool) { MultiplyBatch(args, pool); }

}  // namespace millstream::math
