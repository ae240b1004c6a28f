// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_LAUNCH_ELASTIC_WORLD_H_
#define MILLSTREAM_LAUNCH_ELASTIC_WORLD_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace millstream::launch {

// Which workers of an elastic job train together. Every change makes a new world, with the next version. A world is
// formed when all its members have announced its version, so none of them begins to use it before all others have left
// the one before. Not thread-safe.
class ElasticWorld {
 public:
  struct World {
    int64_t version = 0;
    std::vector<int> tasks;  // rank by rank
  };

  explicit ElasticWorld(int min_workers) : min_workers_(min_workers) {}

  // The process of a task was started: the first world waits for it, later ones do not.
  void Start(int task) { started_[task] = -1; }
  // A running task is ready for a version; 0: for whichever it will be in. The version after that of the formed world
  // says that the task has left it because a collective failed: the same members form another one.
  void Announce(int task, int64_t version);
  // Its process has ended, or is to end.
  void Leave(int task);
  // Its process has ended well: the others may be about to, and are not held up because they are few.
  void Finish(int task);

  // Brings worlds up to date; true if one has changed.
  bool Advance();

  const std::optional<World>& formed() const { return formed_; }
  const std::optional<World>& pending() const { return pending_; }
  // It belongs to the formed world, in the process that was started last.
  bool IsMember(int task) const { return member_since_.contains(task); }
  // The first version of the formed worlds that it has belonged to without a break; the largest number: it is no
  // member. Who has been there longest has the state of the training for certain.
  int64_t MemberSince(int task) const;
  int num_started() const { return static_cast<int>(started_.size()); }
  bool has_enough() const { return finished_ || num_started() >= min_workers_; }
  bool has_finished() const { return finished_; }
  // What workers read: {"formed": {"version": 3, "tasks": [0, 2]}, "pending": null}.
  std::string ToJson() const;

 private:
  const World* latest() const { return pending_ ? &*pending_ : formed_ ? &*formed_ : nullptr; }
  std::vector<int> Members() const;
  bool AllAreReady() const;
  bool IsLeft() const;
  void Form();

  const int min_workers_;
  std::map<int, int64_t> started_;  // with the version each has announced; -1: none yet
  std::optional<World> formed_, pending_;
  std::map<int, int64_t> member_since_;
  int64_t version_ = 0;
  bool finished_ = false;
};

}  // namespace millstream::launch

#endif  // MILLSTREAM_LAUNCH_ELASTIC_WORLD_H_
