// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_OPS_FUSED_BLOCK_PROGRAM_H_
#define MILLSTREAM_OPS_FUSED_BLOCK_PROGRAM_H_

#include <memory>
#include <vector>

#include "millstream/ops/elements/element_kernel.h"
#include "millstream/ops/fused/member_kernels.h"

namespace millstream {

// How the CPU runs a fused body: in blocks that stay in the first-level cache, each through the loops of all members in
// turn. Operands that are repeated (scalars, rows, columns) are read where they are; what members make for each other
// never takes memory outside of the cache. The loops are those of the members' own kernels, so the results have the
// same bits as those of the members one by one.
class BlockProgram {
 public:
  // Null if a member is no op on elements, or there are more values than it pays to keep in blocks. `body` and
  // `kernels` outlive the result.
  static std::unique_ptr<BlockProgram> Make(const FusedBody& body, const MemberKernels& kernels);

  // Sets the outputs of a fused node. False, with nothing done, for inputs whose shapes do not give all members results
  // of one shape: the members must run one by one, and tell what is wrong if something is.
  StatusOr<bool> Run(KernelContext& ctx) const;

 private:
  struct Step {
    const ElementKernel* kernel = nullptr;
    bool broadcasts = false;    // operands may be smaller than the result
    bool reads_values = false;  // that are no arguments
    int num_operands = 0;
    int operands[3] = {};  // values
    int result = -1;
  };
  // Where a value is: an argument, an output of the node, or a part of each thread's scratch memory.
  struct Value {
    enum Place { kArg, kOutput, kScratch } place;
    int index;
    int size;                       // bytes of an element
    int made = -1, last_read = -1;  // steps
  };
  struct Output {
    int value;
    std::vector<int> may_take;  // arguments whose memory is not read any more when the value is written
  };
  struct Call;
  static constexpr int kMaxValues = 192;

  bool AddMember(const Node& node, const Kernel* kernel, std::vector<int> operands);
  void AddStep(const ElementKernel* kernel, bool broadcasts, const int* operands, int num, int result);
  int AddValue(DType dtype);
  bool SetOutputs(const FusedBody& body, const std::vector<int>& values);
  void PlaceInScratch();

  // block_run.cc
  bool ShapeOfStep(const KernelContext& ctx, const Step& step, Shape* shape) const;
  bool FitsShape(const KernelContext& ctx, const Step& step, const Call& call) const;
  bool FitArgs(const KernelContext& ctx, Call* call) const;
  bool ChooseBlock(Call* call) const;
  Status MakeOutputs(KernelContext& ctx, Call* call) const;
  bool RunRange(const Call& call, int64_t begin, int64_t end) const;

  std::vector<Value> values_;  // arguments first
  std::vector<Step> steps_;
  std::vector<Output> outputs_;
  std::vector<DType> types_;  // of values
  int num_args_ = 0;
  int num_scratch_ = 0;
  int max_size_ = 1;
  double cost_ = 0;
};

}  // namespace millstream

#endif  // MILLSTREAM_OPS_FUSED_BLOCK_PROGRAM_H_
