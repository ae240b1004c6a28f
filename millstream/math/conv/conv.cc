// SPDX-License-Identifier: Apache-2.0
#include "millstream/math/conv/conv.h"

#include <algorithm>
#include <type_traits>

#include "millstream/math/conv/conv_columns.h"
#include "millstream/math/conv/conv_fold.h"
#include "millstream/math/conv/conv_implicit.h"
#include "millstream/math/conv/conv_turned.h"
#include "millstream/math/conv/conv_winograd.h"
#include "millstream/math/gemm/gemm_scratch.h"

namespace millstream::math {
namespace {

constexpr int64_t kColumnsBytes = 256 << 10;  // of the column matrix at a time: a part of the second-level cache
constexpr double kFlopsPerNs = 60;

int64_t CeilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }

// Work is handed out in blocks of whole output lines.
struct LineBlocks {
  int64_t lines;      // of a block
  int64_t per_image;  // blocks
  int64_t total;
};

template <typename T>
LineBlocks MakeBlocks(const ConvShape& s) {
  const int64_t line_bytes = s.out_width * s.filter_height * s.filter_width * s.in_group() * int64_t{sizeof(T)};
  const int64_t fitting = std::clamp<int64_t>(kColumnsBytes / std::max<int64_t>(line_bytes, 1), 1, s.out_height);
  const int64_t per_image = CeilDiv(s.out_height, fitting);
  return {CeilDiv(s.out_height, per_image), per_image, per_image * s.batch};
}

// One block: lines [row, row + rows) of an image, and where the image lies.
struct Lines {
  int64_t image, row, rows;
};

Lines BlockLines(const ConvShape& s, const LineBlocks& blocks, int64_t index) {
  const int64_t row = index % blocks.per_image * blocks.lines;
  return {index / blocks.per_image, row, std::min(blocks.lines, s.out_height - row)};
}

double BlockCost(const ConvShape& s, int64_t lines) {
  return 2.0 * static_cast<double>(lines * s.out_width) * static_cast<double>(s.filter_size()) / kFlopsPerNs;
}

template <typename Fn>
void ForRange(int64_t total, double cost, ThreadPool* pool, Fn fn) {
  if (pool == nullptr) return fn(0, total);
  pool->ParallelFor(total, cost, fn);
}

// Whether there is an image or more for every thread.
bool ManyImages(const ConvShape& s, const ThreadPool* pool) {
  return pool == nullptr || s.batch >= pool->parallelism();
}

bool IsPointwise(const ConvShape& s) {
  return s.filter_height == 1 && s.filter_width == 1 && s.stride_height == 1 && s.stride_width == 1 && s.pad_top == 0 &&
         s.pad_left == 0 && s.out_height == s.in_height && s.out_width == s.in_width;
}

// The column matrix of a block and its distance between rows; a pointwise
// convolution reads the image itself.
template <typename T>
struct Columns {
  const T* data;
  int64_t ld;
};

template <typename T>
Columns<T> MakeColumns(const ConvShape& s, const T* image, int64_t group, const Lines& lines) {
  if (IsPointwise(s)) {
    return {image + lines.row * s.in_width * s.in_channels + group * s.in_group(), s.in_channels};
  }
  const int64_t width = s.filter_height * s.filter_width * s.in_group();
  T* data = ThreadScratchFor<T>(Scratch::kConvData, lines.rows * s.out_width * width);
  ImageToColumns(s, image, group, lines.row, lines.rows, data);
  return {data, width};
}

template <typename T>
void ForwardBlock(const ConvShape& s, const T* input, const T* filter, T* output, const ConvEpilogue<T>& epilogue,
                  const Lines& lines) {
  const T* image = input + lines.image * s.in_height * s.in_width * s.in_channels;
  T* out = output + (lines.image * s.out_height + lines.row) * s.out_width * s.out_channels;
  for (int64_t group = 0; group < s.groups; ++group) {
    const Columns<T> columns = MakeColumns(s, image, group, lines);
    GemmArgs<T> product;
    product.m = lines.rows * s.out_width, product.n = s.out_group();
    product.k = s.filter_height * s.filter_width * s.in_group();
    product.a = columns.data, product.lda = columns.ld;
    product.b = filter + group * s.out_group(), product.ldb = s.out_channels;
    product.c = out + group * s.out_group(), product.ldc = s.out_channels;
    product.bias = epilogue.bias == nullptr ? nullptr : epilogue.bias + group * s.out_group();
    product.activation = epilogue.activation;
    Gemm(product, nullptr);
  }
}

template <typename T>
void Forward(const ConvShape& s, const T* input, const T* filter, T* output, const ConvEpilogue<T>& epilogue,
             ThreadPool* pool) {
  if constexpr (std::is_same_v<T, float>) {
    if (WinogradFits(s)) return WinogradConv(s, input, filter, output, epilogue, pool);
    if (FoldedConvFits(s)) return FoldedConv(s, input, filter, output, epilogue, pool);
  }
  if (ImplicitConvFits(s) && ManyImages(s, pool)) {
    return ImplicitConv(s, input, filter, output, DenseOutput(s), epilogue, pool);
  }
  const LineBlocks blocks = MakeBlocks<T>(s);
  ForRange(blocks.total, BlockCost(s, blocks.lines), pool, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      ForwardBlock(s, input, filter, output, epilogue, BlockLines(s, blocks, i));
    }
  });
}

