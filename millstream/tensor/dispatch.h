// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_TENSOR_DISPATCH_H_
#define MILLSTREAM_TENSOR_DISPATCH_H_

#include <type_traits>

#include "millstream/tensor/dtype.h"
#include "millstream/tensor/resource_handle.h"
#include "millstream/tensor/variant.h"

namespace millstream {

// Calls fn(std::type_identity<T>) with the C++ type behind `dtype`, if it is one of Ts; false otherwise.
template <typename... Ts, typename Fn>
bool DispatchOver(Types<Ts...>, DType dtype, Fn&& fn) {
  return ((dtype == kDTypeOf<Ts> ? (fn(std::type_identity<Ts>{}), true) : false) || ...);
}

template <typename Fn>
bool DispatchType(DType dtype, Fn&& fn) {
  return DispatchOver(AllTypes{}, dtype, fn);
}
template <typename Fn>
bool DispatchObjectType(DType dtype, Fn&& fn) {
  return DispatchOver(Types<std::string, ResourceHandle, Variant>{}, dtype, fn);
}

}  // namespace millstream

#endif  // MILLSTREAM_TENSOR_DISPATCH_H_
