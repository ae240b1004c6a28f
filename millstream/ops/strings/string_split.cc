// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "absl/strings/ascii.h"
#include "millstream/framework/op.h"

namespace millstream {
namespace {

using Pieces = std::vector<absl::string_view>;

// Each character of `delimiters` separates; without any, every byte is a piece.
Pieces SplitAtAny(absl::string_view s, absl::string_view delimiters, bool skip_empty) {
  Pieces pieces;
  if (delimiters.empty()) {
    for (size_t i = 0; i < s.size(); ++i) pieces.push_back(s.substr(i, 1));
    return pieces;
  }
  for (size_t begin = 0; !s.empty() && begin <= s.size();) {
    const size_t end = std::min(s.find_first_of(delimiters, begin), s.size());
    if (!skip_empty || end > begin) pieces.push_back(s.substr(begin, end - begin));
    begin = end + 1;
  }
  return pieces;
}

// As Python splits: at most `limit` times (negative: no limit); without a separator, at runs of white space.
Pieces SplitLikePython(absl::string_view s, absl::string_view separator, int64_t limit) {
  if (limit == 0) return {s};
  Pieces pieces;
  const auto last = [&] { return limit > 0 && static_cast<int64_t>(pieces.size()) == limit; };
  if (separator.empty()) {
    s = absl::StripLeadingAsciiWhitespace(s);
    while (!s.empty()) {
      const auto space = std::find_if(s.begin(), s.end(), [](char c) { return absl::ascii_isspace(c); });
      const auto n = static_cast<size_t>(space - s.begin());
      pieces.push_back(s.substr(0, n));
      s = absl::StripLeadingAsciiWhitespace(s.substr(n));
      if (last()) {
        pieces.push_back(s);  // the rest, be it empty
        break;
      }
    }
    return pieces;
  }
  for (;;) {
    const size_t at = last() ? absl::string_view::npos : s.find(separator);
    pieces.push_back(s.substr(0, at));
    if (at == absl::string_view::npos) return pieces;
    s.remove_prefix(at + separator.size());
  }
}

// The pieces of each string as a sparse matrix, a row for each.
template <typename Split>
Status SplitAll(KernelContext& ctx, const char* what, Split split) {
  const Tensor &in = ctx.input(0), &separator = ctx.input(1);
  if (in.rank() != 1) {
    return errors::InvalidArgument("input must be a vector, got shape: ", in.shape().ToString());
  }
  if (separator.rank() != 0) {
    return errors::InvalidArgument(what, " must be a scalar, got shape: ", separator.shape().ToString());
  }
  std::vector<Pieces> rows;
  int64_t total = 0, longest = 0;
  for (const std::string& s : in.flat<std::string>()) {
    rows.push_back(split(s, separator.data<std::string>()[0]));
    total += static_cast<int64_t>(rows.back().size());
    longest = std::max(longest, static_cast<int64_t>(rows.back().size()));
  }
  ASSIGN_OR_RETURN(Tensor * indices, ctx.AllocateOutput(0, Shape({total, 2})));
  ASSIGN_OR_RETURN(Tensor * values, ctx.AllocateOutput(1, Shape({total})));
  ASSIGN_OR_RETURN(Tensor * shape, ctx.AllocateOutput(2, Shape({2})));
  shape->data<int64_t>()[0] = in.num_elements();
  shape->data<int64_t>()[1] = longest;
  int64_t* index = indices->data<int64_t>();
  std::string* value = values->data<std::string>();
  for (size_t i = 0; i < rows.size(); ++i) {
    for (size_t j = 0; j < rows[i].size(); ++j) {
      *index++ = static_cast<int64_t>(i);
      *index++ = static_cast<int64_t>(j);
      *value++ = std::string(rows[i][j]);
    }
  }
  return OkStatus();
}

class StringSplit : public Kernel {
 public:
  explicit StringSplit(KernelInit& init) : skip_empty_(init.Attr<bool>("skip_empty")) {}
  Status Compute(KernelContext& ctx) override {
    return SplitAll(ctx, "delimiter", [this](absl::string_view s, absl::string_view delimiters) {
      return SplitAtAny(s, delimiters, skip_empty_);
    });
  }

 private:
  const bool skip_empty_;
};

class StringSplitV2 : public Kernel {
 public:
  explicit StringSplitV2(KernelInit& init) : limit_(init.Attr<int64_t>("maxsplit")) {}
  Status Compute(KernelContext& ctx) override {
    return SplitAll(ctx, "sep", [this](absl::string_view s, absl::string_view separator) {
      return SplitLikePython(s, separator, limit_);
    });
  }

 private:
  const int64_t limit_;
};

Status SplitShape(ShapeContext& c) {
  PartialShape unused;
  RETURN_IF_ERROR(ShapeContext::WithRank(c.input(0), 1, &unused));
  RETURN_IF_ERROR(ShapeContext::WithRank(c.input(1), 0, &unused));
  c.set_output(0, PartialShape({-1, 2}));
  c.set_output(1, PartialShape({-1}));
  c.set_output(2, PartialShape({2}));
  return OkStatus();
}

OP("StringSplit")
    .Input("input: string")
    .Input("delimiter: string")
    .Output("indices: int64")
    .Output("values: string")
    .Output("shape: int64")
    .Attr("skip_empty: bool = true")
    .Shape(SplitShape)
    .NotDifferentiable()
    .Cpu<StringSplit>()
    .Doc("Splits strings at any of the given bytes, into a sparse matrix of pieces.");

OP("StringSplitV2")
    .Input("input: string")
    .Input("sep: string")
    .Output("indices: int64")
    .Output("values: string")
    .Output("shape: int64")
    .Attr("maxsplit: int = -1")
    .Shape(SplitShape)
    .Cpu<StringSplitV2>()
    .Doc("Splits strings as Python does, into a sparse matrix of pieces.");

}  // namespace
}  // namespace millstream
