// SPDX-License-Identifier: Apache-2.0
#include "millstream/framework/partial_exchange.h"

namespace millstream {

void PartialExchange::WaitForFeed(size_t i, TakeFeed take) {
  Tensor value;
  Status status;
  {
    MutexLock lock(mu_);
    if (i >= feeds_.size()) {
      status = errors::InvalidArgument("A partial run with ", feeds_.size(), " feeds has no feed ", i);
    } else if (feeds_[i].fed) {
      value = feeds_[i].value;
    } else if (cancelled_) {
      status = errors::Cancelled("The partial run was cancelled");
    } else if (feeds_[i].take != nullptr) {
      status = errors::InvalidArgument("Two nodes wait for feed ", i, " of a partial run");
    } else {
      feeds_[i].take = std::move(take);
      return;
    }
  }
  take(std::move(status), std::move(value));
}

void PartialExchange::PutFeed(size_t i, Tensor value) {
  TakeFeed take;
  {
    MutexLock lock(mu_);
    feeds_[i].fed = true;
    feeds_[i].value = value;
    take = std::move(feeds_[i].take);
    feeds_[i].take = nullptr;
  }
  if (take) take(OkStatus(), std::move(value));
}

bool PartialExchange::WasFed(size_t i) const {
  MutexLock lock(mu_);
  return feeds_[i].fed;
}

Status PartialExchange::PutFetch(size_t i, Tensor value) {
  MutexLock lock(mu_);
  if (i >= fetches_.size())
    return errors::InvalidArgument("A partial run with ", fetches_.size(), " fetches has no fetch ", i);
  fetches_[i] = std::move(value);
  changed_.NotifyAll();
  return OkStatus();
}

StatusOr<Tensor> PartialExchange::WaitForFetch(size_t i) {
  MutexLock lock(mu_);
  while (!fetches_[i].IsInitialized() && !ended_) changed_.Wait(mu_);
  if (fetches_[i].IsInitialized()) return fetches_[i];
  if (!status_.ok()) return status_;
  return errors::Internal("The partial run ended without computing what was fetched");
}

void PartialExchange::CancelFeeds() {
  std::vector<TakeFeed> waiting;
  {
    MutexLock lock(mu_);
    cancelled_ = true;
    for (Feed& feed : feeds_) {
      if (feed.take) waiting.push_back(std::move(feed.take));
      feed.take = nullptr;
    }
  }
  for (TakeFeed& take : waiting) take(errors::Cancelled("The partial run was cancelled"), Tensor());
}

void PartialExchange::End(Status status) {
  MutexLock lock(mu_);
  if (ended_) return;
  ended_ = true;
  status_ = std::move(status);
  changed_.NotifyAll();
}

Status PartialExchange::WaitForEnd() {
  MutexLock lock(mu_);
  while (!ended_) changed_.Wait(mu_);
  return status_;
}

}  // namespace millstream
