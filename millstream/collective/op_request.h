// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_COLLECTIVE_OP_REQUEST_H_
#define MILLSTREAM_COLLECTIVE_OP_REQUEST_H_

#include <functional>
#include <string>
#include <vector>

#include "millstream/base/cancellation.h"
#include "millstream/collective/algorithms/reduce.h"
#include "millstream/tensor/tensor.h"

namespace millstream::collective {

// What collective ops of graphs do. The numbers are TensorFlow's, which stand in messages.
enum class OpKind : uint8_t { kReduce = 0, kBroadcast = 1, kGather = 2, kAllToAll = 4, kReduceScatter = 5 };

absl::string_view OpKindName(OpKind kind);

// One op's part in a collective.
struct OpRequest {
  OpKind kind = OpKind::kReduce;
  std::string group;  // ops with the same group and instance belong together
  std::string instance;
  int group_size = 1;
  std::string member;  // who takes part: a device, or the rank in a communicator. Members are ordered by this
  DType dtype = DType::kFloat;
  ReduceOp op = ReduceOp::kSum;
  int64_t together = 0;      // reductions of the group that updates of the step wait for together with this one, itself
                             // included; 0: not known
  int64_t gate = 0;          // which updates of the step these are
  bool is_source = false;    // of a broadcast
  Tensor input;              // none for receivers of a broadcast
  bool one_process = false;  // all members are in this process
  double timeout_seconds = 0;  // 0: none
  Cancellation* cancellation = nullptr;
  const void* user = nullptr;  // whose op it is: a session. It is told of every failure of the group; null: it is not
};

using OpDone = std::function<void(Status status, Tensor output)>;

// "/device:CPU:2" before "/device:CPU:10": numbers in names are compared as numbers.
bool MemberLess(const std::string& a, const std::string& b);

// The requests of all members of a group, in their order, in one process: sets an output for each. InvalidArgument
// ("Shape mismatch") if they do not fit together.
Status RunLocally(const std::vector<const OpRequest*>& requests, std::vector<Tensor>* outputs);

// Parts of it, for collectives with other processes too. InvalidArgument names members whose shapes differ.
Status CheckSameShapes(const std::vector<const OpRequest*>& requests);
// Whether an input of this shape can be gathered or divided among so many members.
Status CheckInput(const OpRequest& request, int64_t members);
// The shape of what `members` inputs of this shape give together. InvalidArgument if it has too many elements.
StatusOr<Shape> GatheredShape(const Shape& each, int64_t members);
StatusOr<Tensor> ReduceRequests(const std::vector<const OpRequest*>& requests, int total_members);

}  // namespace millstream::collective

#endif  // MILLSTREAM_COLLECTIVE_OP_REQUEST_H_
