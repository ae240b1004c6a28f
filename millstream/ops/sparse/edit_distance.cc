// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <complex>
#include <limits>

#include "millstream/framework/op.h"
#include "millstream/ops/elements/blob.h"
#include "millstream/ops/sparse/sparse_input.h"

namespace millstream {
namespace {

// The fewest insertions, deletions and replacements that turn one sequence into the other.
template <typename T>
int64_t Levenshtein(std::span<const T> a, std::span<const T> b) {
  std::vector<int64_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = static_cast<int64_t>(j);
  for (size_t i = 1; i <= a.size(); ++i) {
    int64_t diagonal = row[0];
    row[0] = static_cast<int64_t>(i);
    for (size_t j = 1; j <= b.size(); ++j) {
      const int64_t above = row[j];
      row[j] = std::min({above + 1, row[j - 1] + 1, diagonal + (a[i - 1] == b[j - 1] ? 0 : 1)});
      diagonal = above;
    }
  }
  return row[b.size()];
}

// The end of the sequence that begins at entry i: entries that differ in the last coordinate alone.
int64_t SequenceEnd(const SparseInput& s, int64_t i) {
  int64_t end = i + 1;
  while (end < s.size() && CompareIndices(s.at(i), s.at(end), s.rank() - 1) == 0) ++end;
  return end;
}

template <typename T>
class EditDistance : public Kernel {
 public:
  explicit EditDistance(KernelInit& init) : normalize_(init.Attr<bool>("normalize")) {}

  Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(const SparseInput a, ReadSparse(ctx, 0));
    ASSIGN_OR_RETURN(const SparseInput b, ReadSparse(ctx, 3));
    if (a.rank() != b.rank()) {
      return errors::InvalidArgument("Expected hypothesis_shape and truth_shape to have the same rank, got ", a.rank(),
                                     " and ", b.rank());
    }
    if (a.rank() < 2) {
      return errors::InvalidArgument("Input SparseTensors must have rank at least 2, but shape rank is ", a.rank());
    }
    const int outer = a.rank() - 1;
    Dims dims;
    for (int d = 0; d < outer; ++d) dims.push_back(std::max(a.shape[d], b.shape[d]));
    ASSIGN_OR_RETURN(const Shape shape, MakeShape(dims));
    RETURN_IF_ERROR(CheckRows(a, shape));
    RETURN_IF_ERROR(CheckRows(b, shape));
    ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, shape));
    std::fill_n(out->data<float>(), shape.num_elements(), 0.0f);
    for (int64_t i = 0, k = 0; i < a.size() || k < b.size();) {
      const int order = i == a.size() ? 1 : k == b.size() ? -1 : CompareIndices(a.at(i), b.at(k), outer);
      const int64_t i_end = order <= 0 ? SequenceEnd(a, i) : i, k_end = order >= 0 ? SequenceEnd(b, k) : k;
      const int64_t* at = order <= 0 ? a.at(i) : b.at(k);
      int64_t place = 0;
      for (int d = 0; d < outer; ++d) place = place * dims[d] + at[d];
      out->data<float>()[place] =
          Distance(a.values.flat<T>().subspan(i, i_end - i), b.values.flat<T>().subspan(k, k_end - k));
      i = i_end;
      k = k_end;
    }
    return OkStatus();
  }

 private:
  static Status CheckRows(const SparseInput& s, const Shape& shape) {
    for (int64_t i = 0; i < s.size(); ++i) {
      for (int d = 0; d < shape.rank(); ++d) {
        if (s.at(i)[d] < 0 || s.at(i)[d] >= shape.dim(d)) {
          return errors::InvalidArgument("indices[", i, "] is outside of the shape");
        }
      }
    }
    return OkStatus();
  }

  float Distance(std::span<const T> a, std::span<const T> truth) const {
    const auto distance = static_cast<float>(Levenshtein(a, truth));
    if (!normalize_) return distance;
    if (truth.empty()) return a.empty() ? 0 : std::numeric_limits<float>::infinity();
    return distance / static_cast<float>(truth.size());
  }

  const bool normalize_;
};

Status EditDistanceShape(ShapeContext& c) {
  for (const int i : {0, 3}) {
    int64_t n = 0, rank = 0;
    RETURN_IF_ERROR(SparseRank(c.input(i), c.input(i + 1), c.input(i + 2), &n, &rank));
  }
  ASSIGN_OR_RETURN(const PartialShape a, c.ConstantAsShape(2));
  ASSIGN_OR_RETURN(const PartialShape b, c.ConstantAsShape(5));
  if (c.constant(2) == nullptr || c.constant(5) == nullptr || a.rank() != b.rank() || a.rank() < 1) return OkStatus();
  std::vector<int64_t> dims;
  for (int d = 0; d < a.rank() - 1; ++d) dims.push_back(std::max(a.dim(d), b.dim(d)));
  c.set_output(0, PartialShape(std::move(dims)));
  return OkStatus();
}

OP("EditDistance")
    .Input("hypothesis_indices: int64")
    .Input("hypothesis_values: T")
    .Input("hypothesis_shape: int64")
    .Input("truth_indices: int64")
    .Input("truth_values: T")
    .Input("truth_shape: int64")
    .Output("output: float")
    .Attr("normalize: bool = true")
    .Attr("T: type")
    .Shape(EditDistanceShape)
    .NotDifferentiable()
    .Cpu<EditDistance>(Join<NumberAndBoolTypes, Types<std::string>>{})
    .Doc("Levenshtein distances of sequences, divided by the length of the true one if asked.");

}  // namespace
}  // namespace millstream
