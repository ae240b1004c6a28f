// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_OPS_ARRAY_TESTING_RUN_OP_H_
#define MILLSTREAM_OPS_ARRAY_TESTING_RUN_OP_H_

#include <utility>
#include <vector>

#include "millstream/framework/cpu_device.h"
#include "millstream/framework/run_kernel.h"

namespace millstream {

// Runs the CPU kernel of an op once. Attributes that name the type of a single input or the length of a list are found
// from the inputs where `attrs` does not give them.
inline StatusOr<std::vector<Tensor>> RunOp(const char* name, std::vector<Tensor> inputs,
                                           std::vector<std::pair<const char*, AttrValue>> attrs = {}) {
  ASSIGN_OR_RETURN(const OpEntry* op, OpRegistry::Global().Lookup(name));
  AttrMap map;
  for (auto& [key, value] : attrs) map.Set(key, value);
  size_t at = 0;
  for (const ArgDef& arg : op->def.inputs) {
    if (!arg.number_attr.empty() && !map.Has(arg.number_attr)) {
      // The first list takes what the single inputs leave, shared evenly if there are several lists.
      int64_t single = 0, lists = 0;
      for (const ArgDef& other : op->def.inputs) ++(other.number_attr.empty() ? single : lists);
      map.Set(arg.number_attr, (static_cast<int64_t>(inputs.size()) - single) / lists);
    }
    int64_t n = 1;
    if (!arg.number_attr.empty()) RETURN_IF_ERROR(map.Get(arg.number_attr, &n));
    if (!arg.type_attr.empty() && !map.Has(arg.type_attr) && at < inputs.size()) {
      map.Set(arg.type_attr, inputs[at].dtype());
    }
    at += static_cast<size_t>(n);
  }
  return RunKernel(*op, std::move(map), std::move(inputs), CpuDevice::SingleThreaded());
}

// As text, "[2] [1 2]": shape and values of output i; the error's message if it fails.
inline std::string RunToString(const char* name, std::vector<Tensor> inputs,
                               std::vector<std::pair<const char*, AttrValue>> attrs = {}, size_t i = 0) {
  auto result = RunOp(name, std::move(inputs), std::move(attrs));
  if (!result.ok()) return std::string(result.status().message());
  const Tensor& t = (*result)[i];
  const std::string values = t.SummarizeValue(1000);
  return t.shape().ToString() + " " + (t.rank() > 0 ? "[" + values + "]" : values);
}

// Values 0, 1, 2, ... in a tensor of the given shape.
template <typename T>
Tensor Iota(const Shape& shape) {
  Tensor t(kDTypeOf<T>, shape);
  for (int64_t i = 0; i < t.num_elements(); ++i) t.data<T>()[i] = static_cast<T>(i);
  return t;
}

}  // namespace millstream

#endif  // MILLSTREAM_OPS_ARRAY_TESTING_RUN_OP_H_
