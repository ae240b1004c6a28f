// SPDX-License-Identifier: Apache-2.0
#include "millstream/ops/tensor_array/tensor_array.h"

#include <algorithm>
#include <cstring>

#include "millstream/tensor/dispatch.h"

namespace millstream {
namespace {

template <typename T>
void AddTo(const T* x, T* sum, int64_t n) {
  using W = Compute<T>;
  for (int64_t i = 0; i < n; ++i) sum[i] = T(W(sum[i]) + W(x[i]));
}

StatusOr<Tensor> Zeros(DType dtype, const Shape& shape) {
  ASSIGN_OR_RETURN(Tensor zeros, Tensor::Make(dtype, shape));
  if (IsPlainBytes(dtype)) std::memset(zeros.raw(), 0, zeros.ByteSize());
  return zeros;
}

}  // namespace

StatusOr<Ref<TensorArray>> TensorArray::ForGradientsOf(TensorArray& forward, std::string name,
                                                       const PartialShape& prepend) {
  MutexLock lock(forward.mu_);
  RETURN_IF_ERROR(forward.CheckOpen());
  Options options = forward.options_;
  options.name = std::move(name);
  options.element_shape =
      forward.element_shape_.rank_known() ? prepend.Concatenate(forward.element_shape_) : PartialShape();
  options.dynamic_size = false;
  options.clear_after_read = true;
  options.is_gradient = true;
  forward.frozen_ = true;
  Ref<TensorArray> grads = MakeRef<TensorArray>(std::move(options), static_cast<int64_t>(forward.elements_.size()));
  MutexLock grads_lock(grads->mu_);
  grads->marked_size_ = forward.marked_size_;
  for (size_t i = 0; i < forward.elements_.size(); ++i) {
    if (!forward.elements_[i].has_shape) continue;
    const PartialShape shape = prepend.Concatenate(forward.elements_[i].shape);
    if (!shape.IsFullyDefined()) continue;
    ASSIGN_OR_RETURN(grads->elements_[i].shape, Shape::Make(shape.dims()));
    grads->elements_[i].has_shape = true;
  }
  return grads;
}

Status TensorArray::CheckOpen() const {
  return closed_ ? errors::InvalidArgument("TensorArray ", options_.name, " has already been closed.") : OkStatus();
}

Status TensorArray::MergeShapeLocked(const PartialShape& shape) {
  auto merged = element_shape_.MergeWith(shape);
  if (!merged.ok()) {
    return errors::InvalidArgument("TensorArray ", options_.name, ": shape ", shape.ToString(),
                                   " is incompatible with the element shape ", element_shape_.ToString());
  }
  if (options_.identical_element_shapes) element_shape_ = *std::move(merged);
  return OkStatus();
}

Status TensorArray::MergeElementShape(const PartialShape& shape) {
  MutexLock lock(mu_);
  return MergeShapeLocked(shape);
}

Status TensorArray::CheckWrite(int64_t index, const Tensor& value) const {
  const int64_t size = static_cast<int64_t>(elements_.size());
  if (index < 0 || (index >= size && !(options_.dynamic_size && !frozen_))) {
    return errors::InvalidArgument("TensorArray ", options_.name, ": Tried to write to index ", index,
                                   " but array is not resizeable and size is: ", size);
  }
  if (index >= kMaxSize) {
    return errors::ResourceExhausted("TensorArray ", options_.name, ": index ", index, " is beyond the limit of ",
                                     kMaxSize, " elements");
  }
  const std::string what =
      absl::StrCat("TensorArray ", options_.name, ": Could not write to TensorArray index ", index, " because ");
  if (value.dtype() != options_.dtype) {
    return errors::InvalidArgument(what, "the value dtype is ", DTypeName(value.dtype()), " but TensorArray dtype is ",
                                   DTypeName(options_.dtype), ".");
  }
  if (!element_shape_.IsCompatibleWith(value.shape())) {
    return errors::InvalidArgument(what, "the value shape is ", value.shape().ToString(),
                                   " which is incompatible with the TensorArray's inferred element "
                                   "shape: ",
                                   element_shape_.ToString(), " (consider setting infer_shape=False).");
  }
  if (index >= size) return OkStatus();
  if (elements_[index].read) return errors::InvalidArgument(what, "it has already been read.");
  if (elements_[index].written && !options_.is_gradient) {
    return errors::InvalidArgument(what, "it has already been written to.");
  }
  return OkStatus();
}

Status TensorArray::Aggregate(int64_t index, Tensor value) {
  Element& e = elements_[index];
  if (!(e.value.shape() == value.shape())) {
    return errors::InvalidArgument("TensorArray ", options_.name, ": Could not aggregate to TensorArray index ", index,
                                   " because the existing shape is ", e.value.shape().ToString(),
                                   " but the new input shape is ", value.shape().ToString(), ".");
  }
  if (!e.value.RefIsOne()) {
    ASSIGN_OR_RETURN(e.value, e.value.Clone());
  }
  const bool numeric = DispatchOver(NumberTypes{}, options_.dtype, [&](auto type) {
    using T = typename decltype(type)::type;
    AddTo(value.data<T>(), e.value.data<T>(), value.num_elements());
  });
  if (!numeric)
    return errors::InvalidArgument("TensorArray ", options_.name, ": cannot add elements of type ",
                                   DTypeName(options_.dtype));
  return OkStatus();
}

Status TensorArray::WriteLocked(int64_t index, Tensor value) {
  RETURN_IF_ERROR(CheckWrite(index, value));
  RETURN_IF_ERROR(MergeShapeLocked(value.shape()));
  if (index >= static_cast<int64_t>(elements_.size())) elements_.resize(index + 1);
  Element& e = elements_[index];
  if (e.written) return Aggregate(index, std::move(value));
  e.shape = value.shape();
  e.has_shape = true;
  e.value = std::move(value);
  e.written = true;
  return OkStatus();
}

Status TensorArray::Write(int64_t index, Tensor value) {
  MutexLock lock(mu_);
  RETURN_IF_ERROR(CheckOpen());
  return WriteLocked(index, std::move(value));
}

Status TensorArray::WriteAll(std::span<const int32_t> indices, std::vector<Tensor> values) {
  MutexLock lock(mu_);
  RETURN_IF_ERROR(CheckOpen());
  for (size_t i = 0; i < values.size(); ++i) {
    const int64_t index = indices.empty() ? static_cast<int64_t>(i) : indices[i];
    RETURN_IF_ERROR(WriteLocked(index, std::move(values[i])));
  }
  return OkStatus();
}

StatusOr<Tensor> TensorArray::ReadLocked(int64_t index) {
  const int64_t size = static_cast<int64_t>(elements_.size());
  if (index < 0 || index >= size) {
    return errors::InvalidArgument("TensorArray ", options_.name, ": Tried to read from index ", index,
                                   " but array size is: ", size);
  }
  Element& e = elements_[index];
  if (e.cleared) {
    return errors::InvalidArgument("TensorArray ", options_.name, ": Could not read index ", index,
                                   " twice because it was cleared after a "
                                   "previous read (perhaps try setting "
                                   "clear_after_read = false?).");
  }
  if (!e.written) {
    if (!e.has_shape && !element_shape_.IsFullyDefined()) {
      return errors::InvalidArgument("TensorArray ", options_.name, ": Could not read from TensorArray index ", index,
                                     ". Nothing was written there, and the element shape is not fully "
                                     "defined: ",
                                     element_shape_.ToString(),
                                     ". Set element_shape on the array to read zeros instead.");
    }
    ASSIGN_OR_RETURN(e.value, Zeros(options_.dtype, e.has_shape ? e.shape : element_shape_.ToShape()));
    e.shape = e.value.shape();
    e.has_shape = e.written = true;
  }
  e.read = true;
  if (!options_.clear_after_read) return e.value;
  e.cleared = true;
  return std::move(e.value);
}

StatusOr<Tensor> TensorArray::Read(int64_t index) {
  MutexLock lock(mu_);
  RETURN_IF_ERROR(CheckOpen());
  return ReadLocked(index);
}

StatusOr<std::vector<Tensor>> TensorArray::ReadAll(std::span<const int32_t> indices) {
  MutexLock lock(mu_);
  RETURN_IF_ERROR(CheckOpen());
  std::vector<Tensor> values(indices.size());
  for (size_t i = 0; i < indices.size(); ++i) {
    ASSIGN_OR_RETURN(values[i], ReadLocked(indices[i]));
  }
  return values;
}

StatusOr<std::vector<Tensor>> TensorArray::ReadForConcat() {
  MutexLock lock(mu_);
  RETURN_IF_ERROR(CheckOpen());
  const int64_t size = static_cast<int64_t>(elements_.size());
  if (!options_.is_gradient && !marked_) marked_size_ = size;
  std::vector<Tensor> values(options_.is_gradient ? std::min(marked_size_, size) : size);
  for (size_t i = 0; i < values.size(); ++i) {
    ASSIGN_OR_RETURN(values[i], ReadLocked(static_cast<int64_t>(i)));
  }
  return values;
}

StatusOr<int64_t> TensorArray::Size() {
  MutexLock lock(mu_);
  RETURN_IF_ERROR(CheckOpen());
  return static_cast<int64_t>(elements_.size());
}

bool TensorArray::dynamic_size() {
  MutexLock lock(mu_);
  return options_.dynamic_size && !frozen_;
}

PartialShape TensorArray::element_shape() {
  MutexLock lock(mu_);
  return element_shape_;
}

void TensorArray::set_marked_size(int64_t size) {
  MutexLock lock(mu_);
  if (options_.is_gradient) return;
  marked_size_ = size;
  marked_ = true;
}

void TensorArray::Close() {
  std::vector<Element> dropped;
  MutexLock lock(mu_);
  dropped.swap(elements_);
  closed_ = true;
}

}  // namespace millstream
