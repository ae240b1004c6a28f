// SPDX-License-Identifier: Apache-2.0
#include "millstream/ops/nn/depthwise.h"

#include <algorithm>
#include <vector>

#include "absl/functional/function_ref.h"
#include "millstream/ops/nn/depthwise_lines.h"
#include "millstream/ops/nn/depthwise_vectors.h"

namespace millstream {
namespace {

using math::ConvShape;

void ForRange(ThreadPool* pool, int64_t n, double cost, absl::FunctionRef<void(int64_t, int64_t)> body) {
  if (pool == nullptr) return body(0, n);
  pool->ParallelFor(n, cost, body);
}

double LineCost(const ConvShape& s, int64_t width) {
  return 0.05 * static_cast<double>(width * s.out_channels) * static_cast<double>(s.filter_height * s.filter_width + 2);
}

int64_t Taps(const ConvShape& s) { return s.filter_height * s.filter_width; }

// How many lines lie between the first and the last one that a filter reads.
int64_t FilterSpan(const ConvShape& s) { return (s.filter_height - 1) * s.dilation_height + 1; }

// A column of the filter, and where it reads in a line for the first pixel of a segment.
struct ColumnTap {
  int64_t kx, offset;
};
// Neighbouring pixels for which the same columns read inside the line.
struct Segment {
  int64_t first, pixels;
  std::vector<ColumnTap> taps;
};
// The segments of one line, and how lines are read for them.
struct LinePlan {
  LineShape lines;
  int64_t x_step = 0;  // elements between what a tap reads for neighbouring pixels
  std::vector<Segment> segments;
};

// Where column `kx` reads for pixel 0, in pixels; `step` more for each further one.
struct Column {
  int64_t kx, at;
};

// Cuts `pixels` pixels at the places where a column begins or ends to read inside a line of `width` pixels.
std::vector<Segment> CutLine(const std::vector<Column>& columns, int64_t pixels, int64_t step, int64_t width,
                             int64_t channels) {
  const auto after = [&](int64_t at) {  // the first pixel that reads there or further on
    return std::clamp<int64_t>(at <= 0 ? 0 : (at + step - 1) / step, 0, pixels);
  };
  std::vector<int64_t> cuts = {0, pixels};
  for (const Column& c : columns) cuts.push_back(after(-c.at)), cuts.push_back(after(width - c.at));
  std::sort(cuts.begin(), cuts.end());
  std::vector<Segment> segments;
  for (size_t i = 1; i < cuts.size(); ++i) {
    Segment segment{cuts[i - 1], cuts[i] - cuts[i - 1], {}};
    if (segment.pixels == 0) continue;
    for (const Column& c : columns) {
      const int64_t at = c.at + segment.first * step;
      if (at >= 0 && at < width) segment.taps.push_back({c.kx, at * channels});
    }
    segments.push_back(std::move(segment));
  }
  return segments;
}

// Lines are copied where channels have to be repeated or vectors span several pixels, which must not read beyond them.
bool CopiesLines(const ConvShape& s, const TapLayout& layout) { return s.out_group() > 1 || layout.repeated(); }

// Channels [first, first + count) that are done at a time: with more, the lines that a filter reads would not stay in
// the first-level cache from one line of the result to the next.
struct ChannelBlock {
  int64_t first, count;
};

// Calls fn(block) for all channels; one block where lines are copied.
template <typename T, typename Fn>
void ForEachChannelBlock(const ConvShape& s, const TapLayout& layout, int64_t width, Fn fn) {
  constexpr int64_t kCacheBytes = 24 << 10, kLeast = 64;
  const int64_t channels = layout.channels;
  const int64_t fitting = kCacheBytes / (s.filter_height * width * static_cast<int64_t>(sizeof(T)));
  const int64_t count = CopiesLines(s, layout) ? channels : std::max(kLeast, fitting / kLeast * kLeast);
  for (int64_t first = 0; first < channels; first += count) {
    int64_t n = std::min(count, channels - first);
    if (channels - first - n < kLeast) n = channels - first;  // no block is narrower than vectors
    fn(ChannelBlock{first, n});
    if (first + n == channels) return;
  }
}

// How the output reads lines of the input.
LinePlan PlanInput(const ConvShape& s, const TapLayout& layout) {
  LinePlan plan;
  LineShape& lines = plan.lines;
  lines.width = lines.total = s.in_width, lines.channels = s.in_channels;
  if (!CopiesLines(s, layout)) {
    std::vector<Column> columns;
    for (int64_t kx = 0; kx < s.filter_width; ++kx) columns.push_back({kx, kx * s.dilation_width - s.pad_left});
    plan.segments = CutLine(columns, s.out_width, s.stride_width, s.in_width, s.in_channels);
    plan.x_step = s.stride_width * s.in_channels;
    return plan;
  }
  lines.multiplier = s.out_group(), lines.left = s.pad_left, lines.stride = s.stride_width;
  lines.total = (s.out_width - 1) * s.stride_width + (s.filter_width - 1) * s.dilation_width + 1;
  Segment all{0, s.out_width, {}};
  for (int64_t kx = 0; kx < s.filter_width; ++kx) all.taps.push_back({kx, lines.Offset(kx * s.dilation_width)});
  plan.segments.push_back(std::move(all));
  plan.x_step = s.out_channels;
  return plan;
}

// Calls fn(ky, line) for the rows of the filter that read inside the image for output line `line`, counted over all
// images.
template <typename Fn>
void ForEachRow(const ConvShape& s, int64_t line, Fn fn) {
  const int64_t image = line / s.out_height, top = line % s.out_height * s.stride_height - s.pad_top;
  for (int64_t ky = 0; ky < s.filter_height; ++ky) {
    const int64_t iy = top + ky * s.dilation_height;
    if (iy >= 0 && iy < s.in_height) fn(ky, image * s.in_height + iy);
  }
}
// The same for line `line` of the input, with the lines of the output that it is read for.
template <typename Fn>
void ForEachGradRow(const ConvShape& s, int64_t line, Fn fn) {
  const int64_t image = line / s.in_height, iy = line % s.in_height;
  for (int64_t ky = 0; ky < s.filter_height; ++ky) {
    const int64_t scaled = iy + s.pad_top - ky * s.dilation_height;
    if (scaled < 0 || scaled % s.stride_height != 0 || scaled / s.stride_height >= s.out_height) continue;
    fn(ky, image * s.out_height + scaled / s.stride_height);
  }
}

// The gradient of the input, of whose lines the pixels `phase`, phase + stride ... are made by the same columns.
struct GradPhase {
  int64_t phase, pixels;
  LinePlan plan;
};

// From left to right in the lines that they read, as SumTaps() likes it.
std::vector<Column> PhaseColumns(const ConvShape& s, int64_t phase) {
  std::vector<Column> columns;
  for (int64_t kx = s.filter_width - 1; kx >= 0; --kx) {
    const int64_t at = phase + s.pad_left - kx * s.dilation_width;
    if (at % s.stride_width == 0) columns.push_back({kx, at / s.stride_width});
  }
  return columns;
}

std::vector<GradPhase> PlanGradient(const ConvShape& s, const TapLayout& layout) {
  std::vector<GradPhase> phases;
  for (int64_t p = 0; p < std::min(s.stride_width, s.in_width); ++p) {
    GradPhase phase{p, (s.in_width - p + s.stride_width - 1) / s.stride_width, {}};
    const std::vector<Column> columns = PhaseColumns(s, p);
    LineShape& lines = phase.plan.lines;
    lines.width = lines.total = s.out_width, lines.channels = s.out_channels;
    phase.plan.x_step = s.out_channels;
    if (!CopiesLines(s, layout)) {
      phase.plan.segments = CutLine(columns, phase.pixels, 1, s.out_width, s.out_channels);
    } else {
      int64_t end = 1;
      for (const Column& c : columns)
        lines.left = std::max(lines.left, -c.at), end = std::max(end, c.at + phase.pixels);
      lines.total = lines.left + end;
      Segment all{0, phase.pixels, {}};
      for (const Column& c : columns) all.taps.push_back({c.kx, lines.Offset(lines.left + c.at)});
      phase.plan.segments.push_back(std::move(all));
    }
    phases.push_back(std::move(phase));
  }
  return phases;
}

template <typename T>
class InputGradient {
 public:
  InputGradient(const ConvShape& s, const T* filter, const T* out_grad, T* in_grad)
      : s_(s),
        layout_(s.out_channels),
        weights_(LayOutTaps(layout_, filter, Taps(s))),
        phases_(PlanGradient(s, layout_)),
        out_grad_(out_grad),
        in_grad_(in_grad) {}

