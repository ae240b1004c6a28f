// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_LAUNCH_RENDEZVOUS_H_
#define MILLSTREAM_LAUNCH_RENDEZVOUS_H_

#include <chrono>
#include <map>
#include <string>
#include <vector>

#include "millstream/base/status.h"

namespace millstream::launch {

// Where processes that were started together on several hosts meet: a folder that all of them see and no other user may
// enter. Each is a rank, 0 to size - 1. What an earlier run with the same name has left there does no harm. Not
// thread-safe.
class Rendezvous {
 public:
  // Makes the folder if it is not there. PermissionDenied if others may enter it.
  static StatusOr<Rendezvous> Open(const std::string& folder, int rank, int size);

  // Hands in one text and returns the texts of all ranks, by rank, and rank 0's word to all (`common`; that of others
  // is not read). Blocks until all have come; DeadlineExceeded says who has not. The common word may be secret: when
  // rank 0 returns, also with an error, it is no longer in the folder.
  struct Meeting {
    std::vector<std::string> texts;
    std::string common;
  };
  StatusOr<Meeting> Meet(const std::string& text, const std::string& common,
                         std::chrono::steady_clock::time_point deadline);

  // After Meet(): this rank's last word, which replaces the one before; and that of every rank that has said one.
  Status Say(const std::string& word);
  std::map<int, std::string> Words() const;
  // Removes what the meeting has put into the folder, and the folder.
  void Remove();

 private:
  Rendezvous(std::string folder, int rank, int size) : folder_(std::move(folder)), rank_(rank), size_(size) {}
  std::string PathOf(const std::string& name, int rank) const;
  StatusOr<Meeting> Gather(const std::string& common, std::chrono::steady_clock::time_point deadline);
  StatusOr<Meeting> GatherAll(const std::string& common, std::chrono::steady_clock::time_point deadline);
  // The ranks but 0 whose file `name` is not of this meeting.
  std::vector<int> Silent(const std::string& name) const;
  StatusOr<Meeting> AwaitRankZero(std::chrono::steady_clock::time_point deadline);

  std::string folder_;
  int rank_ = 0, size_ = 0;
  std::string id_;       // of this process
  std::string meeting_;  // of all
};

}  // namespace millstream::launch

#endif  // MILLSTREAM_LAUNCH_RENDEZVOUS_H_
