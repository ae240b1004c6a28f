// SPDX-License-Identifier: Apache-2.0
#include "millstream/ops/sparse/sparse_parts.h"

#include <algorithm>

#include "millstream/ops/elements/blob.h"
#include "millstream/ops/sparse/sparse_input.h"

namespace millstream {

Status SplitRows(const KernelContext& ctx, std::vector<SparseParts>* rows) {
  ASSIGN_OR_RETURN(const SparseInput s, ReadSparse(ctx, 0));
  if (s.rank() < 2) {
    return errors::InvalidArgument("Rank of input SparseTensor should be > 1, but saw rank: ", s.rank());
  }
  std::vector<std::vector<int64_t>> entries(static_cast<size_t>(s.shape[0]));
  for (int64_t i = 0; i < s.size(); ++i) {
    const int64_t row = s.at(i)[0];
    if (row < 0 || row >= s.shape[0]) {
      return errors::InvalidArgument("Received unexpected column 0 value in input SparseTensor: ", row);
    }
    entries[row].push_back(i);
  }
  const int rest = s.rank() - 1;
  for (const auto& list : entries) {
    const auto n = static_cast<int64_t>(list.size());
    SparseParts p;
    ASSIGN_OR_RETURN(p.indices, Tensor::Make(DType::kInt64, Shape({n, rest})));
    ASSIGN_OR_RETURN(p.values, Tensor::Make(s.values.dtype(), Shape({n})));
    p.shape = Tensor::Vector(std::vector<int64_t>(s.shape.begin() + 1, s.shape.end()));
    DispatchBlob(s.values.dtype(), [&](auto type) {
      using T = typename decltype(type)::type;
      for (int64_t k = 0; k < n; ++k) {
        BlobData<T>(&p.values)[k] = BlobData<T>(s.values)[list[k]];
        std::copy_n(s.at(list[k]) + 1, rest, p.indices.data<int64_t>() + k * rest);
      }
    });
    rows->push_back(std::move(p));
  }
  return OkStatus();
}

Status JoinRows(KernelContext& ctx, const std::vector<SparseParts>& parts, const Shape& outer, const char* what,
                int added) {
  Dims shape(outer.dims().begin(), outer.dims().end());
  const size_t lead = shape.size();
  int64_t total = 0;
  for (size_t i = 0; i < parts.size(); ++i) {
    ASSIGN_OR_RETURN(const SparseInput s, MakeSparse(parts[i].indices, parts[i].values, parts[i].shape));
    if (i == 0) shape.resize(lead + s.shape.size(), 0);
    if (shape.size() != lead + s.shape.size()) {
      return errors::InvalidArgument("Inconsistent ", what, " across SparseTensors: rank prior to SparseTensor[", i,
                                     "] was: ", shape.size() - lead + added, " but rank of SparseTensor[", i,
                                     "] is: ", s.rank() + added);
    }
    for (size_t d = 0; d < s.shape.size(); ++d) shape[lead + d] = std::max(shape[lead + d], s.shape[d]);
    total += s.size();
  }
  const auto rank = static_cast<int64_t>(shape.size());
  ASSIGN_OR_RETURN(Tensor * indices, ctx.AllocateOutput(0, Shape({total, rank})));
  ASSIGN_OR_RETURN(Tensor * values, ctx.AllocateOutput(1, Shape({total})));
  ASSIGN_OR_RETURN(Tensor * sizes, ctx.AllocateOutput(2, Shape({rank})));
  std::copy(shape.begin(), shape.end(), sizes->data<int64_t>());
  int64_t* at = indices->data<int64_t>();
  DispatchBlob(values->dtype(), [&](auto type) {
    using T = typename decltype(type)::type;
    T* to = BlobData<T>(values);
    for (size_t i = 0; i < parts.size(); ++i) {
      const int64_t n = parts[i].indices.dim(0), inner = parts[i].indices.dim(1);
      for (int64_t k = 0; k < n; ++k, at += rank) {
        int64_t place = static_cast<int64_t>(i);
        for (size_t d = lead; d-- > 0; place /= outer.dim(static_cast<int>(d))) {
          at[d] = place % outer.dim(static_cast<int>(d));
        }
        std::copy_n(parts[i].indices.data<int64_t>() + k * inner, inner, at + lead);
        *to++ = BlobData<T>(parts[i].values)[k];
      }
    }
  });
  return OkStatus();
}

}  // namespace millstream