  // Lines [begin, end) of the input, counted over all images.
  void Run(int64_t begin, int64_t end) const {
    ForEachChannelBlock<T>(s_, layout_, s_.out_width, [&](const ChannelBlock& block) {
      for (const GradPhase& phase : phases_) RunPhase(phase, block, begin, end);
    });
  }

 private:
  void RunPhase(const GradPhase& phase, const ChannelBlock& block, int64_t begin, int64_t end) const {
    const TapLayout layout = block.count == layout_.channels ? layout_ : layout_.Part(block.count);
    Lines<T> lines(phase.plan.lines, out_grad_, FilterSpan(s_));
    const bool copies = CopiesLines(s_, layout_);
    const int64_t step = s_.stride_width * s_.in_channels;
    std::vector<T> sums(copies ? static_cast<size_t>(phase.pixels * s_.out_channels) : 0);
    std::vector<Tap<T>> taps;
    for (int64_t line = begin; line < end; ++line) {
      T* to = in_grad_ + (line * s_.in_width + phase.phase) * s_.in_channels;
      for (const Segment& segment : phase.plan.segments) {
        taps.clear();
        ForEachGradRow(s_, line, [&](int64_t ky, int64_t from) {
          const T* x = lines.Get(from);
          for (const ColumnTap& t : segment.taps) {
            const T* weights = weights_.data() + (ky * s_.filter_width + t.kx) * layout_.row;
            taps.push_back({x + t.offset + block.first, weights + block.first});
          }
        });
        if (copies) {
          SumTaps(layout, taps, segment.pixels, phase.plan.x_step, s_.out_channels, sums.data());
        } else {
          SumTaps(layout, taps, segment.pixels, phase.plan.x_step, step, to + segment.first * step + block.first);
        }
      }
      if (copies) Spread(sums.data(), phase.pixels, to);
    }
  }

