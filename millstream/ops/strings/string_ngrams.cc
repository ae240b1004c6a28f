// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <limits>

#include "millstream/framework/op.h"
#include "millstream/ops/elements/axes.h"
#include "millstream/tensor/dispatch.h"

namespace millstream {
namespace {

// N-grams of the rows of a ragged tensor of tokens, which may be padded at both ends.
class StringNGrams : public Kernel {
 public:
  explicit StringNGrams(KernelInit& init)
      : separator_(init.Attr<std::string>("separator")),
        left_(init.Attr<std::string>("left_pad")),
        right_(init.Attr<std::string>("right_pad")),
        widths_(init.Attr<std::vector<int64_t>>("ngram_widths")),
        pad_(init.Attr<int64_t>("pad_width")),
        keep_short_(init.Attr<bool>("preserve_short_sequences")) {}

  Status Compute(KernelContext& ctx) override {
    for (const int64_t width : widths_) {
      if (width <= 0) return errors::InvalidArgument("ngram_widths must contain positive values");
    }
    const auto tokens = ctx.input(0).flat<std::string>();
    Dims splits;
    RETURN_IF_ERROR(ReadInts(ctx.input(1), &splits));
    RETURN_IF_ERROR(CheckSplits(splits, static_cast<int64_t>(tokens.size())));
    std::vector<std::string> ngrams;
    Dims out_splits(splits.size(), 0);
    for (size_t i = 1; i < splits.size() && !tokens.empty(); ++i) {
      const auto row = tokens.subspan(splits[i - 1], splits[i] - splits[i - 1]);
      RETURN_IF_ERROR(AddRow(row, &ngrams));
      out_splits[i] = static_cast<int64_t>(ngrams.size());
    }
    ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, Shape({static_cast<int64_t>(ngrams.size())})));
    std::move(ngrams.begin(), ngrams.end(), out->data<std::string>());
    ASSIGN_OR_RETURN(Tensor * rows, ctx.AllocateOutput(1, ctx.input(1).shape()));
    DispatchOver(IndexTypes{}, rows->dtype(), [&](auto type) {
      std::copy(out_splits.begin(), out_splits.end(), rows->data<typename decltype(type)::type>());
    });
    return OkStatus();
  }

 private:
  using Tokens = std::span<const std::string>;

  static Status CheckSplits(const Dims& splits, int64_t n) {
    if (splits.empty()) return OkStatus();
    if (splits[0] != 0) return errors::InvalidArgument("First split value must be 0, got ", splits[0]);
    for (size_t i = 1; i < splits.size(); ++i) {
      if (splits[i] < splits[i - 1] || splits[i] > n) {
        return errors::InvalidArgument("Invalid split value ", splits[i], ", must be in [", splits[i - 1], ", ", n,
                                       "]");
      }
    }
    if (splits.back() == n) return OkStatus();
    return errors::InvalidArgument("Last split value must be data size. Expected ", n, ", got ", splits.back());
  }

  int64_t PadOf(int64_t width) const { return std::min(pad_ < 0 ? width - 1 : pad_, width - 1); }

  Status AddRow(Tokens row, std::vector<std::string>* ngrams) const {
    const auto n = static_cast<int64_t>(row.size());
    const size_t before = ngrams->size();
    for (const int64_t width : widths_) {
      const int64_t pad = PadOf(width);
      if (pad > std::numeric_limits<int32_t>::max() / 2 - n) {
        return errors::InvalidArgument("Pad width could lead to integer overflow, got pad_width = ", pad);
      }
      for (int64_t first = -pad; first + width <= n + pad; ++first) ngrams->push_back(Join(row, first, width));
    }
    if (!keep_short_ || ngrams->size() != before || n == 0) return OkStatus();
    if (pad_ < 0) {
      return errors::InvalidArgument(
          "Pad width should be >= 0 when preserve_short_sequences is True and ngram_widths "
          "are not provided, got ",
          pad_);
    }
    if (pad_ > std::numeric_limits<int32_t>::max() / 2 - n) return errors::InvalidArgument("Pad width is too large");
    const int64_t width = n + 2 * pad_, pad = PadOf(width);
    ngrams->push_back(Join(row, -pad, n + 2 * pad));
    return OkStatus();
  }

  // Tokens [first, first + width) of the row, what lies outside being padding.
  std::string Join(Tokens row, int64_t first, int64_t width) const {
    std::string text;
    for (int64_t i = first; i < first + width; ++i) {
      if (i > first) text += separator_;
      text += i < 0 ? left_ : i < static_cast<int64_t>(row.size()) ? row[i] : right_;
    }
    return text;
  }

  const std::string separator_, left_, right_;
  const std::vector<int64_t> widths_;
  const int64_t pad_;
  const bool keep_short_;
};

Status StringNGramsShape(ShapeContext& c) {
  PartialShape tokens, splits;
  RETURN_IF_ERROR(ShapeContext::WithRank(c.input(0), 1, &tokens));
  RETURN_IF_ERROR(ShapeContext::WithRank(c.input(1), 1, &splits));
  c.set_output(0, PartialShape({-1}));
  c.set_output(1, c.input(1));
  return OkStatus();
}

OP("StringNGrams")
    .Input("data: string")
    .Input("data_splits: Tsplits")
    .Output("ngrams: string")
    .Output("ngrams_splits: Tsplits")
    .Attr("separator: string")
    .Attr("ngram_widths: list(int) >= 0")
    .Attr("left_pad: string")
    .Attr("right_pad: string")
    .Attr("pad_width: int")
    .Attr("preserve_short_sequences: bool")
    .Attr("Tsplits: {int32, int64} = DT_INT64")
    .Shape(StringNGramsShape)
    .Cpu<StringNGrams>()
    .Doc("Runs of neighbouring tokens of each row, joined.");

}  // namespace
}  // namespace millstream
