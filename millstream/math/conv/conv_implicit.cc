// SPDX-License-Identifier: Apache-2.0
#include "millstream/math/conv/conv_implicit.h"

#include <algorithm>

#include "millstream/math/gemm/gemm_kernels.h"
#include "millstream/math/gemm/gemm_pack.h"
#include "millstream/math/gemm/gemm_scratch.h"

namespace millstream::math {
namespace {

constexpr double kFlopsPerNs = 80;

int64_t CeilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }

// An image whose lines are readable for every tap of every output pixel.
template <typename T>
struct WideImage {
  const T* data;
  int64_t pitch;  // elements from line to line
};

// Elements of a line from the first tap of the first output pixel to the last
// tap of the last one.
int64_t LinePixels(const ConvShape& s) { return (s.out_width - 1) * s.stride_width + s.filter_width; }

template <typename T>
WideImage<T> Widen(const ConvShape& s, const T* image) {
  const int64_t channels = s.in_channels, pixels = LinePixels(s);
  if (s.pad_left <= 0 && pixels - s.pad_left <= s.in_width)
    return {image - s.pad_left * channels, s.in_width * channels};
  const int64_t skip = std::max<int64_t>(-s.pad_left, 0), left = std::min(std::max<int64_t>(s.pad_left, 0), pixels);
  const int64_t used = std::clamp<int64_t>(s.in_width - skip, 0, pixels - left), pitch = pixels * channels;
  T* wide = ThreadScratchFor<T>(Scratch::kConvData, s.in_height * pitch);
  for (int64_t y = 0; y < s.in_height; ++y) {
    T* line = wide + y * pitch;
    std::fill_n(line, left * channels, T(0));
    std::copy_n(image + (y * s.in_width + skip) * channels, used * channels, line + left * channels);
    std::fill_n(line + (left + used) * channels, (pixels - left - used) * channels, T(0));
  }
  return {wide, pitch};
}

// Filter lines [first, last) that meet the input for output line `oy`.
struct FilterLines {
  int64_t first, last;
};

FilterLines LinesInside(const ConvShape& s, int64_t oy) {
  const int64_t top = oy * s.stride_height - s.pad_top, d = s.dilation_height;
  const int64_t first = top >= 0 ? 0 : std::min(s.filter_height, CeilDiv(-top, d));
  const int64_t last = top >= s.in_height ? first : std::min(s.filter_height, CeilDiv(s.in_height - top, d));
  return {first, std::max(first, last)};
}

// Columns of the product (output channels), cut into panels of one, two or four
// vectors.
template <typename T>
struct Panels {
  const GemmKernels<T>& kernels;
  int vectors;  // of a full panel

  explicit Panels(int64_t rows) : kernels(CurrentKernels<T>()), vectors(rows <= kernels.max_rows[4] ? 4 : 2) {}
  int64_t Width(int64_t columns) const {
    const int64_t needed = CeilDiv(columns, kernels.width);
    return (needed >= vectors ? vectors : needed >= 2 ? 2 : 1) * kernels.width;
  }
  int64_t Padded(int64_t columns) const { return CeilDiv(columns, kernels.width) * kernels.width; }
  typename GemmKernels<T>::Tile Tile(int64_t width, int64_t rows) const {
    return kernels.tile[width / kernels.width][rows];
  }
};

// The filter with each panel of output channels in consecutive memory, padded
// with zeros.
template <typename T>
void PackFilter(const Panels<T>& panels, const T* matrix, int64_t depth, int64_t columns, T* packed) {
  for (int64_t j = 0; j < columns;) {
    const int64_t width = panels.Width(columns - j);
    CopyPanel(matrix + j, columns, depth, std::min(width, columns - j), packed + j * depth, width, width);
    j += width;
  }
}

template <typename T>
struct ForwardArgs {
  const T* packed;  // filter
  T* output;        // of this image
  OutputSteps steps;
  const ConvEpilogue<T>& epilogue;
};

// All output lines of one image for the panel of channels [j, j + width).
template <typename T>
void ForwardPanel(const ConvShape& s, const Panels<T>& panels, const WideImage<T>& image, const ForwardArgs<T>& args,
                  int64_t j, int64_t width) {
  const int64_t run = s.filter_width * s.in_channels, depth = s.filter_height * run;
  const Epilogue<T> e{T(1), false, args.epilogue.bias == nullptr ? nullptr : args.epilogue.bias + j,
                      args.epilogue.activation};
  TileArgs<T> tile;
  tile.k = run, tile.a_row = s.stride_width * s.in_channels, tile.a_col = 1, tile.ldb = width;
  tile.a_line = s.dilation_height * image.pitch, tile.b_line = run * width;
  tile.cols = static_cast<int>(std::min(width, s.out_channels - j)), tile.ldc = args.steps.pixel, tile.epilogue = &e;
  const int64_t tiles = CeilDiv(s.out_width, panels.kernels.max_rows[panels.vectors]);
  for (int64_t oy = 0; oy < s.out_height; ++oy) {
    const FilterLines lines = LinesInside(s, oy);
    const int64_t y = oy * s.stride_height - s.pad_top + lines.first * s.dilation_height;
    tile.lines = lines.last - lines.first;
    tile.b = args.packed + j * depth + lines.first * tile.b_line;
    for (int64_t t = 0; t < tiles; ++t) {
      const int64_t x = t * s.out_width / tiles, end = (t + 1) * s.out_width / tiles;
      tile.a = image.data + (tile.lines > 0 ? y * image.pitch : 0) + x * tile.a_row;
      tile.c = args.output + oy * args.steps.line + x * args.steps.pixel + j;
      panels.Tile(width, end - x)(tile);
    }
  }
}

// The gradient rows [row, row + rows) of filter line `fy` (of its filter_width
// * in_channels), all output channels.
template <typename T>
void FilterRows(const ConvShape& s, const Panels<T>& panels, const WideImage<T>& image, const T* grad, int64_t grad_ld,
                int64_t fy, int64_t row, int64_t rows, T* filter_grad, bool accumulate) {
  const Epilogue<T> e{T(1), accumulate, nullptr, Activation::kNone};
  int64_t first = 0,
          last = s.out_height;  // output lines whose input line for fy exists
  const auto input_line = [&](int64_t oy) { return oy * s.stride_height - s.pad_top + fy * s.dilation_height; };
  while (first < last && input_line(first) < 0) ++first;
  while (last > first && input_line(last - 1) >= s.in_height) --last;
  TileArgs<T> tile;
  tile.k = s.out_width, tile.a_row = 1, tile.a_col = s.stride_width * s.in_channels;
  tile.lines = last - first;
  tile.a = image.data + (tile.lines > 0 ? input_line(first) * image.pitch : 0) + row;
  tile.a_line = s.stride_height * image.pitch;
  tile.ldc = s.out_channels, tile.epilogue = &e;
  T* c = filter_grad + (fy * s.filter_width * s.in_channels + row) * s.out_channels;
  for (int64_t j = 0; j < s.out_channels;) {
    const int64_t width = panels.Width(s.out_channels - j);
    tile.cols = static_cast<int>(std::min(width, s.out_channels - j));
    tile.ldb = grad_ld, tile.b_line = s.out_width * grad_ld;
    tile.b = grad + first * tile.b_line + j;
    tile.c = c + j;
    panels.Tile(width, rows)(tile);
    j += width;
  }
}

}  // namespace