template <typename T>
void BackpropImage(const ConvShape& s, const T* filter, const T* out_grad, T* in_grad, const LineBlocks& blocks) {
  const int64_t width = s.filter_height * s.filter_width * s.in_group();
  std::fill_n(in_grad, s.in_height * s.in_width * s.in_channels, T(0));
  T* columns = ThreadScratchFor<T>(Scratch::kConvData, blocks.lines * s.out_width * width);
  for (int64_t b = 0; b < blocks.per_image; ++b) {
    const Lines lines = BlockLines(s, blocks, b);
    for (int64_t group = 0; group < s.groups; ++group) {
      GemmArgs<T> product;
      product.m = lines.rows * s.out_width, product.n = width, product.k = s.out_group();
      product.a = out_grad + lines.row * s.out_width * s.out_channels + group * s.out_group();
      product.lda = s.out_channels;
      product.b = filter + group * s.out_group(), product.ldb = s.out_channels, product.trans_b = true;
      product.c = columns;
      Gemm(product, nullptr);
      AddColumnsToImage(s, columns, group, lines.row, lines.rows, in_grad);
    }
  }
}

template <typename T>
void BackpropInput(const ConvShape& s, const T* filter, const T* out_grad, T* in_grad, ThreadPool* pool) {
  if (s.stride_height == 1 && s.stride_width == 1) {
    T* turned = ThreadScratchFor<T>(Scratch::kTurnedFilter, s.filter_size());
    TurnFilter(s, filter, turned);
    return Forward(TurnedShape(s), out_grad, turned, in_grad, ConvEpilogue<T>(), pool);
  }
  if constexpr (std::is_same_v<T, float>) {
    if (FoldedConvFits(s)) return FoldedInputGrad(s, filter, out_grad, in_grad, pool);
  }
  if (PhasedInputGradFits(s) && ManyImages(s, pool)) return PhasedInputGrad(s, filter, out_grad, in_grad, pool);
  const LineBlocks blocks = MakeBlocks<T>(s);
  const int64_t in_size = s.in_height * s.in_width * s.in_channels;
  const int64_t out_size = s.out_height * s.out_width * s.out_channels;
  ForRange(s.batch, BlockCost(s, s.out_height), pool, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      BackpropImage(s, filter, out_grad + i * out_size, in_grad + i * in_size, blocks);
    }
  });
}

