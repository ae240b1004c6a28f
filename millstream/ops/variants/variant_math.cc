// SPDX-License-Identifier: Apache-2.0
#include "millstream/ops/variants/variant_math.h"

#include <algorithm>
#include <cstring>

#include "millstream/base/stack_guard.h"
#include "millstream/ops/elements/add_loop.h"
#include "millstream/ops/variants/tensor_list.h"
#include "millstream/ops/variants/tensor_map.h"
#include "millstream/tensor/dispatch.h"
#include "millstream/tensor/encoded_variant.h"

namespace millstream {

Status NoteDepth(TensorsVariant* value, const Tensor& element) {
  if (element.dtype() != DType::kVariant) return OkStatus();
  constexpr int kMaxDepth = 64;  // they end from within each other
  for (const Variant& part : element.flat<Variant>()) {
    const auto* inner = part.get<TensorsVariant>();
    if (inner == nullptr) continue;
    if (inner->depth >= kMaxDepth) return errors::InvalidArgument("More than ", kMaxDepth, " variants in each other");
    value->depth = std::max(value->depth, inner->depth + 1);
  }
  return OkStatus();
}

StatusOr<Tensor> ZeroTensor(DType dtype, const Shape& shape) {
  ASSIGN_OR_RETURN(Tensor zeros, Tensor::Make(dtype, shape));
  if (IsPlainBytes(dtype)) std::memset(zeros.raw(), 0, zeros.ByteSize());
  return zeros;
}

namespace {

StatusOr<Tensor> ZerosLikeTensor(const Tensor& t) {
  if (t.dtype() != DType::kVariant) return ZeroTensor(t.dtype(), t.shape());
  ASSIGN_OR_RETURN(Tensor zeros, Tensor::Make(t.dtype(), t.shape()));
  for (int64_t i = 0; i < t.num_elements(); ++i) {
    ASSIGN_OR_RETURN(zeros.data<Variant>()[i], ZerosLikeVariant(t.data<Variant>()[i]));
  }
  return zeros;
}

StatusOr<Tensor> AddTensors(const Tensor& a, const Tensor& b) {
  if (a.dtype() != b.dtype() || !(a.shape() == b.shape())) {
    return errors::InvalidArgument("Trying to add two tensors with incompatible element shapes. One is ",
                                   a.shape().ToString(), " and the other is ", b.shape().ToString());
  }
  ASSIGN_OR_RETURN(Tensor sum, Tensor::Make(a.dtype(), a.shape()));
  if (a.dtype() == DType::kVariant) {
    for (int64_t i = 0; i < a.num_elements(); ++i) {
      ASSIGN_OR_RETURN(sum.data<Variant>()[i], AddVariants(a.data<Variant>()[i], b.data<Variant>()[i]));
    }
    return sum;
  }
  if (!DispatchOver(NumberTypes{}, a.dtype(), [](auto) {})) {
    return errors::InvalidArgument("Trying to add unsupported dtype ", DTypeName(a.dtype()));
  }
  elementwise::Run(AddLoop(a.dtype()), static_cast<const char*>(a.raw()), static_cast<const char*>(b.raw()),
                   static_cast<char*>(sum.raw()), a.num_elements());
  return sum;
}

// A variant without elements that sums of `x` and `y` go into.
StatusOr<Ref<TensorsVariant>> EmptySum(const TensorsVariant& x, const TensorsVariant& y) {
  const auto *a = dynamic_cast<const TensorList*>(&x), *b = dynamic_cast<const TensorList*>(&y);
  if (x.type_name() != y.type_name()) return errors::InvalidArgument("Trying to add two kinds of variants");
  if (a == nullptr) return x.EmptyLike();
  if (a->element_dtype != b->element_dtype) {
    return errors::InvalidArgument("Trying to add two lists of tensors of different dtypes. One is ",
                                   DTypeName(a->element_dtype), " and the other is ", DTypeName(b->element_dtype));
  }
  StatusOr<PartialShape> shape = a->element_shape.MergeWith(b->element_shape);
  if (!shape.ok()) {
    return errors::InvalidArgument("Trying to add two lists of tensors with incompatible element shapes. One is ",
                                   a->element_shape.ToString(), " and the other is ", b->element_shape.ToString());
  }
  return Ref<TensorsVariant>(MakeRef<TensorList>(a->element_dtype, *std::move(shape)));
}

// All keys of both; values of keys that both have are added.
StatusOr<Variant> AddMaps(const TensorMap& a, const TensorMap& b) {
  Ref<TensorMap> sum = a.Copy();
  for (const auto& [key, item] : b.items) {
    const auto found = sum->items.find(key);
    if (found == sum->items.end()) {
      sum->items.emplace(key, item);
      continue;
    }
    ASSIGN_OR_RETURN(found->second.value, AddTensors(found->second.value, item.value));
  }
  return Variant(std::move(sum));
}

}  // namespace

StatusOr<Variant> ZerosLikeVariant(const Variant& value) {
  if (StackIsLow()) return NestedTooDeeply("variants");
  if (value.get<TensorMap>() != nullptr) return Variant(MakeRef<TensorMap>());
  const auto* of = value.get<TensorsVariant>();
  if (of == nullptr) return ZeroLikeNumber(value);
  ASSIGN_OR_RETURN(Ref<TensorsVariant> zeros, EmptySum(*of, *of));
  zeros->depth = of->depth;
  for (size_t i = 0; i < of->tensors.size(); ++i) {
    const Tensor& t = of->tensors[i];
    zeros->tensors.push_back(i < of->first_value() ? t : Tensor());
    if (i < of->first_value() || !t.IsInitialized()) continue;
    ASSIGN_OR_RETURN(zeros->tensors.back(), ZerosLikeTensor(t));
  }
  return Variant(std::move(zeros));
}

StatusOr<Variant> AddVariants(const Variant& a, const Variant& b) {
  if (StackIsLow()) return NestedTooDeeply("variants");
  const auto *map_a = a.get<TensorMap>(), *map_b = b.get<TensorMap>();
  if (map_a != nullptr && map_b != nullptr) return AddMaps(*map_a, *map_b);
  const auto *x = a.get<TensorsVariant>(), *y = b.get<TensorsVariant>();
  if (x == nullptr || y == nullptr) return AddNumberVariants(a, b);
  ASSIGN_OR_RETURN(Ref<TensorsVariant> sum, EmptySum(*x, *y));
  if (x->tensors.size() != y->tensors.size()) {
    return errors::InvalidArgument("Trying to add two lists of tensors with different lengths. One is ",
                                   x->tensors.size(), " and the other is ", y->tensors.size());
  }
  sum->depth = std::max(x->depth, y->depth);
  for (size_t i = 0; i < x->tensors.size(); ++i) {
    const Tensor &s = x->tensors[i], &t = y->tensors[i];
    if (i < x->first_value() || !s.IsInitialized() || !t.IsInitialized()) {
      sum->tensors.push_back(s.IsInitialized() ? s : t);
      continue;
    }
    ASSIGN_OR_RETURN(Tensor both, AddTensors(s, t));
    sum->tensors.push_back(std::move(both));
  }
  return Variant(std::move(sum));
}

}  // namespace millstream
