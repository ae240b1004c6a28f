// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_TENSOR_VARIANT_H_
#define MILLSTREAM_TENSOR_VARIANT_H_

#include <string>

#include "millstream/base/ref.h"

namespace millstream {

// What a DT_VARIANT element holds: an immutable object, shared by reference.
class VariantValue : public RefCounted {
 public:
  virtual std::string type_name() const = 0;
};

class Variant {
 public:
  Variant() = default;
  explicit Variant(Ref<VariantValue> value) : value_(std::move(value)) {}
  // Null if empty or of another type.
  template <typename T>
  T* get() const {
    return dynamic_cast<T*>(value_.get());
  }
  bool empty() const { return !value_; }
  std::string type_name() const { return value_ ? value_->type_name() : ""; }

 private:
  Ref<VariantValue> value_;
};

}  // namespace millstream

#endif  // MILLSTREAM_TENSOR_VARIANT_H_
