// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_OPS_TENSOR_ARRAY_TENSOR_ARRAY_H_
#define MILLSTREAM_OPS_TENSOR_ARRAY_TENSOR_ARRAY_H_

#include <span>
#include <string>
#include <vector>

#include "millstream/base/mutex.h"
#include "millstream/tensor/tensor.h"

namespace millstream {

// An array of tensors that a loop fills or reads, one element per iteration.
// Each element is written once; in the array of gradients, which belongs to a
// forward array, further writes add up. Belongs to a step. Thread-safe.
class TensorArray final : public Resource {
 public:
  // Beyond this many elements an index is a mistake, not a plan.
  static constexpr int64_t kMaxSize = int64_t{1} << 24;

  struct Options {
    std::string name;
    DType dtype = DType::kInvalid;
    PartialShape element_shape;
    bool dynamic_size = false;
    bool clear_after_read = true;
    bool identical_element_shapes = false;
    bool is_gradient = false;
  };
  // REQUIRES: 0 <= size <= kMaxSize.
  TensorArray(Options options, int64_t size)
      : options_(std::move(options)), elements_(size), element_shape_(options_.element_shape) {}
  // The array for gradients of `forward`: as many elements, and zeros of the
  // right shapes where none is written. From now on `forward` does not grow.
  // `prepend` comes before the shape of each element.
  static StatusOr<Ref<TensorArray>> ForGradientsOf(TensorArray& forward, std::string name, const PartialShape& prepend);

  DType dtype() const { return options_.dtype; }
  const std::string& name() const { return options_.name; }
  std::string DebugString() const override { return absl::StrCat("TensorArray ", options_.name); }

  // InvalidArgument for a bad index, another type or shape, and for elements
  // written or read before.
  Status Write(int64_t index, Tensor value);
  // Elements [0, values.size()) or those in `indices`, all or none of which are
  // in range.
  Status WriteAll(std::span<const int32_t> indices, std::vector<Tensor> values);
  // Zeros where nothing was written, if the shape is known.
  StatusOr<Tensor> Read(int64_t index);
  StatusOr<std::vector<Tensor>> ReadAll(std::span<const int32_t> indices);
  // The elements that a concatenation joins: all, or in an array of gradients
  // as many as were split or joined before.
  StatusOr<std::vector<Tensor>> ReadForConcat();

  StatusOr<int64_t> Size();
  bool dynamic_size();
  PartialShape element_shape();
  // InvalidArgument unless elements may have this shape; remembered if all of
  // them must be alike.
  Status MergeElementShape(const PartialShape& shape);
  void set_marked_size(int64_t size);
  // Drops everything; later calls fail.
  void Close();

 private:
  struct Element {
    Tensor value;
    Shape shape;
    bool has_shape = false;
    bool written = false;
    bool read = false;
    bool cleared = false;
  };
  Status CheckOpen() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  Status WriteLocked(int64_t index, Tensor value) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  Status CheckWrite(int64_t index, const Tensor& value) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  StatusOr<Tensor> ReadLocked(int64_t index) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  Status MergeShapeLocked(const PartialShape& shape) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  Status Aggregate(int64_t index, Tensor value) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  const Options options_;
  Mutex mu_;
  bool closed_ ABSL_GUARDED_BY(mu_) = false;
  bool frozen_ ABSL_GUARDED_BY(mu_) = false;  // has gradients: does not grow
  int64_t marked_size_ ABSL_GUARDED_BY(mu_) = 0;
  bool marked_ ABSL_GUARDED_BY(mu_) = false;  // by a write of the whole; then reads of the whole do not count
  std::vector<Element> elements_ ABSL_GUARDED_BY(mu_);
  PartialShape element_shape_ ABSL_GUARDED_BY(mu_);
};

}  // namespace millstream

#endif  // MILLSTREAM_OPS_TENSOR_ARRAY_TENSOR_ARRAY_H_
