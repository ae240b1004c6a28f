// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_COLLECTIVE_GROUP_H_
#define MILLSTREAM_COLLECTIVE_GROUP_H_

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "millstream/collective/algorithms/algorithm.h"
#include "millstream/collective/algorithms/algorithms.h"
#include "millstream/collective/algorithms/channel.h"
#include "millstream/collective/algorithms/shared_arena.h"
#include "millstream/collective/backend.h"
#include "millstream/collective/transport/transport.h"

namespace millstream::collective {

struct Member {
  std::string name;     // "worker:3"
  std::string address;  // "host:port"; "": not known
  std::string host;     // equal for members that can share memory
  std::string ToString() const { return address.empty() ? name : name + " at " + address; }
};

struct GroupOptions {
  std::string name;                           // in messages
  uint64_t epoch = 0;                         // grows each time that the group is re-formed
  std::chrono::milliseconds timeout{60'000};  // of each collective
  bool shared_memory = true;                  // between members of one host, if the system allows it
  Algorithm algorithm = Algorithm::kAuto;     // where it can be used
};

// The order in which ranks' elements are added. All orders are the same from run to run for the same array.
enum class SumOrder : uint8_t {
  kFastest,
  kAnyPlace,  // also the same wherever in the array an element is, so that several arrays may be reduced as one
};

// Ranks that compute together: one object per rank, and nothing global, so that one process may have many. All members
// call the same collectives in the same order; each call returns when this rank has its result, or fails everywhere.
//
// Results are the same, bit for bit, at all ranks, and from run to run for the same algorithm and number of ranks.
//
// Every call ends: after the timeout with DeadlineExceeded, which says who has not entered ("worker:3 at host:port has
// not entered all-reduce 1842 for 60 s"); with Unavailable if a member is gone; with Aborted if another member gave up.
// Then the epoch is over for all members (Abort()), and those who are left may form a new group (AgreeOnSurvivors()).
//
// Collectives are called by one thread at a time; Abort() and status() by any.
class Group {
 public:
  // Members that share a host agree on memory to share: the first collective call, which blocks.
  static StatusOr<std::unique_ptr<Group>> Make(std::vector<Member> members, int rank,
                                               std::unique_ptr<Transport> transport, GroupOptions options);
  ~Group();

  int rank() const { return rank_; }
  int size() const { return static_cast<int>(members_.size()); }
  uint64_t epoch() const { return options_.epoch; }
  const std::vector<Member>& members() const { return members_; }
  const Topology& topology() const { return topology_; }

  // In place. REQUIRES: CanReduce(dtype), else InvalidArgument.
  Status AllReduce(void* data, int64_t count, DType dtype, ReduceOp op, SumOrder order = SumOrder::kFastest) {
    return AllReduceInto(data, data, count, dtype, op, order);
  }
  // Leaves `from` as it is. The two do not overlap, unless they are the same.
  Status AllReduceInto(const void* from, void* to, int64_t count, DType dtype, ReduceOp op, SumOrder order);
  // Reduces an array of sum(counts) elements; part `rank` of it is then complete, the rest holds nothing of use.
  Status ReduceScatter(void* data, std::span<const int64_t> counts, DType dtype, ReduceOp op);
  // `data` has room for the parts of all ranks, `bytes` each; the own one is in its place.
  Status AllGather(void* data, std::span<const size_t> bytes);
  // Parts whose sizes only their owners know; afterwards everybody does.
  StatusOr<std::vector<size_t>> AllGatherSizes(size_t own_bytes);
  Status Broadcast(void* data, size_t bytes, int root);
  // Part i of `in` goes to rank i, part i of `out` comes from rank i. What a rank sends to another is what that
  // expects.
  Status AllToAll(const void* in, std::span<const size_t> in_bytes, void* out, std::span<const size_t> out_bytes);
  Status Barrier();

  // From now on another library, "mpi" or "gloo" (backend.h), runs what it can: all-reduces, all-gathers, broadcasts
  // and barriers, whose sums are then in its order; everything else stays as it is, deadlines and errors too. A
  // collective call. FailedPrecondition, at all ranks, if one does not have it; then nothing has changed.
  Status UseBackend(const std::string& name);
  // "own", or that library.
  const char* backend() const { return backend_ == nullptr ? "own" : backend_->name(); }

  // Memory for data that is reduced often: where the ranks share a host, all-reduce works on it without a copy. A
  // collective call with the same size everywhere. It lives as long as the group, and is aligned to 64 bytes.
  StatusOr<char*> AllocateShared(size_t bytes);

  // After the end of the epoch: who goes on, as ranks of this epoch in order, the own one among them. All survivors
  // call it, and those who do within `patience` are in. They then make a group of the next epoch. Unavailable if the
  // others have decided without this rank.
  StatusOr<std::vector<int>> AgreeOnSurvivors(std::chrono::milliseconds patience);

  // For those who will not call a collective at once: while it waits, a rank reads its links itself, and they are slow
  // to notice its absence (some milliseconds). By the thread that calls the collectives.
  void Rest() { transport_->Rest(); }

  // Ends the epoch at all members, now.
  void Abort(const Status& why);
  Status status() const { return transport_->status(); }

 private:
  using Body = std::function<Status(Algorithm algorithm, uint64_t operation, Deadline deadline)>;
  Group(std::vector<Member> members, int rank, std::unique_ptr<Transport> transport, GroupOptions options);
  Status ShareMemory();
  // `wanted` where neither the options name another algorithm nor memory is shared; kAuto: by size.
  Status Run(Collective collective, size_t bytes, const Body& body, Algorithm wanted = Algorithm::kAuto);
  // Runs what the back end does.
  Status RunBackend(Collective collective, const std::function<Status(const Backend::Stop&)>& body);
  Algorithm Choose(Collective collective, size_t bytes, Algorithm wanted) const;
  Status Fail(absl::string_view what, uint64_t operation, const Status& why, Deadline started);
  // "worker:3 at host:port has not entered all-reduce 1842 for 60 s"
  std::string Stragglers(absl::string_view what, uint64_t operation, int64_t seconds);
  Channel MakeChannel(std::vector<int> ranks, uint64_t operation, int phase, Deadline deadline);
  Channel AllRanks(uint64_t operation, Deadline deadline);

  const std::vector<Member> members_;
  const int rank_;
  const GroupOptions options_;
  const std::unique_ptr<Transport> transport_;
  Topology topology_;
  Scratch scratch_, names_;
  std::unique_ptr<SharedArena> arena_;               // of the members on this host; null: none
  std::vector<std::unique_ptr<Scratch>> allocated_;  // where no memory is shared
  std::unique_ptr<Backend> backend_;                 // null: our own algorithms
  uint64_t operation_ = 0;
};

}  // namespace millstream::collective

#endif  // MILLSTREAM_COLLECTIVE_GROUP_H_
