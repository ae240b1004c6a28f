// SPDX-License-Identifier: Apache-2.0
#include "millstream/distributed/collective/round_board.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_join.h"

namespace millstream {

namespace {

constexpr size_t kMaxOpen = 1 << 16;

Status CheckPart(const collective::OpRound& round, size_t members) {
  if (round.kind == collective::OpKind::kBroadcast) return OkStatus();
  const std::vector<const collective::OpRequest*> requests = round.requests();
  RETURN_IF_ERROR(CheckSameShapes(requests));
  return collective::CheckInput(*requests[0], static_cast<int64_t>(members));
}

std::string WhatOf(const collective::OpRound& round) {
  const std::string what = absl::StrCat(collective::OpKindName(round.kind), " of ", DTypeName(round.dtype));
  if (round.kind != collective::OpKind::kReduce && round.kind != collective::OpKind::kReduceScatter) return what;
  return absl::StrCat(what, " by op ", static_cast<int>(round.requests()[0]->op));
}

}  // namespace

RoundPart RoundPart::Of(const collective::OpRound& round, size_t members) {
  RoundPart part;
  const std::vector<const collective::OpRequest*> requests = round.requests();
  if (const Status good = CheckPart(round, members); !good.ok()) {
    part.what = absl::StrCat(std::string(1, kBad), good.message());
    return part;
  }
  part.what = WhatOf(round);
  if (round.kind != collective::OpKind::kBroadcast) {
    part.shape = DimsOf(requests[0]->input.shape());
    part.bytes = requests[0]->input.ByteSize();
    part.may_fuse = round.kind == collective::OpKind::kReduce && part.bytes <= kMayFuseBytes;
  }
  for (const collective::OpRequest* request : requests) {
    if (request->is_source) part.source_shape = DimsOf(request->input.shape());
  }
  return part;
}

bool RoundBoard::SetReady(size_t rank, const std::string& instance, RoundPart part) {
  const auto [it, is_new] = ready_.try_emplace(instance, tasks_.size());
  if (is_new && ready_.size() > kMaxOpen) return false;
  std::vector<std::deque<RoundPart>>& all = it->second;
  if (all[rank].size() > kMaxOpen) return false;
  all[rank].push_back(std::move(part));
  if (std::any_of(all.begin(), all.end(), [](const auto& one) { return one.empty(); })) return true;
  std::vector<RoundPart> parts;
  for (std::deque<RoundPart>& one : all) {
    parts.push_back(std::move(one.front()));
    one.pop_front();
  }
  if (std::all_of(all.begin(), all.end(), [](const auto& one) { return one.empty(); })) ready_.erase(it);
  RoundOrder order = Decide(instance, parts);
  const bool may_fuse = order.error.ok() && parts[0].may_fuse;
  complete_.push_back({std::move(order), std::move(parts[0].what), parts[0].bytes, may_fuse});
  return true;
}

RoundOrder RoundBoard::Decide(const std::string& instance, const std::vector<RoundPart>& parts) const {
  RoundOrder order = {instance, OkStatus(), {}};
  int sources = 0;
  for (size_t i = 0; i < parts.size(); ++i) {
    const RoundPart& part = parts[i];
    if (!part.what.empty() && part.what[0] == RoundPart::kBad) {
      order.error.Update(errors::InvalidArgument(tasks_[i], ": ", part.what.substr(1)));
    } else if (part.what != parts[0].what || part.shape != parts[0].shape) {
      order.error.Update(errors::InvalidArgument("Shape mismatch in the collective with instance key ", instance,
                                                 " of group ", group_, ": ", tasks_[0], " has ", parts[0].what, " ",
                                                 parts[0].shape, "; ", tasks_[i], " has ", part.what, " ", part.shape));
    }
    if (part.source_shape.empty()) continue;
    order.plan = {i, part.source_shape};
    ++sources;
  }
  const bool broadcast = absl::StartsWith(parts[0].what, collective::OpKindName(collective::OpKind::kBroadcast));
  if (order.error.ok() && broadcast && sources != 1) {
    order.error = errors::Internal("Instance ", instance, " of group ", group_,
                                   sources == 0 ? " found no source for broadcast" : " has several sources");
  }
  return order;
}

std::vector<RoundOrder> RoundBoard::TakeBatch() {
  Complete first = std::move(complete_.front());
  complete_.pop_front();
  std::vector<RoundOrder> batch;
  batch.push_back(std::move(first.order));
  size_t bytes = first.bytes;
  for (auto it = complete_.begin(); first.may_fuse && it != complete_.end();) {
    if (!it->may_fuse || it->what != first.what || bytes + it->bytes > kFusedBytes) {
      ++it;
      continue;
    }
    bytes += it->bytes;
    batch.push_back(std::move(it->order));
    it = complete_.erase(it);
  }
  return batch;
}

std::string RoundBoard::MissingIn(const std::string& instance) const {
  std::vector<std::string> missing;
  const auto found = ready_.find(instance);
  for (size_t i = 0; i < tasks_.size(); ++i) {
    if (found == ready_.end() || found->second[i].empty()) missing.push_back(tasks_[i]);
  }
  return absl::StrJoin(missing, ", ");
}

}  // namespace millstream
