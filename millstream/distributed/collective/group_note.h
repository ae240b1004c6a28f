// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_DISTRIBUTED_COLLECTIVE_GROUP_NOTE_H_
#define MILLSTREAM_DISTRIBUTED_COLLECTIVE_GROUP_NOTE_H_

#include <string>
#include <vector>

#include "millstream/framework/peer_link.h"

namespace millstream {

// What tasks tell each other about the collective ops of their graphs: a frame of kind kCollectiveGroup, whose edge is
// the kind of the note, whose tag is the epoch, and whose body has the group and the words, each after its length.
struct GroupNote {
  enum Kind : uint32_t {
    kJoin = 1,     // to the leader: size of the group, member
    kFormed = 2,   // from the leader: size, then member and task of each, in order
    kReady = 3,    // to the group's first task: kWordsPerReady words for each instance that its sender is ready for
    kRun = 4,      // from it, in the order in which all run: kWordsPerRun words for each instance
    kFail = 5,     // to all tasks of a group: status code, why
    kLeave = 6,    // to the leader: member, which no longer waits for the group to be formed
    kAsk = 7,      // to the leader or the first task: number of the question, instance
    kMissing = 8,  // the answer: number of the question, who has not come
  };
  // Instance, what, shape, shape of the source of a broadcast or "".
  static constexpr size_t kWordsPerReady = 4;
  // Instance, "+" if it belongs to the batch of the one before, status code, error, rank of the source's task, shape of
  // the source.
  static constexpr size_t kWordsPerRun = 6;

  uint32_t kind = 0;
  uint64_t epoch = 0;
  std::string group;
  std::vector<std::string> words;

  Frame ToFrame() const;
  // InvalidArgument if it is malformed or larger than such notes are.
  static StatusOr<GroupNote> FromFrame(const Frame& frame);

  // A note of kind kFail, and the status that one carries.
  static GroupNote Failure(std::string group, uint64_t epoch, const Status& why);
  Status failure() const;
};

// The status code that a word holds; Aborted if it holds none.
absl::StatusCode StatusCodeFromWord(absl::string_view word);

}  // namespace millstream

#endif  // MILLSTREAM_DISTRIBUTED_COLLECTIVE_GROUP_NOTE_H_
