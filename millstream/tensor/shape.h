// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_TENSOR_SHAPE_H_
#define MILLSTREAM_TENSOR_SHAPE_H_

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
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
    if (o.rank() > kInline) [[unlikely]]
      Assign(o.dims(), o.num_elements());
    else
      storage_ = o.storage_;
  }
  Shape(Shape&& o) noexcept : storage_(o.storage_) { o.storage_.BecomeScalar(); }
  Shape& operator=(const Shape& o) {
    if (rank() > kInline || o.rank() > kInline) [[unlikely]]
      return AssignSlow(o);
    storage_ = o.storage_;
    return *this;
  }
  Shape& operator=(Shape&& o) noexcept {
    if (this == &o) return *this;
    if (rank() > kInline) [[unlikely]]
      delete[] storage_.on_heap;
    storage_ = o.storage_;
    o.storage_.BecomeScalar();
    return *this;
  }
  ~Shape() {
    if (rank() > kInline) [[unlikely]]
      delete[] storage_.on_heap;
  }

  // InvalidArgument for negative sizes, more than 254 dimensions, or a product that overflows.
  static StatusOr<Shape> Make(std::span<const int64_t> dims);

  int rank() const { return storage_.rank; }
  int64_t dim(int i) const { return data()[i]; }
  std::span<const int64_t> dims() const { return {data(), static_cast<size_t>(rank())}; }
  int64_t num_elements() const { return storage_.num_elements; }
  bool IsScalar() const { return rank() == 0; }
  bool IsVector() const { return rank() == 1; }
  bool IsMatrix() const { return rank() == 2; }

  // Changes one size, or appends one. REQUIRES: the product stays in range (checked; use Make() for untrusted sizes).
  void set_dim(int i, int64_t size);
  void AddDim(int64_t size);
  void InsertDim(int at, int64_t size);
  void RemoveDim(int at);
  // Product of the sizes in [begin, end).
  int64_t Product(int begin, int end) const;

  std::string ToString() const;  // "[2,3]"
  friend bool operator==(const Shape& a, const Shape& b) {
    if (a.rank() != b.rank() || a.num_elements() != b.num_elements()) return false;
    const int64_t *x = a.data(), *y = b.data();
    for (int i = 0; i < a.rank(); ++i)
      if (x[i] != y[i]) return false;
    return true;
  }

 private:
  static constexpr int kInline = 6;
  const int64_t* data() const { return rank() <= kInline ? storage_.in_place : storage_.on_heap; }
  int64_t* data() { return rank() <= kInline ? storage_.in_place : storage_.on_heap; }
  void Assign(std::span<const int64_t> dims, int64_t num_elements);
  Shape& AssignSlow(const Shape& o);
  void Recount();

  // Trivially copyable, so that it is copied as one block: shapes are copied several times for each op of a step.
  struct Storage {
    union {
      int64_t in_place[kInline];
      int64_t* on_heap;  // with more than kInline dimensions
    };
    int64_t num_elements = 1;
    uint8_t rank = 0;

    void BecomeScalar() {
      rank = 0;
      num_elements = 1;
    }
  };
  static_assert(std::is_trivially_copyable_v<Storage>);

  Storage storage_;
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
