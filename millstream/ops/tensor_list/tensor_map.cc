// SPDX-License-Identifier: Apache-2.0
#include "millstream/ops/variants/tensor_map.h"

#include "absl/strings/str_cat.h"
#include "millstream/framework/op.h"
#include "millstream/graph/gradients/gradient.h"
#include "millstream/ops/elements/copy_rows.h"

namespace millstream {

Ref<TensorMap> TensorMap::Copy() const {
  Ref<TensorMap> copy = MakeRef<TensorMap>();
  copy->items = items;
  return copy;
}

StatusOr<std::string> KeyOf(const Tensor& t) {
  std::string key = absl::StrCat(DTypeName(t.dtype()), t.shape().ToString());
  if (t.dtype() == DType::kString) {
    for (const std::string& s : t.flat<std::string>()) absl::StrAppend(&key, s.size(), ":", s);
  } else if (IsPlainBytes(t.dtype())) {
    key.append(static_cast<const char*>(t.raw()), t.ByteSize());
  } else {
    return errors::InvalidArgument("A tensor of type ", DTypeName(t.dtype()), " cannot be a key");
  }
  return key;
}

namespace {

StatusOr<TensorMap*> MapInput(const KernelContext& ctx) {
  const Tensor& t = ctx.input(0);
  if (t.rank() != 0) return errors::InvalidArgument("Input map must be a scalar. Saw: ", t.shape().ToString());
  auto* map = t.scalar<Variant>().get<TensorMap>();
  if (map == nullptr) {
    return errors::InvalidArgument("Input handle is not a map. Saw: '", t.scalar<Variant>().type_name(), "'");
  }
  return map;
}

// Input 0 to be changed: itself if nobody else holds it, otherwise a copy.
StatusOr<Ref<TensorMap>> TakeMap(KernelContext& ctx) {
  ASSIGN_OR_RETURN(TensorMap * map, MapInput(ctx));
  const Tensor own = ctx.TakeInput(0);
  return own.RefIsOne() && map->RefIsOne() ? Ref<TensorMap>::Share(map) : map->Copy();
}

void OutputMap(KernelContext& ctx, Ref<TensorMap> map) { ctx.set_output(0, Tensor::Scalar(Variant(std::move(map)))); }

Status EmptyCpu(KernelContext& ctx) {
  OutputMap(ctx, MakeRef<TensorMap>());
  return OkStatus();
}

Status SizeCpu(KernelContext& ctx) {
  ASSIGN_OR_RETURN(const TensorMap* map, MapInput(ctx));
  ctx.set_output(0, Tensor::Scalar(static_cast<int32_t>(map->items.size())));
  return OkStatus();
}

Status LookupCpu(KernelContext& ctx) {
  ASSIGN_OR_RETURN(const TensorMap* map, MapInput(ctx));
  ASSIGN_OR_RETURN(const std::string key, KeyOf(ctx.input(1)));
  const auto found = map->items.find(key);
  if (found == map->items.end()) {
    return errors::InvalidArgument("Trying to lookup non-existent key. Could not find key \"",
                                   ctx.input(1).SummarizeValue(100), "\".");
  }
  const Tensor& value = found->second.value;
  if (value.dtype() != ctx.output_dtype(0)) {
    return errors::InvalidArgument("Key does not match requested dtype. Stored: ", DTypeName(value.dtype()),
                                   ", expected: ", DTypeName(ctx.output_dtype(0)));
  }
  ctx.set_output(0, value);
  return OkStatus();
}

Status InsertCpu(KernelContext& ctx) {
  ASSIGN_OR_RETURN(const std::string key, KeyOf(ctx.input(1)));
  if (ctx.input_dtype(2) == DType::kVariant) {
    for (const Variant& v : ctx.input(2).flat<Variant>()) {
      if (v.get<TensorMap>() != nullptr) return errors::InvalidArgument("A map cannot be the value of another map");
    }
  }
  ASSIGN_OR_RETURN(Ref<TensorMap> map, TakeMap(ctx));
  map->items[key] = {ctx.input(1), ctx.input(2)};
  OutputMap(ctx, std::move(map));
  return OkStatus();
}

Status EraseCpu(KernelContext& ctx) {
  ASSIGN_OR_RETURN(const std::string key, KeyOf(ctx.input(1)));
  ASSIGN_OR_RETURN(const TensorMap* seen, MapInput(ctx));
  if (!seen->items.contains(key)) {
    return errors::InvalidArgument("Trying to erase non-existent item. Could not find key \"",
                                   ctx.input(1).SummarizeValue(100), "\".");
  }
  ASSIGN_OR_RETURN(Ref<TensorMap> map, TakeMap(ctx));
  map->items.erase(key);
  OutputMap(ctx, std::move(map));
  return OkStatus();
}

Status HasKeyCpu(KernelContext& ctx) {
  ASSIGN_OR_RETURN(const TensorMap* map, MapInput(ctx));
  ASSIGN_OR_RETURN(const std::string key, KeyOf(ctx.input(1)));
  ctx.set_output(0, Tensor::Scalar(map->items.contains(key)));
  return OkStatus();
}

Status StackKeysCpu(KernelContext& ctx) {
  ASSIGN_OR_RETURN(const TensorMap* map, MapInput(ctx));
  if (map->items.empty()) return errors::InvalidArgument("TensorMapStackKeys cannot be called on empty map.");
  const Shape& one = map->items.begin()->second.key.shape();
  std::vector<int64_t> dims(one.dims().begin(), one.dims().end());
  dims.insert(dims.begin(), static_cast<int64_t>(map->items.size()));
  ASSIGN_OR_RETURN(const Shape shape, Shape::Make(dims));
  ASSIGN_OR_RETURN(Tensor * keys, ctx.AllocateOutput(0, shape));
  int64_t at = 0;
  for (const auto& [name, item] : map->items) {
    if (item.key.dtype() != ctx.output_dtype(0)) return errors::InvalidArgument("Key does not match requested dtype.");
    if (!(item.key.shape() == one)) return errors::InvalidArgument("Keys must all have the same shape.");
    CopyElements(item.key, 0, one.num_elements(), keys, at);
    at += one.num_elements();
  }
  return OkStatus();
}

OP("EmptyTensorMap")
    .Output("handle: variant")
    .Shape(ScalarShape)
    .NotDifferentiable()
    .Cpu(EmptyCpu)
    .Doc("A map without items.");

OP("TensorMapSize")
    .Input("input_handle: variant")
    .Output("size: int32")
    .Shape(ScalarShape)
    .NotDifferentiable()
    .Cpu(SizeCpu)
    .Doc("How many items a map has.");

OP("TensorMapLookup")
    .Input("input_handle: variant")
    .Input("key: key_dtype")
    .Output("value: value_dtype")
    .Attr("key_dtype: type")
    .Attr("value_dtype: type")
    .Shape(UnknownShape)
    .Cpu(LookupCpu)
    .Doc("The value of a key. InvalidArgument if there is none.");

OP("TensorMapInsert")
    .Input("input_handle: variant")
    .Input("key: key_dtype")
    .Input("value: value_dtype")
    .Output("output_handle: variant")
    .Attr("key_dtype: type")
    .Attr("value_dtype: type")
    .Shape(ScalarShape)
    .Cpu(InsertCpu)
    .Doc("A map with one item more, or another value for a key that it has.");

OP("TensorMapErase")
    .Input("input_handle: variant")
    .Input("key: key_dtype")
    .Output("output_handle: variant")
    .Attr("key_dtype: type")
    .Attr("value_dtype: type")
    .Shape(ScalarShape)
    .Cpu(EraseCpu)
    .Doc("A map without a key. InvalidArgument if it has none.");

OP("TensorMapHasKey")
    .Input("input_handle: variant")
    .Input("key: key_dtype")
    .Output("has_key: bool")
    .Attr("key_dtype: type")
    .Shape(ScalarShape)
    .NotDifferentiable()
    .Cpu(HasKeyCpu)
    .Doc("Whether a map has a key.");

OP("TensorMapStackKeys")
    .Input("input_handle: variant")
    .Output("keys: key_dtype")
    .Attr("key_dtype: type")
    .Shape(UnknownShape)
    .NotDifferentiable()
    .Cpu(StackKeysCpu)
    .Doc("All keys of a map as the rows of one tensor.");

}  // namespace
}  // namespace millstream
