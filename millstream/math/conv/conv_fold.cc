// SPDX-License-Identifier: Apache-2.0
#include "millstream/math/conv/conv_fold.h"

#include <algorithm>

#include "millstream/math/conv/conv_turned.h"
#include "millstream/math/conv/conv_winograd.h"
#include "millstream/math/conv/folded_image.h"
#include "millstream/math/gemm/gemm_scratch.h"

namespace millstream::math {
namespace {

constexpr int64_t kTaps = 3;  // along a side of the folded filter

FoldedImage FoldedInput(const ConvShape& s) {
  return {s.in_height, s.in_width, s.in_channels, s.pad_top & 1, s.pad_left & 1};
}

ConvShape FoldedShape(const ConvShape& s) {
  const FoldedImage image = FoldedInput(s);
  ConvShape f = s;
  f.in_height = (s.in_height + image.top + 1) / 2, f.in_width = (s.in_width + image.left + 1) / 2;
  f.in_channels = image.block_channels();
  f.filter_height = f.filter_width = kTaps;
  f.stride_height = f.stride_width = 1;
  f.pad_top = s.pad_top >> 1, f.pad_left = s.pad_left >> 1;
  return f;
}

// Calls fn(tap, place) for each tap of the filter, with its place among the in_channels x out_channels matrices of the
// folded one; those that no tap has are given to `none`.
template <typename Fn, typename None>
void ForEachTap(const ConvShape& s, Fn fn, None none) {
  for (int64_t place = 0; place < 4 * kTaps * kTaps; ++place) {
    const int64_t block = place / 4, within = place % 4;
    const int64_t y = block / kTaps * 2 + within / 2, x = block % kTaps * 2 + within % 2;
    if (y < s.filter_height && x < s.filter_width) {
      fn(y * s.filter_width + x, place);
    } else {
      none(place);
    }
  }
}

// The folded filter, on scratch of this thread.
float* FoldFilter(const ConvShape& s, const float* filter) {
  const int64_t size = s.in_channels * s.out_channels;
  float* folded = ThreadScratchFor<float>(Scratch::kFoldedFilter, 4 * kTaps * kTaps * size);
  ForEachTap(
      s, [&](int64_t tap, int64_t place) { std::copy_n(filter + tap * size, size, folded + place * size); },
      [&](int64_t place) { std::fill_n(folded + place * size, size, 0.0f); });
  return folded;
}

// Whether the products that are saved outweigh the transform of the filter, which takes as long as some 3,200 products
// for each of its pairs of channels, and whether its memory is not out of proportion.
bool Pays(const ConvShape& s) {
  constexpr int64_t kTile = 4, kPositions = 36, kMaxPairs = 1 << 16;
  const auto tiles = [](int64_t size) { return (size + kTile - 1) / kTile; };
  const int64_t direct = s.batch * s.out_height * s.out_width * s.filter_height * s.filter_width;
  const int64_t folded = s.batch * tiles(s.out_height) * tiles(s.out_width) * 4 * kPositions;
  return direct > folded + 3200 && s.in_channels * s.out_channels <= kMaxPairs;
}

}  // namespace

bool FoldedConvFits(const ConvShape& s) {
  const bool halves = s.stride_height == 2 && s.stride_width == 2 && s.dilation_height == 1 && s.dilation_width == 1;
  const auto fits = [](int64_t filter) { return filter == 2 * kTaps - 1 || filter == 2 * kTaps; };
  return halves && fits(s.filter_height) && fits(s.filter_width) && s.in_channels >= 16 && s.in_height >= 2 &&
         s.in_width >= 2 && Pays(s) && WinogradFits(FoldedShape(s)) && WinogradFits(TurnedShape(FoldedShape(s)));
}

void FoldedConv(const ConvShape& s, const float* input, const float* filter, float* output,
                const ConvEpilogue<float>& epilogue, ThreadPool* pool) {
  const FoldedImage image = FoldedInput(s);
  WinogradConv(FoldedShape(s), input, FoldFilter(s, filter), output, epilogue, pool, {&image, nullptr});
}

void FoldedInputGrad(const ConvShape& s, const float* filter, const float* out_grad, float* in_grad, ThreadPool* pool) {
  const FoldedImage image = FoldedInput(s);
  const ConvShape folded = FoldedShape(s);
  float* turned = ThreadScratchFor<float>(Scratch::kTurnedFilter, folded.filter_size());
  TurnFilter(folded, FoldFilter(s, filter), turned);
  WinogradConv(TurnedShape(folded), out_grad, turned, in_grad, ConvEpilogue<float>(), pool, {nullptr, &image});
}

void FoldedFilterGrad(const ConvShape& s, const float* input, const float* out_grad, float* filter_grad,
                      ThreadPool* pool) {
  const FoldedImage image = FoldedInput(s);
  const ConvShape folded = FoldedShape(s);
  float* grad = ThreadScratchFor<float>(Scratch::kFoldedFilter, folded.filter_size());
  WinogradFilterGrad(folded, input, out_grad, grad, pool, {&image, nullptr});
  const int64_t size = s.in_channels * s.out_channels;
  ForEachTap(
      s, [&](int64_t tap, int64_t place) { std::copy_n(grad + place * size, size, filter_grad + tap * size); },
      [](int64_t) {});
}

}  // namespace millstream::math
