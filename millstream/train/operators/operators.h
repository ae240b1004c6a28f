// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_TRAIN_OPERATORS_OPERATORS_H_
#define MILLSTREAM_TRAIN_OPERATORS_OPERATORS_H_

#include <optional>
#include <string>
#include <vector>

#include "millstream/train/variables/variables.h"

namespace millstream {

// An input of a node: a tensor, a variable that is read for the node, a value that becomes a constant, or a number that
// becomes a constant of the type of the node's other inputs.
class Operand {
 public:
  Operand(Output output) : output_(output) {}                            // NOLINT(google-explicit-constructor)
  Operand(GraphVariable variable) : variable_(std::move(variable)) {}    // NOLINT(google-explicit-constructor)
  Operand(Tensor value) : value_(std::move(value)) {}                    // NOLINT(google-explicit-constructor)
  Operand(double number) : number_(number) {}                            // NOLINT(google-explicit-constructor)
  Operand(int number) : number_(number) {}                               // NOLINT(google-explicit-constructor)
  Operand(const std::vector<int32_t>& v) : value_(Tensor::Vector(v)) {}  // NOLINT(google-explicit-constructor)

  // A tensor that is there already; empty for those that need a node of their own.
  Output output() const { return variable_ && !IsResource(variable_) ? variable_.value : output_; }
  // The type, if it does not depend on other inputs.
  std::optional<DType> dtype() const;
  // The tensor, made in `scope` where it needs a node: a constant is called `name` and has the type `dtype`.
  Output ToOutput(const Scope& scope, absl::string_view name, DType dtype) const;

 private:
  Output output_;
  GraphVariable variable_;
  std::optional<Tensor> value_;
  double number_ = 0;
};

// A node as functions of TensorFlow's Python package add it: `name` in the scope, with constants of its inputs and
// reads of variables in the scope of that name ("name/y"). An empty name is the type's. Null after an error.
Node* AddNamed(const Scope& scope, absl::string_view name, absl::string_view type, const std::vector<Operand>& inputs,
               Attrs attrs = {});
Output OpNamed(const Scope& scope, absl::string_view name, absl::string_view type, const std::vector<Operand>& inputs,
               Attrs attrs = {});

// Operators and functions of Python's tensors, under the names that they give to nodes.
namespace operators {
Output Add(const Scope& s, const Operand& a, const Operand& b);       // a + b: "add"
Output Sub(const Scope& s, const Operand& a, const Operand& b);       // "sub"
Output Mul(const Scope& s, const Operand& a, const Operand& b);       // "mul"
Output Div(const Scope& s, const Operand& a, const Operand& b);       // "truediv"
Output FloorDiv(const Scope& s, const Operand& a, const Operand& b);  // "floordiv"
Output FloorMod(const Scope& s, const Operand& a, const Operand& b);  // "mod"
Output Pow(const Scope& s, const Operand& a, const Operand& b);       // "pow"

// x[index] along the first axis: "strided_slice".
Output At(const Scope& s, Output x, int32_t index);
// tf.div() of floats: "div".
Output Ratio(const Scope& s, Output a, Output b, absl::string_view name);
// x[:end], x[1:], x[:-1], x[-1].
Output Before(const Scope& s, Output x, int32_t end);
Output AllButFirst(const Scope& s, Output x);
Output AllButLast(const Scope& s, Output x);
Output Last(const Scope& s, Output x);
// x[:, 0]: "strided_slice".
Output FirstColumn(const Scope& s, Output x);
// tf.shape(): a constant where the shape is known.
Output ShapeOf(const Scope& s, Output x);
// tf.size() and tf.rank(): constants where they are known.
Output SizeOf(const Scope& s, Output x, absl::string_view name = "Size");
Output RankOf(const Scope& s, Output x);
// tf.range(start, limit): "range".
Output Range(const Scope& s, const Operand& start, const Operand& limit);
// tf.ones_like() and tf.zeros_like().
Output OnesLike(const Scope& s, Output x);
Output OnesLike(const Scope& s, Output x, DType dtype);
Output ZerosLike(const Scope& s, Output x);
// tf.concat() along axis 0: "concat".
Output Concat(const Scope& s, const std::vector<Operand>& values);
// tf.reduce_sum() and reduce_mean() over all axes, which are a constant where the rank is known; and over these axes.
Output ReduceAll(const Scope& s, const char* type, Output x, bool keep_dims = false, absl::string_view name = "");
Output Reduce(const Scope& s, const char* type, Output x, const Operand& axes, bool keep_dims = false);
}  // namespace operators

}  // namespace millstream

#endif  // MILLSTREAM_TRAIN_OPERATORS_OPERATORS_H_
