// SPDX-License-Identifier: Apache-2.0
#include "millstream/tensor/shape.h"

#include <algorithm>
#include <cstring>

#include "absl/strings/str_join.h"
#include "millstream/base/logging.h"

namespace millstream {
namespace {

// False on overflow. Zero sizes do not hide an overflow of the others, as in TensorFlow.
bool CheckedProduct(std::span<const int64_t> dims, int64_t* product) {
  int64_t nonzero = 1;
  bool zero = false;
  for (const int64_t d : dims) {
    if (d == 0)
      zero = true;
    else if (__builtin_mul_overflow(nonzero, d, &nonzero))
      return false;
  }
  *product = zero ? 0 : nonzero;
  return true;
}

Status CheckRank(size_t rank) {
  if (rank <= kMaxRank) return OkStatus();
  return errors::InvalidArgument("Shape has ", rank, " dimensions, at most ", kMaxRank, " are supported");
}

}  // namespace

Shape::Shape(std::span<const int64_t> dims) {
  int64_t n = 0;
  MS_CHECK(dims.size() <= kMaxRank && CheckedProduct(dims, &n));
  Assign(dims, n);
}

Shape& Shape::AssignSlow(const Shape& o) {
  if (this == &o) return *this;
  if (rank() > kInline) delete[] storage_.on_heap;
  Assign(o.dims(), o.num_elements());
  return *this;
}

void Shape::Assign(std::span<const int64_t> dims, int64_t num_elements) {
  storage_.rank = static_cast<uint8_t>(dims.size());
  if (rank() > kInline) storage_.on_heap = new int64_t[dims.size()];
  std::copy(dims.begin(), dims.end(), data());
  storage_.num_elements = num_elements;
}

StatusOr<Shape> Shape::Make(std::span<const int64_t> dims) {
  RETURN_IF_ERROR(CheckRank(dims.size()));
  for (const int64_t d : dims) {
    if (d < 0)
      return errors::InvalidArgument("Dimension ", d, " must be >= 0 in shape [", absl::StrJoin(dims, ","), "]");
  }
  int64_t n = 0;
  if (!CheckedProduct(dims, &n)) {
    return errors::InvalidArgument("Encountered overflow when multiplying the sizes of shape [",
                                   absl::StrJoin(dims, ","), "]");
  }
  Shape shape;
  shape.Assign(dims, n);
  return shape;
}

void Shape::Recount() { MS_CHECK(CheckedProduct(dims(), &storage_.num_elements)); }

void Shape::set_dim(int i, int64_t size) {
  data()[i] = size;
  Recount();
}

void Shape::AddDim(int64_t size) { InsertDim(rank(), size); }

void Shape::InsertDim(int at, int64_t size) {
  std::vector<int64_t> dims(data(), data() + rank());
  dims.insert(dims.begin() + at, size);
  *this = Shape(dims);
}

void Shape::RemoveDim(int at) {
  std::vector<int64_t> dims(data(), data() + rank());
  dims.erase(dims.begin() + at);
  *this = Shape(dims);
}

int64_t Shape::Product(int begin, int end) const {
  int64_t n = 1;
  for (int i = begin; i < end; ++i) n *= data()[i];
  return n;
}

std::string Shape::ToString() const { return absl::StrCat("[", absl::StrJoin(dims(), ","), "]"); }

StatusOr<PartialShape> PartialShape::Make(std::vector<int64_t> dims) {
  RETURN_IF_ERROR(CheckRank(dims.size()));
  std::vector<int64_t> known;
  for (const int64_t d : dims) {
    if (d < -1)
      return errors::InvalidArgument("Dimension ", d, " must be >= -1 in shape [", absl::StrJoin(dims, ","), "]");
    if (d >= 0) known.push_back(d);
  }
  int64_t n = 0;
  if (!CheckedProduct(known, &n)) {
    return errors::InvalidArgument("Encountered overflow when multiplying the sizes of shape [",
                                   absl::StrJoin(dims, ","), "]");
  }
  return PartialShape(std::move(dims));
}

bool PartialShape::IsFullyDefined() const {
  return known_rank_ && std::all_of(dims_.begin(), dims_.end(), [](int64_t d) { return d >= 0; });
}

bool PartialShape::IsCompatibleWith(const PartialShape& o) const {
  if (!known_rank_ || !o.known_rank_) return true;
  if (dims_.size() != o.dims_.size()) return false;
  for (size_t i = 0; i < dims_.size(); ++i) {
    if (dims_[i] >= 0 && o.dims_[i] >= 0 && dims_[i] != o.dims_[i]) return false;
  }
  return true;
}

StatusOr<PartialShape> PartialShape::MergeWith(const PartialShape& o) const {
  if (!known_rank_) return o;
  if (!o.known_rank_) return *this;
  if (dims_.size() != o.dims_.size()) {
    return errors::InvalidArgument("Shapes must be equal rank, but are ", dims_.size(), " and ", o.dims_.size());
  }
  PartialShape merged = *this;
  for (size_t i = 0; i < dims_.size(); ++i) {
    if (dims_[i] < 0)
      merged.dims_[i] = o.dims_[i];
    else if (o.dims_[i] >= 0 && o.dims_[i] != dims_[i]) {
      return errors::InvalidArgument("Dimension ", i, " in both shapes must be equal, but are ", dims_[i], " and ",
                                     o.dims_[i], ". Shapes are ", ToString(), " and ", o.ToString(), ".");
    }
  }
  return merged;
}

PartialShape PartialShape::Concatenate(const PartialShape& o) const {
  if (!known_rank_ || !o.known_rank_) return Unknown();
  std::vector<int64_t> dims = dims_;
  dims.insert(dims.end(), o.dims_.begin(), o.dims_.end());
  return PartialShape(std::move(dims));
}

PartialShape PartialShape::Slice(int begin, int end) const {
  if (!known_rank_) return Unknown();
  return PartialShape(std::vector<int64_t>(dims_.begin() + begin, dims_.begin() + end));
}

int64_t PartialShape::num_elements() const {
  if (!IsFullyDefined()) return -1;
  int64_t n = 0;
  return CheckedProduct(dims_, &n) ? n : -1;
}

std::string PartialShape::ToString() const {
  if (!known_rank_) return "<unknown>";
  return absl::StrCat("[",
                      absl::StrJoin(dims_, ",",
                                    [](std::string* out, int64_t d) {
                                      if (d < 0)
                                        out->push_back('?');
                                      else
                                        absl::StrAppend(out, d);
                                    }),
                      "]");
}

}  // namespace millstream