  // Adds up the outputs of each channel.
  void Spread(const T* sums, int64_t pixels, T* to) const {
    const int64_t m = s_.out_group();
    for (int64_t p = 0; p < pixels; ++p, to += s_.stride_width * s_.in_channels) {
      for (int64_t c = 0; c < s_.in_channels; ++c, sums += m) {
        T sum = sums[0];
        for (int64_t j = 1; j < m; ++j) sum += sums[j];
        to[c] = sum;
      }
    }
  }

  const ConvShape& s_;
  const TapLayout layout_;
  const std::vector<T> weights_;
  const std::vector<GradPhase> phases_;
  const T* const out_grad_;
  T* const in_grad_;
};

// Adds the sums of `taps` taps, each of which has as many as `block` and as weights lie, to `totals`.
template <typename T>
void AddBlockTotals(const TapLayout& layout, const ChannelBlock& block, const std::vector<T>& sums, int64_t taps,
                    double* totals) {
  if (layout.repeated()) return AddTaps(layout, sums.data(), taps, totals);
  for (int64_t t = 0; t < taps; ++t) {
    const T* from = sums.data() + t * block.count;
    double* to = totals + t * layout.channels + block.first;
    for (int64_t c = 0; c < block.count; ++c) to[c] += static_cast<double>(from[c]);
  }
}

// Adds what lines [begin, end) of the output's gradient give to the filter's gradient of some channels to `totals`. A
// few lines at a time are summed in T, these sums in double, for there may be very many.
template <typename T>
void AddFilterLines(const ConvShape& s, const T* input, const T* out_grad, const ChannelBlock& block, int64_t begin,
                    int64_t end, double* totals) {
  constexpr int64_t kPixels = 512;
  const int64_t together = std::max<int64_t>(1, kPixels / s.out_width);
  const TapLayout whole(s.out_channels);
  const TapLayout layout = whole.repeated() ? whole : whole.Part(block.count);
  const int64_t row = whole.repeated() ? whole.row : block.count;
  const LinePlan plan = PlanInput(s, whole);
  Lines<T> lines(plan.lines, input, FilterSpan(s));
  std::vector<T> sums(static_cast<size_t>(Taps(s) * row));
  std::vector<SummedTap<T>> taps;
  for (int64_t line = begin; line < end; ++line) {
    for (const Segment& segment : plan.segments) {
      taps.clear();
      ForEachRow(s, line, [&](int64_t ky, int64_t from) {
        const T* x = lines.Get(from) + block.first;
        for (const ColumnTap& t : segment.taps) {
          taps.push_back({x + t.offset, sums.data() + (ky * s.filter_width + t.kx) * row});
        }
      });
      AddTapProducts(layout, taps, segment.pixels, plan.x_step, s.out_channels,
                     out_grad + (line * s.out_width + segment.first) * s.out_channels + block.first);
    }
    if ((line - begin + 1) % together != 0 && line + 1 < end) continue;
    AddBlockTotals(whole, block, sums, Taps(s), totals);
    std::fill(sums.begin(), sums.end(), T(0));
  }
}

// Lines [begin, end) of the output, counted over all images, of some channels.
template <typename T>
void ForwardLines(const ConvShape& s, const TapLayout& layout, const LinePlan& plan, const ChannelBlock& block,
                  int64_t begin, int64_t end, const T* input, const T* weights, T* output) {
  const TapLayout part = block.count == layout.channels ? layout : layout.Part(block.count);
  Lines<T> lines(plan.lines, input, FilterSpan(s));
  std::vector<Tap<T>> taps;
  for (int64_t line = begin; line < end; ++line) {
    for (const Segment& segment : plan.segments) {
      taps.clear();
      ForEachRow(s, line, [&](int64_t ky, int64_t from) {
        const T* x = lines.Get(from);
        for (const ColumnTap& t : segment.taps) {
          const T* tap = weights + (ky * s.filter_width + t.kx) * layout.row;
          taps.push_back({x + t.offset + block.first, tap + block.first});
        }
      });
      SumTaps(part, taps, segment.pixels, plan.x_step, s.out_channels,
              output + (line * s.out_width + segment.first) * s.out_channels + block.first);
    }
  }
}

}  // namespace

template <typename T>
void DepthwiseForward(const ConvShape& s, const T* input, const T* filter, T* output, ThreadPool* pool) {
  const TapLayout layout(s.out_channels);
  const std::vector<T> weights = LayOutTaps(layout, filter, Taps(s));
  const LinePlan plan = PlanInput(s, layout);
  ForRange(pool, s.batch * s.out_height, LineCost(s, s.out_width), [&](int64_t begin, int64_t end) {
    ForEachChannelBlock<T>(s, layout, s.in_width, [&](const ChannelBlock& block) {
      ForwardLines(s, layout, plan, block, begin, end, input, weights.data(), output);
    });
  });
}

template <typename T>
void DepthwiseBackpropInput(const ConvShape& s, const T* filter, const T* out_grad, T* in_grad, ThreadPool* pool) {
  const InputGradient<T> gradient(s, filter, out_grad, in_grad);
  ForRange(pool, s.batch * s.in_height, LineCost(s, s.out_width),
           [&](int64_t begin, int64_t end) { gradient.Run(begin, end); });
}

// Chunks of lines have totals of their own, which are added up in order. Chunks depend on the shape alone, so that the
// result does not depend on the number of threads.
template <typename T>
void DepthwiseBackpropFilter(const ConvShape& s, const T* input, const T* out_grad, T* filter_grad, ThreadPool* pool) {
  constexpr int64_t kChunkElements = 1 << 15, kChunkPixels = 256, kMaxChunks = 32, kMaxTotals = 1 << 19;
  const int64_t lines = s.batch * s.out_height, size = s.filter_size();
  const int64_t pixels = lines * s.out_width;
  const int64_t wanted = std::min(pixels * s.out_channels / kChunkElements, pixels / kChunkPixels);
  const int64_t most = std::max<int64_t>(1, std::min({lines, kMaxChunks, kMaxTotals / std::max<int64_t>(size, 1)}));
  const int64_t chunks = std::clamp<int64_t>(wanted, 1, most);
  std::vector<double> totals(static_cast<size_t>(chunks * size));
  const double cost = LineCost(s, s.out_width) * static_cast<double>(lines) / static_cast<double>(chunks);
  ForRange(pool, chunks, cost, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      ForEachChannelBlock<T>(s, TapLayout(s.out_channels), s.in_width, [&](const ChannelBlock& block) {
        AddFilterLines(s, input, out_grad, block, i * lines / chunks, (i + 1) * lines / chunks, &totals[i * size]);
      });
    }
  });
  for (int64_t i = 0; i < size; ++i) {
    double sum = 0;
    for (int64_t chunk = 0; chunk < chunks; ++chunk) sum += totals[static_cast<size_t>(chunk * size + i)];
    filter_grad[i] = static_cast<T>(sum);
  }
}

#define MILLSTREAM_DEPTHWISE_INSTANCES(T)                                                            \
  template void DepthwiseForward(const math::ConvShape&, const T*, const T*, T*, ThreadPool*);       \
  template void DepthwiseBackpropInput(const math::ConvShape&, const T*, const T*, T*, ThreadPool*); \
  template void DepthwiseBackpropFilter(const math::ConvShape&, const T*, const T*, T*, ThreadPool*)
MILLSTREAM_DEPTHWISE_INSTANCES(float);
MILLSTREAM_DEPTHWISE_INSTANCES(double);

}  // namespace millstream
