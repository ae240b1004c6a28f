// SPDX-License-Identifier: Apache-2.0
#include "millstream/distributed/collective/group_layout.h"

#include <algorithm>
#include <cstring>

#include "absl/strings/numbers.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"

namespace millstream {

namespace {

StatusOr<Shape> ShapeFromDims(absl::string_view text) {
  std::vector<int64_t> dims;
  if (text.size() < 2) return errors::Internal("A broadcast without a source");
  text = text.substr(1, text.size() - 2);
  for (const absl::string_view number : absl::StrSplit(text, ',', absl::SkipEmpty())) {
    int64_t dim = -1;
    if (!absl::SimpleAtoi(number, &dim)) return errors::InvalidArgument("Not a shape: ", text);
    dims.push_back(dim);
  }
  return Shape::Make(dims);
}

// Reduces what each task has reduced over its own members. What may be fused has the same result when it is not.
Status AllReduceSums(collective::Group& group, const GroupLayout& layout, collective::ReduceOp op, DType dtype,
                     const void* from, void* to, int64_t count) {
  const collective::SumOrder order = static_cast<size_t>(count) * DTypeSize(dtype) <= kFusedBytes
                                         ? collective::SumOrder::kAnyPlace
                                         : collective::SumOrder::kFastest;
  if (layout.members.size() == layout.tasks.size()) return group.AllReduceInto(from, to, count, dtype, op, order);
  const collective::ReduceOp sum = op == collective::ReduceOp::kMean ? collective::ReduceOp::kSum : op;
  RETURN_IF_ERROR(group.AllReduceInto(from, to, count, dtype, sum, order));
  collective::Finish(op, dtype, to, count, static_cast<int>(layout.members.size()));
  return OkStatus();
}

Status Reduce(collective::Group& group, const GroupLayout& layout,
              const std::vector<const collective::OpRequest*>& requests, Tensor* sum) {
  const collective::OpRequest& first = *requests[0];
  const void* from = first.input.raw();
  if (requests.size() == 1) {
    ASSIGN_OR_RETURN(*sum, Tensor::Make(first.dtype, first.input.shape()));
  } else {
    ASSIGN_OR_RETURN(*sum, collective::ReduceRequests(requests, /*total_members=*/1));
    from = sum->raw();
  }
  return AllReduceSums(group, layout, first.op, first.dtype, from, sum->raw(), sum->num_elements());
}

// The tensors of all members, task by task.
Status GatherByTask(collective::Group& group, const GroupLayout& layout,
                    const std::vector<const collective::OpRequest*>& requests, std::vector<char>* all) {
  const size_t part = requests[0]->input.ByteSize();
  std::vector<size_t> bytes;
  for (const size_t members : layout.members_of) bytes.push_back(members * part);
  const std::vector<size_t> offsets = collective::Offsets(std::span<const size_t>(bytes));
  all->resize(offsets.back());
  char* own = all->data() + offsets[static_cast<size_t>(group.rank())];
  for (const collective::OpRequest* request : requests) {
    if (part > 0) std::memcpy(own, request->input.raw(), part);
    own += part;
  }
  return group.AllGather(all->data(), bytes);
}

// Calls copy(position in the order of tasks, member) for each member.
template <typename Copy>
void ForEachMember(const GroupLayout& layout, const Copy& copy) {
  const std::vector<size_t> first = collective::Offsets(std::span<const size_t>(layout.members_of));
  for (size_t member = 0; member < layout.members.size(); ++member) {
    copy(first[layout.places[member].task] + layout.places[member].index, member);
  }
}

Status Gather(collective::Group& group, const GroupLayout& layout,
              const std::vector<const collective::OpRequest*>& requests, std::vector<Tensor>* outputs) {
  ASSIGN_OR_RETURN(const Shape gathered,
                   collective::GatheredShape(requests[0]->input.shape(), static_cast<int64_t>(layout.members.size())));
  ASSIGN_OR_RETURN(Tensor output, Tensor::Make(requests[0]->dtype, gathered));
  std::vector<char> all;
  RETURN_IF_ERROR(GatherByTask(group, layout, requests, &all));
  const size_t part = requests[0]->input.ByteSize();
  ForEachMember(layout, [&](size_t position, size_t member) {
    if (part > 0) std::memcpy(static_cast<char*>(output.raw()) + member * part, all.data() + position * part, part);
  });
  outputs->assign(requests.size(), output);
  return OkStatus();
}

// For each local member and each member of the other task: one part.
Status AllToAll(collective::Group& group, const GroupLayout& layout,
                const std::vector<const collective::OpRequest*>& requests, std::vector<Tensor>* outputs) {
  const size_t n = layout.members.size(), local = requests.size();
  const size_t part = requests[0]->input.ByteSize() / n;
  std::vector<size_t> bytes;
  for (const size_t members : layout.members_of) bytes.push_back(members * local * part);
  const std::vector<size_t> first = collective::Offsets(std::span<const size_t>(layout.members_of));
  std::vector<char> in(local * n * part), out(local * n * part);
  // To task t: its members one after the other, each with the parts of all local members.
  ForEachMember(layout, [&](size_t position, size_t member) {
    for (size_t i = 0; i < local && part > 0; ++i) {
      std::memcpy(in.data() + (position * local + i) * part,
                  static_cast<const char*>(requests[i]->input.raw()) + member * part, part);
    }
  });
  RETURN_IF_ERROR(group.AllToAll(in.data(), bytes, out.data(), bytes));
  for (size_t i = 0; i < local; ++i) {
    ASSIGN_OR_RETURN(Tensor output, Tensor::Make(requests[0]->dtype, requests[0]->input.shape()));
    // From task t: for each local member the parts of that task's members.
    ForEachMember(layout, [&](size_t, size_t member) {
      const GroupLayout::Place& place = layout.places[member];
      const size_t block = first[place.task] * local + i * layout.members_of[place.task] + place.index;
      if (part > 0) {
        std::memcpy(static_cast<char*>(output.raw()) + member * part, out.data() + block * part, part);
      }
    });
    outputs->push_back(std::move(output));
  }
  return OkStatus();
}

Status Broadcast(collective::Group& group, const std::vector<const collective::OpRequest*>& requests,
                 const RoundPlan& plan, std::vector<Tensor>* outputs) {
  ASSIGN_OR_RETURN(const Shape shape, ShapeFromDims(plan.source_shape));
  ASSIGN_OR_RETURN(Tensor value, Tensor::Make(requests[0]->dtype, shape));
  for (const collective::OpRequest* request : requests) {
    if (request->is_source && value.ByteSize() > 0) std::memcpy(value.raw(), request->input.raw(), value.ByteSize());
  }
  RETURN_IF_ERROR(group.Broadcast(value.raw(), value.ByteSize(), static_cast<int>(plan.source_task)));
  outputs->assign(requests.size(), value);
  return OkStatus();
}

}  // namespace

GroupLayout GroupLayout::Of(const std::vector<std::string>& pairs) {
  GroupLayout layout;
  for (size_t i = 0; i + 1 < pairs.size(); i += 2) {
    layout.members.push_back(pairs[i]);
    int rank = layout.RankOf(pairs[i + 1]);
    if (rank < 0) {
      rank = static_cast<int>(layout.tasks.size());
      layout.tasks.push_back(pairs[i + 1]);
      layout.members_of.push_back(0);
    }
    layout.places.push_back({static_cast<size_t>(rank), layout.members_of[static_cast<size_t>(rank)]++});
  }
  return layout;
}

int GroupLayout::RankOf(const std::string& task) const {
  const auto found = std::find(tasks.begin(), tasks.end(), task);
  return found == tasks.end() ? -1 : static_cast<int>(found - tasks.begin());
}

std::string DimsOf(const Shape& shape) {
  std::vector<int64_t> dims;
  for (int i = 0; i < shape.rank(); ++i) dims.push_back(shape.dim(i));
  return absl::StrCat("[", absl::StrJoin(dims, ","), "]");
}

Status ReduceFused(collective::Group& group, const GroupLayout& layout,
                   const std::vector<std::shared_ptr<collective::OpRound>>& rounds,
                   std::vector<std::vector<Tensor>>* outputs) {
  const DType dtype = rounds[0]->dtype;
  const collective::ReduceOp op = rounds[0]->requests()[0]->op;
  std::vector<Tensor> sums;
  int64_t total = 0;
  for (const std::shared_ptr<collective::OpRound>& round : rounds) {
    const std::vector<const collective::OpRequest*> requests = round->requests();
    Tensor sum = requests[0]->input;
    if (requests.size() > 1) {
      ASSIGN_OR_RETURN(sum, collective::ReduceRequests(requests, /*total_members=*/1));
    }
    total += sum.num_elements();
    sums.push_back(std::move(sum));
  }
  ASSIGN_OR_RETURN(Tensor fused, Tensor::Make(dtype, Shape({total})));
  char* at = static_cast<char*>(fused.raw());
  for (const Tensor& sum : sums) {
    if (sum.ByteSize() > 0) std::memcpy(at, sum.raw(), sum.ByteSize());
    at += sum.ByteSize();
  }
  RETURN_IF_ERROR(AllReduceSums(group, layout, op, dtype, fused.raw(), fused.raw(), total));
  at = static_cast<char*>(fused.raw());
  for (size_t i = 0; i < rounds.size(); ++i) {
    ASSIGN_OR_RETURN(Tensor output, Tensor::Make(dtype, sums[i].shape()));
    if (output.ByteSize() > 0) std::memcpy(output.raw(), at, output.ByteSize());
    at += output.ByteSize();
    outputs->emplace_back(rounds[i]->entries.size(), std::move(output));
  }
  return OkStatus();
}

Status RunAcrossTasks(collective::Group& group, const GroupLayout& layout, const collective::OpRound& round,
                      const RoundPlan& plan, std::vector<Tensor>* outputs) {
  const std::vector<const collective::OpRequest*> requests = round.requests();
  switch (round.kind) {
    case collective::OpKind::kGather:
      return Gather(group, layout, requests, outputs);
    case collective::OpKind::kAllToAll:
      return AllToAll(group, layout, requests, outputs);
    case collective::OpKind::kBroadcast:
      return Broadcast(group, requests, plan, outputs);
    default:
      break;
  }
  Tensor sum;
  RETURN_IF_ERROR(Reduce(group, layout, requests, &sum));
  if (round.kind == collective::OpKind::kReduce) {
    outputs->assign(requests.size(), sum);
    return OkStatus();
  }
  const int64_t rows = sum.dim(0) / static_cast<int64_t>(layout.members.size());
  for (size_t member = 0; member < layout.members.size(); ++member) {
    if (static_cast<int>(layout.places[member].task) != group.rank()) continue;
    const int64_t begin = static_cast<int64_t>(member) * rows;
    ASSIGN_OR_RETURN(Tensor part, sum.SliceRows(begin, begin + rows).Clone());
    outputs->push_back(std::move(part));
  }
  return OkStatus();
}

}  // namespace millstream
