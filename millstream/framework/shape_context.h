// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_FRAMEWORK_SHAPE_CONTEXT_H_
#define MILLSTREAM_FRAMEWORK_SHAPE_CONTEXT_H_

#include <vector>

#include "millstream/framework/attr_value.h"

namespace millstream {

// What a shape function sees of one node: the shapes of its inputs as far as known, constant inputs where known, its
// attributes. Outputs start as unknown.
class ShapeContext {
 public:
  ShapeContext(const AttrMap& attrs, std::vector<PartialShape> inputs, int num_outputs)
      : attrs_(attrs),
        inputs_(std::move(inputs)),
        outputs_(num_outputs),
        constants_(inputs_.size()),
        constant_shapes_(inputs_.size()),
        handle_shapes_(inputs_.size()),
        handle_dtypes_(inputs_.size()),
        output_handle_shapes_(num_outputs),
        output_handle_dtypes_(num_outputs) {}

  int num_inputs() const { return static_cast<int>(inputs_.size()); }
  int num_outputs() const { return static_cast<int>(outputs_.size()); }
  const PartialShape& input(int i) const { return inputs_[i]; }
  void set_output(int i, PartialShape shape) { outputs_[i] = std::move(shape); }
  const PartialShape& output(int i) const { return outputs_[i]; }
  const AttrMap& attrs() const { return attrs_; }
  template <typename T>
  Status GetAttr(absl::string_view name, T* value) const {
    return attrs_.Get(name, value);
  }

  // The value of input i if it is a constant, else null.
  const Tensor* constant(int i) const { return constants_[i].IsInitialized() ? &constants_[i] : nullptr; }
  // Input i, a vector of sizes, read as a shape, as far as it can be told before running (-1 in it reads as unknown).
  // Unknown rank if nothing is known. InvalidArgument if input i cannot be a shape.
  StatusOr<PartialShape> ConstantAsShape(int i) const;
  // An integer scalar constant (int32 or int64); false if not known.
  bool ConstantInt(int i, int64_t* value) const;
  // All elements of a constant int32/int64 tensor; false if not known.
  bool ConstantInts(int i, std::vector<int64_t>* values) const;

  // For resource inputs and outputs: shape and type of the variable behind the handle.
  const PartialShape& input_handle_shape(int i) const { return handle_shapes_[i]; }
  DType input_handle_dtype(int i) const { return handle_dtypes_[i]; }
  void set_output_handle(int i, PartialShape shape, DType dtype) {
    output_handle_shapes_[i] = std::move(shape);
    output_handle_dtypes_[i] = dtype;
  }
  const PartialShape& output_handle_shape(int i) const { return output_handle_shapes_[i]; }
  DType output_handle_dtype(int i) const { return output_handle_dtypes_[i]; }

  // InvalidArgument unless `shape` may have that rank; then *out is it, with the rank known.
  static Status WithRank(const PartialShape& shape, int rank, PartialShape* out);
  static Status WithRankAtLeast(const PartialShape& shape, int rank, PartialShape* out);
  static Status WithRankAtMost(const PartialShape& shape, int rank, PartialShape* out);
  // Merges two sizes (-1 unknown).
  static Status MergeDim(int64_t a, int64_t b, int64_t* out);
  // NumPy broadcasting of two partial shapes.
  static StatusOr<PartialShape> Broadcast(const PartialShape& a, const PartialShape& b);

  // For whoever runs shape functions.
  void set_constant(int i, Tensor value) { constants_[i] = std::move(value); }
  void set_constant_shape(int i, PartialShape shape) { constant_shapes_[i] = std::move(shape); }
  void set_input_handle(int i, PartialShape shape, DType dtype) {
    handle_shapes_[i] = std::move(shape);
    handle_dtypes_[i] = dtype;
  }

 private:
  const AttrMap& attrs_;
  std::vector<PartialShape> inputs_;
  std::vector<PartialShape> outputs_;
  std::vector<Tensor> constants_;
  std::vector<PartialShape> constant_shapes_;
  std::vector<PartialShape> handle_shapes_;
  std::vector<DType> handle_dtypes_;
  std::vector<PartialShape> output_handle_shapes_;
  std::vector<DType> output_handle_dtypes_;
};

// Shape functions that many ops share.
Status UnknownShape(ShapeContext& c);    // every output unknown
Status UnchangedShape(ShapeContext& c);  // output 0 as input 0
Status ScalarShape(ShapeContext& c);     // every output a scalar
Status NoOutputs(ShapeContext& c);
Status BroadcastBinaryShape(ShapeContext& c);  // output 0 = broadcast of inputs 0 and 1
Status MergeBothShapes(ShapeContext& c);       // inputs 0 and 1 equal, output 0 the same
Status ReductionShape(ShapeContext& c);        // input 0 reduced over axes (input 1), attr keep_dims
Status ShapeFromAttr(ShapeContext& c);         // output 0 = attr "shape"

}  // namespace millstream

#endif  // MILLSTREAM_FRAMEWORK_SHAPE_CONTEXT_H_
