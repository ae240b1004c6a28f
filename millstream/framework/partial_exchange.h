// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_FRAMEWORK_PARTIAL_EXCHANGE_H_
#define MILLSTREAM_FRAMEWORK_PARTIAL_EXCHANGE_H_

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "millstream/base/mutex.h"
#include "millstream/base/status.h"
#include "millstream/tensor/tensor.h"

namespace millstream {

// Where a step that runs in parts (Session::PartialRun) meets its caller: values come in by number, results go out by
// number, each once. The ops _PartialFeed and _PartialFetch find it in the step's resources under kName. Thread-safe.
class PartialExchange final : public Resource {
 public:
  static constexpr char kName[] = "partial_run";
  using TakeFeed = std::function<void(Status, Tensor)>;

  PartialExchange(size_t num_feeds, size_t num_fetches) : feeds_(num_feeds), fetches_(num_fetches) {}

  // Inside the step. `take` is called once: now, when the value comes, or with an error when the step ends. An error,
  // too, if there is no feed i, or somebody waits for it already.
  void WaitForFeed(size_t i, TakeFeed take);
  // InvalidArgument if there is no fetch i.
  Status PutFetch(size_t i, Tensor value);

  // The caller's side. REQUIRES: feed i was not put before.
  void PutFeed(size_t i, Tensor value);
  bool WasFed(size_t i) const;
  // Blocks until fetch i is there or the step ended; the step's error (or Internal) if it ended without it.
  StatusOr<Tensor> WaitForFetch(size_t i);
  // The step is cancelled: feeds that have not come will not.
  void CancelFeeds();
  // The step is over: nobody waits any longer.
  void End(Status status);
  // Blocks until End().
  Status WaitForEnd();

  std::string DebugString() const override { return "PartialExchange"; }

 private:
  struct Feed {
    Tensor value;
    bool fed = false;
    TakeFeed take;
  };
  mutable Mutex mu_;
  CondVar changed_;
  std::vector<Feed> feeds_ ABSL_GUARDED_BY(mu_);
  std::vector<Tensor> fetches_ ABSL_GUARDED_BY(mu_);
  bool cancelled_ ABSL_GUARDED_BY(mu_) = false;
  bool ended_ ABSL_GUARDED_BY(mu_) = false;
  Status status_ ABSL_GUARDED_BY(mu_);
};

}  // namespace millstream

#endif  // MILLSTREAM_FRAMEWORK_PARTIAL_EXCHANGE_H_
