// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_OPS_FUSED_MEMBER_KERNELS_H_
#define MILLSTREAM_OPS_FUSED_MEMBER_KERNELS_H_

#include <memory>
#include <string>
#include <vector>

#include "millstream/graph/fusion/fused_body.h"

namespace millstream {

// The kernels of a fused body's members, called one after the other: what a fused node does where it is not compiled.
class MemberKernels {
 public:
  // Kernels for the device of `init`, which is of this type. `body` outlives the result.
  static StatusOr<std::unique_ptr<MemberKernels>> Make(const FusedBody& body, absl::string_view device_type,
                                                       const KernelInit& init);
  // Computes the outputs of a fused node. Errors are those of the members, and name them.
  Status Run(KernelContext& ctx) const;
  // Of the i-th member; null for constants.
  const Kernel* kernel(size_t i) const { return members_[i].kernel.get(); }

 private:
  struct Member {
    const Node* node;
    std::string name;                // of the node that it was in the graph
    std::unique_ptr<Kernel> kernel;  // null for constants
    Tensor value;
    std::vector<int> inputs;  // places in the list of values
    int first_output;
  };
  using Values = std::vector<Entry>;

  void CountUses(size_t num_args);
  Status RunMember(KernelContext& ctx, const Member& member, Values* values) const;

  std::vector<Member> members_;
  std::vector<int> results_;
  std::vector<int32_t> uses_;  // of each value, by members
  int num_values_ = 0;
};

// The shapes of the results, for shape functions and kernels.
StatusOr<std::vector<PartialShape>> FusedShapes(const FusedBody& body, const std::vector<PartialShape>& args);

}  // namespace millstream

#endif  // MILLSTREAM_OPS_FUSED_MEMBER_KERNELS_H_
