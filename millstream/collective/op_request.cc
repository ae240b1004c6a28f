// SPDX-License-Identifier: Apache-2.0
#include "millstream/collective/op_request.h"

#include <algorithm>
#include <cstring>

#include "absl/strings/ascii.h"

namespace millstream::collective {
namespace {

// The number that begins at `*i`, which is moved behind it; leading zeros do not count.
std::string TakeNumber(const std::string& text, size_t* i) {
  size_t end = *i;
  while (end < text.size() && absl::ascii_isdigit(static_cast<unsigned char>(text[end]))) ++end;
  size_t begin = *i;
  while (begin + 1 < end && text[begin] == '0') ++begin;
  *i = end;
  return text.substr(begin, end - begin);
}

// Part i of each member's tensor goes to member i.
Status AllToAll(const std::vector<const OpRequest*>& requests, std::vector<Tensor>* outputs) {
  const size_t n = requests.size();
  const Shape& shape = requests[0]->input.shape();
  const size_t part = requests[0]->input.ByteSize() / n;
  for (size_t to = 0; to < n; ++to) {
    ASSIGN_OR_RETURN(Tensor output, Tensor::Make(requests[0]->dtype, shape));
    for (size_t from = 0; from < n && part > 0; ++from) {
      std::memcpy(static_cast<char*>(output.raw()) + from * part,
                  static_cast<const char*>(requests[from]->input.raw()) + to * part, part);
    }
    outputs->push_back(std::move(output));
  }
  return OkStatus();
}

Status Gather(const std::vector<const OpRequest*>& requests, std::vector<Tensor>* outputs) {
  ASSIGN_OR_RETURN(const Shape shape, GatheredShape(requests[0]->input.shape(), static_cast<int64_t>(requests.size())));
  ASSIGN_OR_RETURN(const Tensor output, Tensor::Make(requests[0]->dtype, shape));
  const size_t part = requests[0]->input.ByteSize();
  char* to = static_cast<char*>(const_cast<void*>(output.raw()));
  for (const OpRequest* request : requests) {
    if (part > 0) std::memcpy(to, request->input.raw(), part);
    to += part;
  }
  outputs->assign(requests.size(), output);
  return OkStatus();
}

Status ReduceScatter(const std::vector<const OpRequest*>& requests, std::vector<Tensor>* outputs) {
  const int64_t n = static_cast<int64_t>(requests.size());
  ASSIGN_OR_RETURN(const Tensor all, ReduceRequests(requests, static_cast<int>(n)));
  const int64_t rows = all.dim(0) / n;
  for (int64_t i = 0; i < n; ++i) {
    ASSIGN_OR_RETURN(Tensor part, all.SliceRows(i * rows, (i + 1) * rows).Clone());
    outputs->push_back(std::move(part));
  }
  return OkStatus();
}

Status Broadcast(const std::vector<const OpRequest*>& requests, std::vector<Tensor>* outputs) {
  const OpRequest* source = nullptr;
  for (const OpRequest* request : requests) {
    if (!request->is_source) continue;
    if (source != nullptr) {
      return errors::Internal("Instance ", request->instance, " of group ", request->group, " already has a source, ",
                              source->member, ", and ", request->member, " is another");
    }
    source = request;
  }
  if (source == nullptr) {
    return errors::Internal("Instance ", requests[0]->instance, " found no source for broadcast. This could mean that ",
                            "there were group_size=", requests.size(), " BcastRecvs but no BcastSend.");
  }
  outputs->assign(requests.size(), source->input);
  return OkStatus();
}

}  // namespace

bool MemberLess(const std::string& a, const std::string& b) {
  size_t i = 0, j = 0;
  const auto is_digit = [](char c) { return absl::ascii_isdigit(static_cast<unsigned char>(c)); };
  while (i < a.size() && j < b.size()) {
    if (is_digit(a[i]) && is_digit(b[j])) {
      const std::string x = TakeNumber(a, &i), y = TakeNumber(b, &j);
      if (x.size() != y.size()) return x.size() < y.size();
      if (x != y) return x < y;
    } else if (a[i] != b[j]) {
      return a[i] < b[j];
    } else {
      ++i, ++j;
    }
  }
  return a.size() - i < b.size() - j;
}

absl::string_view OpKindName(OpKind kind) {
  switch (kind) {
    case OpKind::kReduce:
      return "all-reduce";
    case OpKind::kBroadcast:
      return "broadcast";
    case OpKind::kGather:
      return "all-gather";
    case OpKind::kAllToAll:
      return "all-to-all";
    case OpKind::kReduceScatter:
      return "reduce-scatter";
  }
  return "collective";
}

Status CheckInput(const OpRequest& request, int64_t members) {
  const Shape& shape = request.input.shape();
  if (request.kind == OpKind::kReduce || request.kind == OpKind::kBroadcast) return OkStatus();
  if (shape.rank() == 0) return errors::InvalidArgument("input should have rank > 0, got a scalar");
  if (request.kind == OpKind::kGather) return GatheredShape(shape, members).status();
  if (shape.dim(0) % members == 0) return OkStatus();
  return errors::InvalidArgument(OpKindName(request.kind), " in a group of ", members,
                                 " needs inputs whose first dimension it divides, got ", shape.ToString());
}

StatusOr<Shape> GatheredShape(const Shape& each, int64_t members) {
  std::vector<int64_t> dims;
  if (__builtin_mul_overflow(each.dim(0), members, &dims.emplace_back())) {
    return errors::InvalidArgument("element-count overflow: ", members, " tensors of shape ", each.ToString());
  }
  for (int i = 1; i < each.rank(); ++i) dims.push_back(each.dim(i));
  return Shape::Make(dims);
}

Status CheckSameShapes(const std::vector<const OpRequest*>& requests) {
  for (const OpRequest* request : requests) {
    if (request->input.shape() == requests[0]->input.shape()) continue;
    return errors::InvalidArgument("Shape mismatch in the collective with instance key ", request->instance,
                                   " of group ", request->group, ": ", requests[0]->member, " has ",
                                   requests[0]->input.shape().ToString(), ", ", request->member, " has ",
                                   request->input.shape().ToString());
  }
  return OkStatus();
}

StatusOr<Tensor> ReduceRequests(const std::vector<const OpRequest*>& requests, int total_members) {
  const OpRequest& first = *requests[0];
  ASSIGN_OR_RETURN(Tensor sum, first.input.Clone());
  for (size_t i = 1; i < requests.size(); ++i) {
    ReduceInto(first.op, first.dtype, sum.raw(), requests[i]->input.raw(), sum.num_elements());
  }
  Finish(first.op, first.dtype, sum.raw(), sum.num_elements(), total_members);
  return sum;
}

Status RunLocally(const std::vector<const OpRequest*>& requests, std::vector<Tensor>* outputs) {
  if (requests[0]->kind == OpKind::kBroadcast) return Broadcast(requests, outputs);
  RETURN_IF_ERROR(CheckSameShapes(requests));
  RETURN_IF_ERROR(CheckInput(*requests[0], static_cast<int64_t>(requests.size())));
  switch (requests[0]->kind) {
    case OpKind::kGather:
      return Gather(requests, outputs);
    case OpKind::kAllToAll:
      return AllToAll(requests, outputs);
    case OpKind::kReduceScatter:
      return ReduceScatter(requests, outputs);
    default: {
      ASSIGN_OR_RETURN(const Tensor sum, ReduceRequests(requests, static_cast<int>(requests.size())));
      outputs->assign(requests.size(), sum);
      return OkStatus();
    }
  }
}

}  // namespace millstream::collective
