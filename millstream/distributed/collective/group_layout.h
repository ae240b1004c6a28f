// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_DISTRIBUTED_COLLECTIVE_GROUP_LAYOUT_H_
#define MILLSTREAM_DISTRIBUTED_COLLECTIVE_GROUP_LAYOUT_H_

#include <memory>
#include <string>
#include <vector>

#include "millstream/collective/group.h"
#include "millstream/collective/op_hub.h"

namespace millstream {

// Which members of a group are in which task. Members are in the order of the group; a task's number is its rank.
struct GroupLayout {
  struct Place {
    size_t task;   // rank of the member's task
    size_t index;  // among the members of that task
  };
  std::vector<std::string> members;
  std::vector<std::string> tasks;
  std::vector<Place> places;       // of each member
  std::vector<size_t> members_of;  // how many each task has

  // `pairs`: member and task, again and again.
  static GroupLayout Of(const std::vector<std::string>& pairs);
  // -1: none.
  int RankOf(const std::string& task) const;
};

// Reductions of at most kMayFuseBytes are fused with others, up to kFusedBytes together.
inline constexpr size_t kMayFuseBytes = size_t{256} << 10, kFusedBytes = size_t{4} << 20;

// "[2,3]", for messages between tasks.
std::string DimsOf(const Shape& shape);

// What the first task has found out about a round.
struct RoundPlan {
  size_t source_task = 0;
  std::string source_shape;
};

// Runs the parts of a round in all tasks; an output for each member of this one. An error ends the epoch.
Status RunAcrossTasks(collective::Group& group, const GroupLayout& layout, const collective::OpRound& round,
                      const RoundPlan& plan, std::vector<Tensor>* outputs);
// Reductions of the same type by the same op, as one; the outputs of each. The results are those of RunAcrossTasks().
Status ReduceFused(collective::Group& group, const GroupLayout& layout,
                   const std::vector<std::shared_ptr<collective::OpRound>>& rounds,
                   std::vector<std::vector<Tensor>>* outputs);

}  // namespace millstream

#endif  // MILLSTREAM_DISTRIBUTED_COLLECTIVE_GROUP_LAYOUT_H_