template <typename T>
void AddFilterBlock(const ConvShape& s, const T* input, const T* out_grad, T* filter_grad, const Lines& lines,
                    bool accumulate) {
  const T* image = input + lines.image * s.in_height * s.in_width * s.in_channels;
  const T* grad = out_grad + (lines.image * s.out_height + lines.row) * s.out_width * s.out_channels;
  for (int64_t group = 0; group < s.groups; ++group) {
    const Columns<T> columns = MakeColumns(s, image, group, lines);
    GemmArgs<T> product;
    product.m = s.filter_height * s.filter_width * s.in_group(), product.n = s.out_group();
    product.k = lines.rows * s.out_width;
    product.a = columns.data, product.lda = columns.ld, product.trans_a = true;
    product.b = grad + group * s.out_group(), product.ldb = s.out_channels;
    product.c = filter_grad + group * s.out_group(), product.ldc = s.out_channels;
    product.accumulate = accumulate;
    Gemm(product, nullptr);
  }
}

// Every part sums a range of blocks into its own filter; then the parts are
// added up.
template <typename T>
void BackpropFilter(const ConvShape& s, const T* input, const T* out_grad, T* filter_grad, ThreadPool* pool) {
  if constexpr (std::is_same_v<T, float>) {
    if (WinogradFits(s)) return WinogradFilterGrad(s, input, out_grad, filter_grad, pool);
    if (FoldedConvFits(s)) return FoldedFilterGrad(s, input, out_grad, filter_grad, pool);
  }
  const bool implicit = ImplicitConvFits(s) && ManyImages(s, pool);
  LineBlocks blocks = MakeBlocks<T>(s);
  if (implicit) blocks = {s.out_height, 1, s.batch};
  const int64_t size = s.filter_size();
  if (blocks.total == 0) return static_cast<void>(std::fill_n(filter_grad, size, T(0)));
  const int64_t parts = std::min<int64_t>(pool == nullptr ? 1 : pool->parallelism(), blocks.total);
  T* partial = parts == 1 ? nullptr : ThreadScratchFor<T>(Scratch::kConvFilter, size * (parts - 1));
  const double cost = BlockCost(s, blocks.lines) * static_cast<double>(blocks.total) / static_cast<double>(parts);
  ForRange(parts, cost, pool, [&](int64_t begin, int64_t end) {
    for (int64_t part = begin; part < end; ++part) {
      T* sum = part == 0 ? filter_grad : partial + (part - 1) * size;
      const int64_t first = part * blocks.total / parts, last = (part + 1) * blocks.total / parts;
      if (implicit) {
        ImplicitFilterGrad(s, input, out_grad, first, last, sum);
        continue;
      }
      for (int64_t i = first; i < last; ++i) {
        AddFilterBlock(s, input, out_grad, sum, BlockLines(s, blocks, i), i > first);
      }
    }
  });
  for (int64_t part = 1; part < parts; ++part) {
    const T* from = partial + (part - 1) * size;
    for (int64_t i = 0; i < size; ++i) filter_grad[i] += from[i];
  }
}

}  // namespace

void Conv2D(const ConvShape& shape, const float* input, const float* filter, float* output,
            const ConvEpilogue<float>& epilogue, ThreadPool* pool) {
  Forward(shape, input, filter, output, epilogue, pool);
}
void Conv2D(const ConvShape& shape, const double* input, const double* filter, double* output,
            const ConvEpilogue<double>& epilogue, ThreadPool* pool) {
  Forward(shape, input, filter, output, epilogue, pool);
}

void Conv2DBackpropInput(const ConvShape& shape, const float* filter, const float* out_grad, float* in_grad,
                         ThreadPool* pool) {
  BackpropInput(shape, filter, out_grad, in_grad, pool);
}
void Conv2DBackpropInput(const ConvShape& shape, const double* filter, const double* out_grad, double* in_grad,
                         ThreadPool* pool) {
  BackpropInput(shape, filter, out_grad, in_grad, pool);
}

void Conv2DBackpropFilter(const ConvShape& shape, const float* input, const float* out_grad, float* filter_grad,
                          ThreadPool* pool) {
  BackpropFilter(shape, input, out_grad, filter_grad, pool);
}
void Conv2DBackpropFilter(const ConvShape& shape, const double* input, const double* out_grad, double* filter_grad,
                          ThreadPool* pool) {
  BackpropFilter(shape, input, out_grad, filter_grad, pool);
}

}  // namespace millstream::math