bool ImplicitConvFits(const ConvShape& s) {
  return s.groups == 1 && s.dilation_width == 1 && s.out_width >= 6 && s.out_channels >= 8 &&
         s.filter_width * s.in_channels >= 3;
}

OutputSteps DenseOutput(const ConvShape& s) {
  return {s.out_channels, s.out_width * s.out_channels, s.out_height * s.out_width * s.out_channels};
}

template <typename T>
void ImplicitConv(const ConvShape& s, const T* input, const T* filter, T* output, const OutputSteps& steps,
                  const ConvEpilogue<T>& epilogue, ThreadPool* pool) {
  const Panels<T> panels(s.out_width);
  const int64_t depth = s.filter_height * s.filter_width * s.in_channels;
  T* packed = ThreadScratchFor<T>(Scratch::kPackB, depth * panels.Padded(s.out_channels));
  PackFilter(panels, filter, depth, s.out_channels, packed);
  const int64_t in_size = s.in_height * s.in_width * s.in_channels;
  const int64_t out_size = s.out_height * s.out_width * s.out_channels;
  const auto images = [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const WideImage<T> image = Widen(s, input + i * in_size);
      const ForwardArgs<T> args{packed, output + i * steps.image, steps, epilogue};
      for (int64_t j = 0; j < s.out_channels;) {
        const int64_t width = panels.Width(s.out_channels - j);
        ForwardPanel(s, panels, image, args, j, width);
        j += width;
      }
    }
  };
  if (pool == nullptr) return images(0, s.batch);
  pool->ParallelFor(s.batch, 2.0 * static_cast<double>(out_size) * static_cast<double>(depth) / kFlopsPerNs, images);
}

template <typename T>
void ImplicitFilterGrad(const ConvShape& s, const T* input, const T* out_grad, int64_t first, int64_t last,
                        T* filter_grad) {
  const int64_t run = s.filter_width * s.in_channels;
  const Panels<T> panels(run);
  const int64_t in_size = s.in_height * s.in_width * s.in_channels, pixels = s.out_height * s.out_width;
  const int64_t padded = panels.Padded(s.out_channels);
  T* wide_grad = padded == s.out_channels ? nullptr : ThreadScratchFor<T>(Scratch::kConvProduct, pixels * padded);
  const int64_t tiles = CeilDiv(run, panels.kernels.max_rows[panels.vectors]);
  for (int64_t i = first; i < last; ++i) {
    const WideImage<T> image = Widen(s, input + i * in_size);
    const T* grad = out_grad + i * pixels * s.out_channels;
    if (wide_grad != nullptr) {
      CopyPanel(grad, s.out_channels, pixels, s.out_channels, wide_grad, padded, padded);
      grad = wide_grad;
    }
    for (int64_t fy = 0; fy < s.filter_height; ++fy) {
      for (int64_t t = 0; t < tiles; ++t) {
        const int64_t row = t * run / tiles, rows = (t + 1) * run / tiles - row;
        FilterRows(s, panels, image, grad, padded, fy, row, rows, filter_grad, i > first);
      }
    }
  }
}

template void ImplicitConv(const ConvShape&, const float*, const float*, float*, const OutputSteps&,
                           const ConvEpilogue<float>&, ThreadPool*);
template void ImplicitConv(const ConvShape&, const double*, const double*, double*, const OutputSteps&,
                           const ConvEpilogue<double>&, ThreadPool*);
template void ImplicitFilterGrad(const ConvShape&, const float*, const float*, int64_t, int64_t, float*);
template void ImplicitFilterGrad(const ConvShape&, const double*, const double*, int64_t, int64_t, double*);

}  // namespace millstream::math
