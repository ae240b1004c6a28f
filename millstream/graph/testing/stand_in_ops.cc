// SPDX-License-Identifier: Apache-2.0
#include "millstream/graph/testing/stand_in_ops.h"

#include <initializer_list>

#include "millstream/framework/op.h"

namespace millstream {
namespace {

struct StandIn {
  const char* name;
  std::initializer_list<const char*> inputs;
  std::initializer_list<const char*> outputs;
  std::initializer_list<const char*> attrs;
};

const StandIn kStandIns[] = {
    {"NoOp", {}, {}, {}},
    {"Const", {}, {"output: dtype"}, {"value: tensor", "dtype: type"}},
    {"Placeholder", {}, {"output: dtype"}, {"dtype: type", "shape: shape = { unknown_rank: true }"}},
    {"Identity", {"input: T"}, {"output: T"}, {"T: type"}},
    {"IdentityN", {"input: T"}, {"output: T"}, {"T: list(type) >= 1"}},
    {"Neg",
     {"x: T"},
     {"y: T"},
     {"T: {bfloat16, half, float, double, int8, int16, int32, int64, complex64, complex128}"}},
    {"AddV2",
     {"x: T", "y: T"},
     {"z: T"},
     {"T: {bfloat16, half, float, double, uint8, uint16, uint32, uint64, int8, int16, int32, int64, complex64, "
      "complex128}"}},
    {"AddN",
     {"inputs: N * T"},
     {"sum: T"},
     {"N: int >= 1", "T: {float, double, int32, uint8, int16, int8, complex64, int64, variant}"}},
    {"MatMul",
     {"a: T", "b: T"},
     {"product: T"},
     {"transpose_a: bool = false", "transpose_b: bool = false",
      "T: {bfloat16, half, float, double, int32, int64, uint8, uint16, uint32, uint64, complex64, complex128}"}},
    {"Split", {"split_dim: int32", "value: T"}, {"output: num_split * T"}, {"num_split: int >= 1", "T: type"}},
    {"Switch", {"data: T", "pred: bool"}, {"output_false: T", "output_true: T"}, {"T: type"}},
    {"Merge", {"inputs: N * T"}, {"output: T", "value_index: int32"}, {"T: type", "N: int >= 1"}},
    {"NextIteration", {"data: T"}, {"output: T"}, {"T: type"}},
    {"VariableV2",
     {},
     {"ref: Ref(dtype)"},
     {"shape: shape", "dtype: type", "container: string = ''", "shared_name: string = ''"}},
    {"Assign",
     {"ref: Ref(T)", "value: T"},
     {"output_ref: Ref(T)"},
     {"T: type", "validate_shape: bool = true", "use_locking: bool = true"}},
    {"Conv2D",
     {"input: T", "filter: T"},
     {"output: T"},
     {"T: {half, bfloat16, float, double, int32}", "strides: list(int)", "use_cudnn_on_gpu: bool = true",
      "padding: {'SAME', 'VALID', 'EXPLICIT'}", "explicit_paddings: list(int) = []",
      "data_format: {'NHWC', 'NCHW'} = 'NHWC'", "dilations: list(int) = [1, 1, 1, 1]"}},
    {"PartitionedCall",
     {"args: Tin"},
     {"output: Tout"},
     {"Tin: list(type) >= 0", "Tout: list(type) >= 0", "f: func", "config: string = ''", "config_proto: string = ''",
      "executor_type: string = ''"}},
    {"StatefulPartitionedCall",
     {"args: Tin"},
     {"output: Tout"},
     {"Tin: list(type) >= 0", "Tout: list(type) >= 0", "f: func", "config: string = ''", "config_proto: string = ''",
      "executor_type: string = ''"}},
};

}  // namespace

void RegisterStandInOps() {
  for (const StandIn& op : kStandIns) {
    if (OpRegistry::Global().Find(op.name) != nullptr) continue;
    OpBuilder builder(op.name);
    for (const char* spec : op.inputs) builder.Input(spec);
    for (const char* spec : op.outputs) builder.Output(spec);
    for (const char* spec : op.attrs) builder.Attr(spec);
  }
}

}  // namespace millstream
