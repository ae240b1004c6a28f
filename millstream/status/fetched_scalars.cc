// SPDX-License-Identifier: Apache-2.0
#include "millstream/status/fetched_scalars.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/strip.h"

namespace millstream {

void FetchedScalar::Fetched(const Tensor& value) {
  if (!value.IsInitialized() || value.num_elements() != 1) return;
  double number = 0;
  switch (value.dtype()) {
    case DType::kFloat:
      number = value.data<float>()[0];
      break;
    case DType::kDouble:
      number = value.data<double>()[0];
      break;
    case DType::kInt32:
      number = value.data<int32_t>()[0];
      break;
    case DType::kInt64:
      number = static_cast<double>(value.data<int64_t>()[0]);
      break;
    default:
      return;
  }
  value_.store(number, std::memory_order_relaxed);
  count_.fetch_add(1, std::memory_order_relaxed);
}

bool FetchedScalars::IsGlobalStep(absl::string_view name) {
  absl::ConsumeSuffix(&name, ":0");
  return name == "global_step" || absl::EndsWith(name, "/global_step");
}

std::shared_ptr<FetchedScalar> FetchedScalars::Find(const std::string& name, DType dtype, bool trains) {
  const bool real = dtype == DType::kFloat || dtype == DType::kDouble;
  const bool step = (dtype == DType::kInt32 || dtype == DType::kInt64) && IsGlobalStep(name);
  if (!real && !step) return nullptr;
  MutexLock lock(mu_);
  auto found = scalars_.find({name, trains});
  if (found != scalars_.end()) return found->second;
  if (scalars_.size() >= kMaxNames) {
    // A name that was only asked for (a vector, say) makes room.
    const auto unused =
        std::find_if(scalars_.begin(), scalars_.end(), [](const auto& s) { return s.second->count() == 0; });
    if (unused == scalars_.end()) return nullptr;
    scalars_.erase(unused);
  }
  return scalars_.emplace(std::pair(name, trains), std::make_shared<FetchedScalar>()).first->second;
}

std::vector<FetchedScalars::Entry> FetchedScalars::List() const {
  std::vector<Entry> list;
  MutexLock lock(mu_);
  for (const auto& [key, scalar] : scalars_) {
    if (scalar->count() > 0) list.push_back({key.first, key.second, scalar->value(), scalar->count()});
  }
  return list;
}

}  // namespace millstream
