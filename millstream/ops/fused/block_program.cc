// SPDX-License-Identifier: Apache-2.0
#include "millstream/ops/fused/block_program.h"

#include <algorithm>

#include "absl/container/flat_hash_map.h"
#include "millstream/framework/element_ops.h"

namespace millstream {
namespace {

// Nanoseconds: what an op on its own pays for each element that goes through memory, here all of them together, and
// what the quickest pay for the rest.
constexpr double kCostOfMemory = 0.25, kLeastCost = 0.05;

// Types whose elements every loop computes without errors.
bool HasBlocks(DType type) {
  return type == DType::kFloat || type == DType::kDouble || type == DType::kHalf || type == DType::kBfloat16 ||
         type == DType::kBool;
}

}  // namespace

int BlockProgram::AddValue(DType dtype) {
  values_.push_back({Value::kScratch, 0, static_cast<int>(DTypeSize(dtype))});
  types_.push_back(dtype);
  max_size_ = std::max(max_size_, values_.back().size);
  return static_cast<int>(values_.size()) - 1;
}

void BlockProgram::AddStep(const ElementKernel* kernel, bool broadcasts, const int* operands, int num, int result) {
  Step step;
  step.kernel = kernel;
  step.broadcasts = broadcasts;
  step.num_operands = num;
  step.result = result;
  const auto at = static_cast<int>(steps_.size());
  for (int i = 0; i < num; ++i) {
    step.operands[i] = operands[i];
    step.reads_values |= operands[i] >= num_args_;
    values_[static_cast<size_t>(operands[i])].last_read = at;
  }
  values_[static_cast<size_t>(result)].made = at;
  cost_ += std::max(kLeastCost, kernel->ElementCost() - kCostOfMemory);
  steps_.push_back(step);
}

bool BlockProgram::AddMember(const Node& node, const Kernel* kernel, std::vector<int> operands) {
  const ElementOp* const op = FindElementOp(node.type());
  const auto* const loops = dynamic_cast<const ElementKernel*>(kernel);
  if (op == nullptr || loops == nullptr || node.num_outputs() != 1 || !HasBlocks(node.output_type(0))) return false;
  if (op->role == ElementRole::kFormula) {
    if (operands.empty() || operands.size() > 3) return false;
    const int result = AddValue(node.output_type(0));
    AddStep(loops, op->broadcasts, operands.data(), static_cast<int>(operands.size()), result);
    return true;
  }
  if (op->role != ElementRole::kSum || operands.size() < 2) return false;
  for (size_t i = 1; i < operands.size(); ++i) {  // as AddN does: from the first on
    const int result = AddValue(node.output_type(0));
    const int terms[] = {operands[0], operands[i]};
    AddStep(loops, false, terms, 2, result);
    operands[0] = result;
  }
  return true;
}

std::unique_ptr<BlockProgram> BlockProgram::Make(const FusedBody& body, const MemberKernels& kernels) {
  auto made = std::make_unique<BlockProgram>();
  absl::flat_hash_map<const Node*, int> value_of;
  for (const Node* arg : body.args) {
    if (!HasBlocks(arg->output_type(0))) return nullptr;
    value_of[arg] = made->AddValue(arg->output_type(0));
    made->values_.back().place = Value::kArg;
    made->values_.back().index = made->num_args_++;
  }
  for (size_t i = 0; i < body.members.size(); ++i) {
    const Node& node = *body.members[i];
    std::vector<int> operands;
    for (const millstream::Output& in : node.inputs()) {
      const auto known = value_of.find(in.node);
      if (known == value_of.end() || in.index != 0) return nullptr;
      operands.push_back(known->second);
    }
    if (!made->AddMember(node, kernels.kernel(i), std::move(operands))) return nullptr;
    value_of[&node] = static_cast<int>(made->values_.size()) - 1;
    if (made->values_.size() > kMaxValues) return nullptr;
  }
  std::vector<int> results;
  for (const millstream::Output& result : body.results) {
    const auto known = value_of.find(result.node);
    if (known == value_of.end() || result.index != 0) return nullptr;
    results.push_back(known->second);
  }
  made->cost_ += kCostOfMemory;
  if (made->steps_.empty() || !made->SetOutputs(body, results)) return nullptr;
  made->PlaceInScratch();
  return made;
}

bool BlockProgram::SetOutputs(const FusedBody& body, const std::vector<int>& values) {
  for (const int v : values) {
    Value& value = values_[static_cast<size_t>(v)];
    if (value.place != Value::kScratch) return false;  // an argument, or twice the same
    value.place = Value::kOutput;
    value.index = static_cast<int>(outputs_.size());
    Output output{v, {}};
    for (int a = 0; a < num_args_; ++a) {
      const auto arg = static_cast<size_t>(a);
      if (types_[arg] == types_[static_cast<size_t>(v)] && values_[arg].last_read <= value.made)
        output.may_take.push_back(a);
    }
    outputs_.push_back(std::move(output));
  }
  return !outputs_.empty() && body.results.size() == outputs_.size();
}

// Each value that is no output gets a place that no other value needs from the step that makes it to its last reader.
void BlockProgram::PlaceInScratch() {
  std::vector<int> free;
  for (size_t i = 0; i < steps_.size(); ++i) {
    const auto step = static_cast<int>(i);
    Value& result = values_[static_cast<size_t>(steps_[i].result)];
    // A loop may write over what it reads for the last time, if the elements lie alike.
    const auto release = [&](bool alike) {
      for (int k = 0; k < steps_[i].num_operands; ++k) {
        Value& v = values_[static_cast<size_t>(steps_[i].operands[k])];
        if (v.place != Value::kScratch || v.last_read != step || (v.size == result.size) != alike) continue;
        if (std::find(free.begin(), free.end(), v.index) == free.end()) free.push_back(v.index);
      }
    };
    release(/*alike=*/true);
    if (result.place == Value::kScratch) {
      if (free.empty()) free.push_back(num_scratch_++);
      result.index = free.back();
      free.pop_back();
      if (result.last_read < 0) free.push_back(result.index);
    }
    release(/*alike=*/false);
  }
}

}  // namespace millstream
