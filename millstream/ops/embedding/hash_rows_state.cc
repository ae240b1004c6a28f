// SPDX-License-Identifier: Apache-2.0
// The rows of a hash-keyed embedding as tensors of a checkpoint.
#include <cstring>
#include <set>

#include "millstream/base/memory_budget.h"
#include "millstream/ops/embedding/hash_rows.h"

namespace millstream {
namespace {

Status MakeVector(DType dtype, int64_t n, Tensor* out) {
  ASSIGN_OR_RETURN(*out, Tensor::Make(dtype, Shape({n})));
  return OkStatus();
}

bool IsVector(const Tensor& t, DType dtype, int64_t n) {
  return t.IsInitialized() && t.dtype() == dtype && t.rank() == 1 && t.dim(0) == n;
}

}  // namespace

template <typename Key>
Status HashRows::ExportKeys(State* state) {
  const int64_t rows = used_ - static_cast<int64_t>(free_.size());
  Entries<Key>& all = entries<Key>();
  const auto candidates = static_cast<int64_t>(all.size()) - rows;
  const auto slots = static_cast<int64_t>(columns_.size()) - 1;
  RETURN_IF_ERROR(MakeVector(options_.key_dtype, rows, &state->keys));
  RETURN_IF_ERROR(MakeVector(DType::kInt64, rows, &state->counts));
  RETURN_IF_ERROR(MakeVector(DType::kInt64, rows, &state->last_used));
  RETURN_IF_ERROR(MakeVector(options_.key_dtype, candidates, &state->candidates));
  RETURN_IF_ERROR(MakeVector(DType::kInt64, candidates, &state->candidate_counts));
  RETURN_IF_ERROR(MakeVector(DType::kInt64, candidates, &state->candidate_last_used));
  RETURN_IF_ERROR(MakeVector(DType::kString, slots, &state->slot_names));
  RETURN_IF_ERROR(MakeVector(DType::kFloat, slots, &state->slot_initials));
  const int64_t width = options_.width;
  ASSIGN_OR_RETURN(state->rows, Tensor::Make(DType::kFloat, Shape({rows, (slots + 1) * width})));
  for (int64_t i = 0; i < slots; ++i) {
    const Column& column = columns_[static_cast<size_t>(i) + 1];
    state->slot_names.data<std::string>()[i] = column.name;
    state->slot_initials.data<float>()[i] = column.initial;
  }
  int64_t row = 0, candidate = 0;
  for (const auto& [key, entry] : all) {
    const bool is_row = entry.row >= 0;
    const int64_t at = is_row ? row++ : candidate++;
    (is_row ? state->keys : state->candidates).template data<Key>()[at] = key;
    (is_row ? state->counts : state->candidate_counts).data<int64_t>()[at] = entry.count;
    (is_row ? state->last_used : state->candidate_last_used).data<int64_t>()[at] = entry.last_used;
    if (!is_row) continue;
    float* to = state->rows.data<float>() + at * (slots + 1) * width;
    for (Column& column : columns_) {
      std::memcpy(to, At(column, entry.row), static_cast<size_t>(width) * sizeof(float));
      to += width;
    }
  }
  return OkStatus();
}

Status HashRows::Export(State* state) {
  MutexLock lock(mu_);
  return options_.key_dtype == DType::kInt64 ? ExportKeys<int64_t>(state) : ExportKeys<std::string>(state);
}

Status HashRows::CheckState(const State& s) const {
  const int64_t rows = s.keys.num_elements(), candidates = s.candidates.num_elements();
  const int64_t slots = s.slot_names.num_elements();
  if (!IsVector(s.keys, options_.key_dtype, rows) || !IsVector(s.counts, DType::kInt64, rows) ||
      !IsVector(s.last_used, DType::kInt64, rows) || !IsVector(s.candidates, options_.key_dtype, candidates) ||
      !IsVector(s.candidate_counts, DType::kInt64, candidates) ||
      !IsVector(s.candidate_last_used, DType::kInt64, candidates) || !IsVector(s.slot_names, DType::kString, slots) ||
      !IsVector(s.slot_initials, DType::kFloat, slots)) {
    return errors::InvalidArgument("The saved state of embedding ", name_,
                                   " must be vectors of one length for its keys, its candidates and its slots");
  }
  if (s.rows.rank() != 2 || s.rows.dim(0) != rows || s.rows.dim(1) % options_.width != 0 ||
      s.rows.dim(1) / options_.width != slots + 1) {
    return errors::InvalidArgument("Embedding ", name_, " has rows of width ", options_.width, "; the saved rows of ",
                                   rows, " keys with ", slots, " slots have shape ", s.rows.shape().ToString());
  }
  const auto names = s.slot_names.flat<std::string>();
  if (std::set<std::string>(names.begin(), names.end()).size() != names.size()) {
    return errors::InvalidArgument("The saved state of embedding ", name_, " has a slot twice");
  }
  return OkStatus();
}

template <typename Key>
Status HashRows::ImportKeys(const State& s) {
  const AllocationsMayFail never(false);
  Entries<Key>& all = entries<Key>();
  const int64_t rows = s.keys.num_elements(), width = options_.width;
  for (int64_t i = 0; i < s.slot_names.num_elements(); ++i) {
    columns_.push_back({s.slot_names.data<std::string>()[i], s.slot_initials.data<float>()[i], {}});
  }
  for (Column& column : columns_) RETURN_IF_ERROR(Grow(&column, rows));
  used_ = rows;
  const float* from = s.rows.data<float>();
  for (int64_t i = 0; i < rows; ++i) {
    const Entry entry = {i, s.counts.data<int64_t>()[i], s.last_used.data<int64_t>()[i]};
    if (!all.try_emplace(s.keys.data<Key>()[i], entry).second) {
      return errors::InvalidArgument("The saved state of embedding ", name_, " has a key twice");
    }
    for (Column& column : columns_) {
      std::memcpy(At(column, i), from, static_cast<size_t>(width) * sizeof(float));
      from += width;
    }
  }
  for (int64_t i = 0; i < s.candidates.num_elements(); ++i) {
    const Entry entry = {-1, s.candidate_counts.data<int64_t>()[i], s.candidate_last_used.data<int64_t>()[i]};
    if (!all.try_emplace(s.candidates.data<Key>()[i], entry).second) {
      return errors::InvalidArgument("The saved state of embedding ", name_, " has a key twice");
    }
  }
  return OkStatus();
}

Status HashRows::Import(const State& state) {
  RETURN_IF_ERROR(CheckState(state));
  MutexLock lock(mu_);
  Clear();
  RETURN_IF_ERROR(CheckRoom({&state.keys, &state.candidates}));
  const Status status =
      options_.key_dtype == DType::kInt64 ? ImportKeys<int64_t>(state) : ImportKeys<std::string>(state);
  if (!status.ok()) Clear();
  return status;
}

}  // namespace millstream
