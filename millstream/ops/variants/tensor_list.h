// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_OPS_VARIANTS_TENSOR_LIST_H_
#define MILLSTREAM_OPS_VARIANTS_TENSOR_LIST_H_

#include <string>
#include <vector>

#include "millstream/framework/kernel.h"
#include "millstream/framework/shape_context.h"
#include "millstream/ops/variants/variant_math.h"

namespace millstream {

// A value, as tensors are: a list of tensors of one type, each of which may be missing. What loops of functions
// keep for their gradients, and TensorArrays of TensorFlow 2. Whoever changes one is its only holder.
class TensorList final : public TensorsVariant {
 public:
  TensorList(DType dtype, PartialShape shape) : element_dtype(dtype), element_shape(std::move(shape)) {}
  std::string type_name() const override { return "tensorflow::TensorList"; }
  Ref<TensorsVariant> EmptyLike() const override { return MakeRef<TensorList>(element_dtype, element_shape); }
  Ref<TensorList> Copy() const;

  const DType element_dtype;
  const PartialShape element_shape;
  int64_t max_num_elements = -1;  // -1: no limit
};

// More elements than this are refused: a number in a graph must not take all memory.
inline constexpr int64_t kMaxListSize = 1 << 22;

// Input i, a list with elements of type `dtype` (kInvalid: any). InvalidArgument if it is something else.
StatusOr<TensorList*> ListInput(const KernelContext& ctx, int i, DType dtype);
// The same to be changed: the input itself if nobody else holds it, otherwise a copy.
StatusOr<Ref<TensorList>> TakeList(KernelContext& ctx, int i, DType dtype);
void OutputList(KernelContext& ctx, Ref<TensorList> list);

// Input i as the shape of elements: a vector of sizes, or the scalar -1 for an unknown rank.
StatusOr<PartialShape> ShapeInput(const KernelContext& ctx, int i);
// The same, together with what the list says.
StatusOr<PartialShape> ElementShape(const KernelContext& ctx, int i, const TensorList& list);
// The most precise shape that fits both; InvalidArgument, worded as TensorFlow's kernels do, if there is none.
StatusOr<PartialShape> MergeShapes(const PartialShape& a, const PartialShape& b);
// An int32 scalar. InvalidArgument, with `name`, if it has another shape.
StatusOr<int64_t> IntInput(const KernelContext& ctx, int i, absl::string_view name);
// InvalidArgument, ResourceExhausted unless a list may have that many elements.
Status CheckListSize(int64_t size, absl::string_view name);
// To be called before a tensor becomes an element. InvalidArgument if its shape does not fit, or lists are nested too
// deep.
Status CheckElement(TensorList* list, const Tensor& element);
// Row i of a tensor, without the first dimension: a view.
Tensor RowOf(const Tensor& t, int64_t i);

// Shape functions: a scalar handle of a list. From the shape in input 0 (1), or as input 0.
Status ListShapeFrom0(ShapeContext& c);
Status ListShapeFrom1(ShapeContext& c);
Status ListShapeUnchanged(ShapeContext& c);
// What is known of the elements of list input 0, merged with the shape in input `i` (-1: none).
StatusOr<PartialShape> KnownElementShape(const ShapeContext& c, int i);

}  // namespace millstream

#endif  // MILLSTREAM_OPS_VARIANTS_TENSOR_LIST_H_
