// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "absl/strings/ascii.h"
#include "millstream/framework/op.h"

namespace millstream {
namespace {

using Pieces = std::vector<absl::string_view>;

// Each character of `delimiters` separates; without any, every byte is a piece. Pieces are appended.
void SplitAtAny(absl::string_view s, absl::string_view delimiters, bool skip_empty, Pieces* pieces) {
  if (delimiters.empty()) {
    for (size_t i = 0; i < s.size(); ++i) pieces->push_back(s.substr(i, 1));
    return;
  }
  for (size_t begin = 0; !s.empty() && begin <= s.size();) {
    const size_t found = delimiters.size() == 1 ? s.find(delimiters[0], begin) : s.find_first_of(delimiters, begin);
    const size_t end = std::min(found, s.size());
    if (!skip_empty || end > begin) pieces->push_back(s.substr(begin, end - begin));
    begin = end + 1;
  }
}

// As Python splits: at most `limit` times (negative: no limit); without a separator, at runs of white space.
void SplitLikePython(absl::string_view s, absl::string_view separator, int64_t limit, Pieces* pieces) {
  if (limit == 0) return pieces->push_back(s);
  const size_t before = pieces->size();
  const auto last = [&] { return limit > 0 && static_cast<int64_t>(pieces->size() - before) == limit; };
  if (separator.empty()) {
    s = absl::StripLeadingAsciiWhitespace(s);
    while (!s.empty()) {
      const auto space = std::find_if(s.begin(), s.end(), [](char c) { return absl::ascii_isspace(c); });
      const auto n = static_cast<size_t>(space - s.begin());
      pieces->push_back(s.substr(0, n));
      s = absl::StripLeadingAsciiWhitespace(s.substr(n));
      if (last()) return pieces->push_back(s);  // the rest, be it empty
    }
    return;
  }
  for (;;) {
    const size_t at = last() ? absl::string_view::npos : s.find(separator);
    pieces->push_back(s.substr(0, at));
    if (at == absl::string_view::npos) return;
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
  Pieces pieces;
  std::vector<size_t> ends;  // of the pieces of each string
  ends.reserve(static_cast<size_t>(in.num_elements()));
  size_t longest = 0;
  for (const std::string& s : in.flat<std::string>()) {
    const size_t before = pieces.size();
    split(s, separator.data<std::string>()[0], &pieces);
    ends.push_back(pieces.size());
    longest = std::max(longest, pieces.size() - before);
  }
  const auto total = static_cast<int64_t>(pieces.size());
  ASSIGN_OR_RETURN(Tensor * indices, ctx.AllocateOutput(0, Shape({total, 2})));
  ASSIGN_OR_RETURN(Tensor * values, ctx.AllocateOutput(1, Shape({total})));
  ASSIGN_OR_RETURN(Tensor * shape, ctx.AllocateOutput(2, Shape({2})));
  shape->data<int64_t>()[0] = in.num_elements();
  shape->data<int64_t>()[1] = static_cast<int64_t>(longest);
  int64_t* index = indices->data<int64_t>();
  std::string* value = values->data<std::string>();
  size_t at = 0;
  for (size_t row = 0; row < ends.size(); ++row) {
    for (const size_t begin = at; at < ends[row]; ++at) {
      *index++ = static_cast<int64_t>(row);
      *index++ = static_cast<int64_t>(at - begin);
      value[at].assign(pieces[at].data(), pieces[at].size());
    }
  }
  return OkStatus();
}

class StringSplit : public Kernel {
 public:
  explicit StringSplit(KernelInit& init) : skip_empty_(init.Attr<bool>("skip_empty")) {}
  Status Compute(KernelContext& ctx) override {
    return SplitAll(ctx, "delimiter", [this](absl::string_view s, absl::string_view delimiters, Pieces* pieces) {
      SplitAtAny(s, delimiters, skip_empty_, pieces);
    });
  }

 private:
  const bool skip_empty_;
};

class StringSplitV2 : public Kernel {
 public:
  explicit StringSplitV2(KernelInit& init) : limit_(init.Attr<int64_t>("maxsplit")) {}
  Status Compute(KernelContext& ctx) override {
    return SplitAll(ctx, "sep", [this](absl::string_view s, absl::string_view separator, Pieces* pieces) {
      SplitLikePython(s, separator, limit_, pieces);
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
