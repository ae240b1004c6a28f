// SPDX-License-Identifier: Apache-2.0
#include "millstream/framework/run_kernel.h"

#include "millstream/base/memory_budget.h"

namespace millstream {

StatusOr<std::vector<Tensor>> RunKernel(const OpEntry& op, AttrMap attrs, std::vector<Tensor> inputs, Device* device,
                                        ResourceManager* resources) {
  RETURN_IF_ERROR(CompleteAttrs(op.def, &attrs));
  std::vector<DType> input_types, output_types;
  RETURN_IF_ERROR(ArgTypes(op.def.inputs, attrs, &input_types));
  RETURN_IF_ERROR(ArgTypes(op.def.outputs, attrs, &output_types));
  if (input_types.size() != inputs.size()) {
    return errors::InvalidArgument(op.def.name, " takes ", input_types.size(), " inputs, got ", inputs.size());
  }
  const std::string name = op.def.name;
  ASSIGN_OR_RETURN(const KernelDef* def, FindKernel(op, device->attributes().type, attrs, name));
  KernelInit init(op.def, name, attrs, device, resources, nullptr, input_types, output_types);
  ASSIGN_OR_RETURN(std::unique_ptr<Kernel> kernel, def->factory(init));

  std::vector<Entry> in(inputs.size()), out(output_types.size());
  std::vector<Entry*> pointers;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!TypesCompatible(input_types[i], inputs[i].dtype())) {
      return errors::InvalidArgument(op.def.name, ": input ", i, " is ", DTypeName(inputs[i].dtype()), ", expected ",
                                     DTypeName(input_types[i]));
    }
    in[i].tensor = std::move(inputs[i]);
    in[i].uses.store(1, std::memory_order_relaxed);
    pointers.push_back(&in[i]);
  }
  Cancellation cancellation;
  StepContext step;
  step.resources = resources;
  step.step_resources = resources;
  step.cancellation = &cancellation;
  step.pool = device->pool();
  KernelContext ctx(KernelContext::Frame{&step, device, &op.def, &name, pointers.data(), nullptr,
                                         static_cast<int>(in.size()), out.data(), output_types.data(),
                                         static_cast<int>(out.size())});
  RETURN_IF_ERROR(CatchOutOfMemory([&] {
    const AllocationsMayFail may_fail;
    return kernel->Compute(ctx);
  }));
  std::vector<Tensor> results;
  for (Entry& e : out) results.push_back(std::move(e.tensor));
  return results;
}

}  // namespace millstream
