// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_DISTRIBUTED_COLLECTIVE_ROUND_BOARD_H_
#define MILLSTREAM_DISTRIBUTED_COLLECTIVE_ROUND_BOARD_H_

#include <deque>
#include <map>
#include <string>
#include <vector>

#include "millstream/base/status.h"
#include "millstream/distributed/collective/group_layout.h"

namespace millstream {

// What one task tells the first task of a group about its part of a round. Parts fit together if `what` and `shape` are
// equal.
struct RoundPart {
  std::string what;          // kind, type and reduction; of a part that cannot be run: kBad and the reason
  std::string shape;         // of one member's tensor
  std::string source_shape;  // of a tensor that a member of this task broadcasts; "": none does
  size_t bytes = 0;          // of one member's tensor; only the first task's own part has it
  bool may_fuse = false;     // with other rounds; only the first task's own part has it

  static constexpr char kBad = '!';
  // `members`: of the whole group. Checks what one task can tell to be wrong.
  static RoundPart Of(const collective::OpRound& round, size_t members);
};

// What all tasks of a group are told to run, or the error that it has everywhere.
struct RoundOrder {
  std::string instance;
  Status error;
  RoundPlan plan;
};

// Where the first task of a group keeps account of which tasks are ready for which rounds. Not thread-safe.
class RoundBoard {
 public:
  RoundBoard(std::string group, std::vector<std::string> tasks) : group_(std::move(group)), tasks_(std::move(tasks)) {}

  // False if a task has more rounds open than any graph has.
  bool SetReady(size_t rank, const std::string& instance, RoundPart part);
  bool has_complete() const { return !complete_.empty(); }
  // What is run next, in one go: one round, or several small reductions of the same type. REQUIRES: has_complete().
  std::vector<RoundOrder> TakeBatch();
  // Tasks that are not ready for the instance.
  std::string MissingIn(const std::string& instance) const;

 private:
  struct Complete {
    RoundOrder order;
    std::string what;
    size_t bytes;
    bool may_fuse;
  };
  RoundOrder Decide(const std::string& instance, const std::vector<RoundPart>& parts) const;

  const std::string group_;
  const std::vector<std::string> tasks_;
  std::map<std::string, std::vector<std::deque<RoundPart>>> ready_;  // by instance and rank of the task
  std::deque<Complete> complete_;                                    // at all tasks, in the order that it became so
};

}  // namespace millstream

#endif  // MILLSTREAM_DISTRIBUTED_COLLECTIVE_ROUND_BOARD_H_
