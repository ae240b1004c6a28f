// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_DEVICES_CUDA_FUSION_ELEMENT_PROGRAM_H_
#define MILLSTREAM_DEVICES_CUDA_FUSION_ELEMENT_PROGRAM_H_

#include <string>
#include <vector>

#include "millstream/framework/element_ops.h"
#include "millstream/graph/fusion/fused_body.h"

namespace millstream::cuda {

// What a fused node does for each element of its groups' common shape: read values, compute, write values. Values are
// numbered, those that are read first.
struct ElementProgram {
  struct Load {
    int arg;
    const Node* part = nullptr;  // a split or slice of the argument
    int part_output = 0;
    DType dtype;
  };
  struct Step {
    const Node* node;
    const ElementOp* op;
    std::vector<int> operands;  // values
    std::vector<DType> operand_types;
    DType dtype;
  };
  struct Store {
    int result;
    int value;
    const Node* concat = nullptr;  // the result has the value at this position of a concat
    int position = 0;
    DType dtype;
  };
  std::vector<Load> loads;
  std::vector<Step> steps;
  std::vector<Store> stores;
};

// InvalidArgument for what no pass would make. The program refers to nodes of the body.
StatusOr<ElementProgram> MakeElementProgram(const FusedBody& body);

// Where one load or store finds element i of the common shape.
enum class Reach : char {
  kOne = 's',     // the same for all
  kAll = 'f',     // at i
  kRows = 'v',    // neighbours along the last dimension lie side by side
  kRepeat = 'b',  // the same along the last dimension
  kSteps = 'g',   // neighbours lie a step apart
};

// What code depends on beside the program: the number of dimensions that are left after merging, how many neighbours
// are handled at once, and the reach of each load and store. Everything else is given to the kernel when it is
// launched:
//   the addresses of loads and stores
//   u[0]: the number of groups of `lanes` elements; u[1], ...: the dimensions but the first, the last one first and in
//   groups; then the steps of each load and store with kRows and kRepeat (along all dimensions but the last), or kSteps
struct KernelForm {
  int rank = 1;
  int lanes = 1;
  std::vector<Reach> loads, stores;

  int NumSteps(Reach reach) const {
    return reach == Reach::kSteps ? rank : reach == Reach::kRows || reach == Reach::kRepeat ? rank - 1 : 0;
  }
  int NumNumbers() const;
};

// CUDA C++ of a kernel called `fused`. The same for programs that differ in names only.
std::string ElementKernelSource(const ElementProgram& program, const KernelForm& form);

inline constexpr int kFusedThreads = 256;

}  // namespace millstream::cuda

#endif  // MILLSTREAM_DEVICES_CUDA_FUSION_ELEMENT_PROGRAM_H_
