// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_TENSOR_SHAPE_H_
#define MILLSTREAM_TENSOR_SHAPE_H_

#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "millstream/base/status.h"

namespace millstream {

inline constexpr int kMaxRank = 254;

// The dimensions of a tensor. Always valid: every size is >= 0 and their product fits in int64_t. Up to six dimensions
// live inline, so shapes of ordinary tensors never touch the heap.
class Shape {
 public:
  Shape() = default;  // a scalar
  // REQUIRES: dims are valid. For sizes that come from users or the network use Make().
  Shape(std::initializer_list<int64_t> dims) : Shape(std::span(dims.begin(), dims.size())) {}
  explicit Shape(std::span<const int64_t> dims);
  explicit Shape(const std::vector<int64_t>& dims) : Shape(std::span<const int64_t>(dims)) {}
  Shape(const Shape& o) {
    if (o.rank_ > kInline) [[unlikely]]
      Assign(o.dims(), o.num_elements_);
    else
      CopyInline(o);
  }
  Shape(Shape&& o) noexcept {
    CopyInline(o);
    o.rank_ = 0;
    o.num_elements_ = 1;
  }
  Shape& operator=(const Shape& o) {
    if (rank_ > kInline || o.rank_ > kInline) [[unlikely]]
      return AssignSlow(o);
    CopyInline(o);
    return *this;
  }
  Shape& operator=(Shape&& o) noexcept {
    if (this == &o) return *this;
    if (rank_ > kInline) [[unlikely]]
      delete[] heap_;
    CopyInline(o);
    o.rank_ = 0;
    o.num_elements_ = 1;
    return *this;
  }
  ~Shape() {
    if (rank_ > kInline) [[unlikely]]
      delete[] heap_;
  }

  // InvalidArgument for negative sizes, more than 254 dimensions, or a product that overflows.
  static StatusOr<Shape> Make(std::span<const int64_t> dims);

  int rank() const { return rank_; }
  int64_t dim(int i) const { return data()[i]; }
  std::span<const int64_t> dims() const { return {data(), static_cast<size_t>(rank_)}; }
  int64_t num_elements() const { return num_elements_; }
  bool IsScalar() const { return rank_ == 0; }
  bool IsVector() const { return rank_ == 1; }
  bool IsMatrix() const { return rank_ == 2; }

  // Changes one size, or appends one. REQUIRES: the product stays in range (checked; use Make() for untrusted sizes).
  void set_dim(int i, int64_t size);
  void AddDim(int64_t size);
  void InsertDim(int at, int64_t size);
  void RemoveDim(int at);
  // Product of the sizes in [begin, end).
  int64_t Product(int begin, int end) const;

  std::string ToString() const;  // "[2,3]"
  friend bool operator==(const Shape& a, const Shape& b) {
    if (a.rank_ != b.rank_ || a.num_elements_ != b.num_elements_) return false;
    const int64_t *x = a.data(), *y = b.data();
    for (int i = 0; i < a.rank_; ++i)
      if (x[i] != y[i]) return false;
    return true;
  }

 private:
  static constexpr int kInline = 6;
  const int64_t* data() const { return rank_ <= kInline ? inline_ : heap_; }
  int64_t* data() { return rank_ <= kInline ? inline_ : heap_; }
  void Assign(std::span<const int64_t> dims, int64_t num_elements);
  Shape& AssignSlow(const Shape& o);
  // All of it as one block: shapes are copied several times for each op of a step.
  void CopyInline(const Shape& o) { std::memcpy(static_cast<void*>(this), &o, sizeof(Shape)); }
  void Recount();

  union {
    int64_t inline_[kInline];
    int64_t* heap_;
  };
  int64_t num_elements_ = 1;
  uint8_t rank_ = 0;
};

// A shape of which parts may be unknown: the rank, or single sizes (-1).
class PartialShape {
 public:
  PartialShape() = default;         // unknown rank
  PartialShape(const Shape& shape)  // NOLINT(google-explicit-constructor)
      : known_rank_(true), dims_(shape.dims().begin(), shape.dims().end()) {}
  PartialShape(std::initializer_list<int64_t> dims) : known_rank_(true), dims_(dims) {}
  explicit PartialShape(std::vector<int64_t> dims) : known_rank_(true), dims_(std::move(dims)) {}
  static PartialShape Unknown() { return PartialShape(); }
  static PartialShape UnknownOfRank(int rank) { return PartialShape(std::vector<int64_t>(rank, -1)); }
  // InvalidArgument for sizes below -1, too many dimensions or overflow.
  static StatusOr<PartialShape> Make(std::vector<int64_t> dims);

  bool rank_known() const { return known_rank_; }
  int rank() const { return known_rank_ ? static_cast<int>(dims_.size()) : -1; }
  // -1 if unknown. REQUIRES: rank is known.
  int64_t dim(int i) const { return dims_[i]; }
  void set_dim(int i, int64_t size) { dims_[i] = size; }
  const std::vector<int64_t>& dims() const { return dims_; }
  bool IsFullyDefined() const;
  // REQUIRES: IsFullyDefined().
  Shape ToShape() const { return Shape(dims_); }
  // True if some concrete shape fits both.
  bool IsCompatibleWith(const PartialShape& o) const;
  // The most precise shape that fits both; InvalidArgument if there is none.
  StatusOr<PartialShape> MergeWith(const PartialShape& o) const;
  PartialShape Concatenate(const PartialShape& o) const;
  // [begin, end) of a known-rank shape; unknown rank gives unknown rank.
  PartialShape Slice(int begin, int end) const;
  int64_t num_elements() const;  // -1 if not fully defined

  std::string ToString() const;  // "[?,3]", "<unknown>"
  friend bool operator==(const PartialShape&, const PartialShape&) = default;

 private:
  bool known_rank_ = false;
  std::vector<int64_t> dims_;
};

}  // namespace millstream

#endif  // MILLSTREAM_TENSOR_SHAPE_H_
