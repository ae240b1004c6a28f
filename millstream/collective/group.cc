// SPDX-License-Identifier: Apache-2.0
#include "millstream/collective/group.h"

#include <algorithm>
#include <numeric>

#include "absl/strings/str_join.h"
#include "millstream/collective/algorithms/direct.h"
#include "millstream/collective/algorithms/two_level.h"

namespace millstream::collective {
namespace {

using std::chrono::steady_clock;

constexpr int kAllPhase = 0, kPacePhase = 7;
// Roots of broadcasts need nobody's answer. So that no rank gets further ahead than its peers can store, all meet now
// and then.
constexpr uint64_t kPace = 256;
constexpr auto kAskPatience = std::chrono::seconds(1);

std::vector<int> Iota(int n) {
  std::vector<int> all(static_cast<size_t>(n));
  std::iota(all.begin(), all.end(), 0);
  return all;
}

std::vector<std::string> HostsOf(const std::vector<Member>& members) {
  std::vector<std::string> hosts;
  for (const Member& member : members) hosts.push_back(member.host);
  return hosts;
}

// The text with the member's name instead of "rank 3".
std::string WithName(std::string text, const std::vector<Member>& members) {
  for (size_t i = members.size(); i-- > 0;) {
    const std::string rank = absl::StrCat("rank ", i);
    const size_t at = text.find(rank);
    if (at != std::string::npos) return text.replace(at, rank.size(), members[i].ToString());
  }
  return text;
}

size_t Total(std::span<const size_t> bytes) { return std::accumulate(bytes.begin(), bytes.end(), size_t{0}); }

}  // namespace

Group::Group(std::vector<Member> members, int rank, std::unique_ptr<Transport> transport, GroupOptions options)
    : members_(std::move(members)),
      rank_(rank),
      options_(std::move(options)),
      transport_(std::move(transport)),
      topology_(Topology::Of(HostsOf(members_), false)) {}

Group::~Group() { transport_->OnAbort(nullptr); }

StatusOr<std::unique_ptr<Group>> Group::Make(std::vector<Member> members, int rank,
                                             std::unique_ptr<Transport> transport, GroupOptions options) {
  if (rank < 0 || rank >= static_cast<int>(members.size())) {
    return errors::InvalidArgument("Rank ", rank, " of a group of ", members.size());
  }
  auto group = std::unique_ptr<Group>(new Group(std::move(members), rank, std::move(transport), std::move(options)));
  if (group->size() > 1) RETURN_IF_ERROR(group->ShareMemory());
  return group;
}

Channel Group::MakeChannel(std::vector<int> ranks, uint64_t operation, int phase, Deadline deadline) {
  return Channel(transport_.get(), std::move(ranks), rank_, operation, phase, deadline, &scratch_);
}

Channel Group::AllRanks(uint64_t operation, Deadline deadline) {
  return MakeChannel(Iota(size()), operation, kAllPhase, deadline);
}

Algorithm Group::Choose(Collective collective, size_t bytes, Algorithm wanted) const {
  if (CanUse(options_.algorithm, collective, topology_)) return options_.algorithm;
  const Algorithm usual = ChooseAlgorithm(collective, topology_, bytes);
  return wanted == Algorithm::kAuto || usual == Algorithm::kDirect ? usual : wanted;
}

Status Group::Run(Collective collective, size_t bytes, const Body& body, Algorithm wanted) {
  RETURN_IF_ERROR(transport_->status());
  const uint64_t operation = ++operation_;
  transport_->Enter(operation);
  const Deadline started = steady_clock::now(), deadline = started + options_.timeout;
  const Algorithm algorithm = Choose(collective, bytes, wanted);
  Status status;
  if (operation % kPace == 0 && algorithm != Algorithm::kDirect) {
    Channel pace = MakeChannel(Iota(size()), operation, kPacePhase, deadline);
    status = DisseminationBarrier(pace);
  }
  if (status.ok()) status = body(algorithm, operation, deadline);
  return status.ok() ? status : Fail(CollectiveName(collective), operation, status, started);
}

Status Group::Fail(absl::string_view what, uint64_t operation, const Status& why, Deadline started) {
  Status status = why;
  const Status ended = transport_->status();
  if (!ended.ok()) {
    status = ended;
  } else if (absl::IsDeadlineExceeded(why)) {
    const int64_t seconds = std::chrono::round<std::chrono::seconds>(steady_clock::now() - started).count();
    const std::string who = Stragglers(what, operation, seconds);
    status = errors::DeadlineExceeded(who.empty() ? absl::StrCat("All members have entered ", what, " ", operation,
                                                                 ", but it has not ended after ", seconds,
                                                                 " s: ", WithName(std::string(why.message()), members_))
                                                  : who);
  }
  Abort(status);
  return WithContext(status, absl::StrCat("Group '", options_.name, "' (", what, " ", operation, ")"));
}

std::string Group::Stragglers(absl::string_view what, uint64_t operation, int64_t seconds) {
  const std::vector<Transport::RankState> states = transport_->States(steady_clock::now() + kAskPatience);
  std::vector<std::string> missing;
  for (size_t i = 0; i < states.size(); ++i) {
    if (!states[i].answered || states[i].entered < operation) missing.push_back(members_[i].ToString());
  }
  if (missing.empty()) return "";
  return absl::StrCat(absl::StrJoin(missing, ", "), missing.size() == 1 ? " has" : " have", " not entered ", what, " ",
                      operation, " for ", seconds, " s");
}

void Group::Abort(const Status& why) { transport_->Abort(why, /*tell=*/true); }

Status Group::AllReduceInto(const void* from, void* data, int64_t count, DType dtype, ReduceOp op, SumOrder order) {
  if (!CanReduce(dtype)) return errors::InvalidArgument("All-reduce of type ", DTypeName(dtype));
  const Reduction r = {data, count, dtype, op, size(), from};
  const auto in_place = [&] {
    if (from != data && count > 0) std::memcpy(data, from, r.bytes());
  };
  if (size() == 1) {
    in_place();
    return OkStatus();
  }
  if (backend_ != nullptr && (order == SumOrder::kFastest || size() == 2) &&
      backend_->CanReduceArrays(dtype, op, count)) {
    in_place();
    return RunBackend(Collective::kAllReduce, [&](const Backend::Stop& stop) {
      RETURN_IF_ERROR(backend_->AllReduce(data, count, dtype, op, stop));
      r.FinishPart(0, count);
      return OkStatus();
    });
  }
  // With two ranks there is one order; halving and doubling pairs the same ranks for all elements.
  const Algorithm wanted = order == SumOrder::kAnyPlace && size() > 2 ? Algorithm::kHalvingDoubling : Algorithm::kAuto;
  const Body body = [&](Algorithm algorithm, uint64_t operation, Deadline deadline) {
    if (algorithm == Algorithm::kDirect) return DirectAllReduce(*arena_, r, deadline);
    in_place();
    if (algorithm == Algorithm::kTwoLevel) {
      return TwoLevelAllReduce({topology_, rank_, arena_.get(), deadline,
                                [&](std::vector<int> ranks, int phase) {
                                  return MakeChannel(std::move(ranks), operation, phase, deadline);
                                }},
                               r);
    }
    Channel channel = AllRanks(operation, deadline);
    if (algorithm == Algorithm::kFlat) return FlatAllReduce(channel, r);
    if (algorithm == Algorithm::kTree) return TreeAllReduce(channel, r);
    if (algorithm == Algorithm::kHalvingDoubling) return HalvingDoublingAllReduce(channel, r);
    return RingAllReduce(channel, r);
  };
  return Run(Collective::kAllReduce, r.bytes(), body, wanted);
}

Status Group::ReduceScatter(void* data, std::span<const int64_t> counts, DType dtype, ReduceOp op) {
  if (!CanReduce(dtype)) return errors::InvalidArgument("Reduce-scatter of type ", DTypeName(dtype));
  if (counts.size() != members_.size()) {
    return errors::InvalidArgument("Reduce-scatter into ", counts.size(), " parts in a group of ", size());
  }
  const Reduction r = {data, std::accumulate(counts.begin(), counts.end(), int64_t{0}), dtype, op, size()};
  if (size() == 1) return OkStatus();
  return Run(Collective::kReduceScatter, r.bytes(), [&](Algorithm algorithm, uint64_t operation, Deadline deadline) {
    if (algorithm == Algorithm::kDirect) return DirectReduceScatter(*arena_, r, counts, deadline);
    Channel channel = AllRanks(operation, deadline);
    return algorithm == Algorithm::kFlat ? PairwiseReduceScatter(channel, r, counts)
                                         : RingReduceScatter(channel, r, counts);
  });
}

Status Group::AllGather(void* data, std::span<const size_t> bytes) {
  if (bytes.size() != members_.size()) {
    return errors::InvalidArgument("All-gather of ", bytes.size(), " parts in a group of ", size());
  }
  if (size() == 1) return OkStatus();
  if (backend_ != nullptr && backend_->CanMove(Total(bytes))) {
    return RunBackend(Collective::kAllGather,
                      [&](const Backend::Stop& stop) { return backend_->AllGather(data, bytes, stop); });
  }
  char* const all = static_cast<char*>(data);
  return Run(Collective::kAllGather, Total(bytes), [&](Algorithm algorithm, uint64_t operation, Deadline deadline) {
    if (algorithm == Algorithm::kDirect) return DirectAllGather(*arena_, all, bytes, deadline);
    Channel channel = AllRanks(operation, deadline);
    return algorithm == Algorithm::kFlat ? FlatAllGather(channel, all, bytes) : RingAllGather(channel, all, bytes);
  });
}

StatusOr<std::vector<size_t>> Group::AllGatherSizes(size_t own_bytes) {
  std::vector<size_t> sizes(members_.size(), 0);
  sizes[static_cast<size_t>(rank_)] = own_bytes;
  const std::vector<size_t> each(members_.size(), sizeof(size_t));
  RETURN_IF_ERROR(AllGather(sizes.data(), each));
  return sizes;
}

Status Group::Broadcast(void* data, size_t bytes, int root) {
  if (root < 0 || root >= size()) return errors::InvalidArgument("Broadcast from rank ", root, " of ", size());
  if (size() == 1) return OkStatus();
  if (backend_ != nullptr && backend_->CanMove(bytes)) {
    return RunBackend(Collective::kBroadcast,
                      [&](const Backend::Stop& stop) { return backend_->Broadcast(data, bytes, root, stop); });
  }
  char* const all = static_cast<char*>(data);
  return Run(Collective::kBroadcast, bytes, [&](Algorithm algorithm, uint64_t operation, Deadline deadline) {
    if (algorithm == Algorithm::kDirect) return DirectBroadcast(*arena_, all, bytes, root, deadline);
    Channel channel = AllRanks(operation, deadline);
    return algorithm == Algorithm::kTree ? TreeBroadcast(channel, all, bytes, root)
                                         : ScatterBroadcast(channel, all, bytes, root);
  });
}

Status Group::AllToAll(const void* in, std::span<const size_t> in_bytes, void* out, std::span<const size_t> out_bytes) {
  if (in_bytes.size() != members_.size() || out_bytes.size() != members_.size()) {
    return errors::InvalidArgument("All-to-all of ", in_bytes.size(), " to ", out_bytes.size(), " parts in a group of ",
                                   size());
  }
  const char* const from = static_cast<const char*>(in);
  char* const to = static_cast<char*>(out);
  // Ranks may send different amounts, so that the choice cannot depend on them.
  return Run(Collective::kAllToAll, 0, [&](Algorithm algorithm, uint64_t operation, Deadline deadline) {
    if (algorithm == Algorithm::kDirect) return DirectAllToAll(*arena_, from, in_bytes, to, out_bytes, deadline);
    Channel channel = AllRanks(operation, deadline);
    return PairwiseAllToAll(channel, from, in_bytes, to, out_bytes);
  });
}

Status Group::Barrier() {
  if (size() == 1) return transport_->status();
  if (backend_ != nullptr) {
    return RunBackend(Collective::kBarrier, [&](const Backend::Stop& stop) { return backend_->Barrier(stop); });
  }
  return Run(Collective::kBarrier, 0, [&](Algorithm algorithm, uint64_t operation, Deadline deadline) {
    if (algorithm == Algorithm::kDirect) return arena_->Barrier(deadline);
    Channel channel = AllRanks(operation, deadline);
    return DisseminationBarrier(channel);
  });
}

}  // namespace millstream::collective
