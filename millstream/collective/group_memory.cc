// SPDX-License-Identifier: Apache-2.0
// How the members of a group come to share memory.
#include <numeric>

#include "millstream/collective/algorithms/direct.h"
#include "millstream/collective/group.h"

namespace millstream::collective {
namespace {

constexpr int kAgreePhase = 5, kNamePhase = 6;
constexpr size_t kAlign = 4096;

// The segment that the first rank of a channel has made; it tells the others its name. A name without bytes: it failed.
Status TellName(Channel& channel, SegmentName* name) {
  return TreeBroadcast(channel, reinterpret_cast<char*>(name), sizeof(*name), 0);
}

StatusOr<SharedSegment> MakeOrOpen(bool maker, size_t bytes, const std::function<Status(SegmentName*)>& tell) {
  StatusOr<SharedSegment> segment = errors::Unavailable("not made");
  SegmentName name;
  if (maker) {
    segment = SharedSegment::Create(bytes);
    if (segment.ok()) name = segment->name();
  }
  if (Status told = tell(&name); !told.ok()) return errors::Aborted(told.message());
  if (!maker) segment = SharedSegment::Open(name);
  if (segment.ok() && segment->bytes() < bytes) return errors::InvalidArgument("a shared segment is too small");
  return segment;
}

}  // namespace

// All members of the group agree on whether those of each host share memory: the choice of algorithms depends on it.
Status Group::ShareMemory() {
  const uint64_t operation = ++operation_;
  transport_->Enter(operation);
  const Deadline started = std::chrono::steady_clock::now(), deadline = started + options_.timeout;
  const std::vector<int>& local = topology_.hosts[topology_.host_of(rank_)];
  const int ranks = static_cast<int>(local.size());
  int32_t usable = options_.shared_memory ? 1 : 0;
  StatusOr<SharedSegment> segment = errors::Unavailable("not needed");
  SegmentName* const name = reinterpret_cast<SegmentName*>(names_.Get(sizeof(SegmentName)));
  if (ranks > 1) {
    Channel channel = MakeChannel(local, operation, kNamePhase, deadline);
    segment = MakeOrOpen(local[0] == rank_, SharedArena::SegmentBytes(ranks), [&](SegmentName* own) {
      *name = *own;
      const Status told = TellName(channel, name);
      *own = *name;
      return told;
    });
    if (!segment.ok()) usable = 0;
  }
  std::vector<int> all(members_.size());
  std::iota(all.begin(), all.end(), 0);
  Channel channel = MakeChannel(std::move(all), operation, kAgreePhase, deadline);
  int32_t* const agreed = reinterpret_cast<int32_t*>(names_.Get(sizeof(SegmentName)));
  *agreed = usable;
  const Status status = TreeAllReduce(channel, {agreed, 1, DType::kInt32, ReduceOp::kMin, size()});
  if (!status.ok()) return Fail("forming", operation, status, started);
  if (*agreed == 0) return OkStatus();
  topology_.shared_memory = true;
  if (ranks == 1) return OkStatus();
  segment->CloseDescriptor();
  arena_ = std::make_unique<SharedArena>(*std::move(segment), topology_.local_rank(rank_), local);
  transport_->OnAbort([arena = arena_.get()](const Status& why) { arena->Interrupt(why); });
  const Status lending = arena_->AgreeOnLending(deadline);
  return lending.ok() ? lending : Fail("forming", operation, lending, started);
}

StatusOr<char*> Group::AllocateShared(size_t bytes) {
  const size_t part = (bytes + kAlign - 1) / kAlign * kAlign;
  if (arena_ != nullptr && topology_.single_host()) {
    Status failed;
    StatusOr<SharedSegment> segment =
        MakeOrOpen(rank_ == 0, part * static_cast<size_t>(size()),
                   [&](SegmentName* name) { return failed = Broadcast(name, sizeof(*name), 0); });
    RETURN_IF_ERROR(failed);
    int32_t usable = segment.ok() ? 1 : 0;
    RETURN_IF_ERROR(AllReduce(&usable, 1, DType::kInt32, ReduceOp::kMin));
    if (usable == 1) {
      segment->CloseDescriptor();
      arena_->AddShared(*std::move(segment), part);
      return arena_->shared_part(arena_->num_shared() - 1, rank_);
    }
  }
  allocated_.push_back(std::make_unique<Scratch>());
  char* const memory = allocated_.back()->Get(std::max<size_t>(part, 1));
  if (memory == nullptr) return errors::ResourceExhausted("No memory for ", bytes, " bytes");
  return memory;
}

}  // namespace millstream::collective
