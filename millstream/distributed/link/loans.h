// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_DISTRIBUTED_LINK_LOANS_H_
#define MILLSTREAM_DISTRIBUTED_LINK_LOANS_H_

#include <atomic>
#include <memory>
#include <optional>
#include <vector>

#include "millstream/base/mutex.h"
#include "millstream/distributed/link/frame_codec.h"
#include "millstream/distributed/link/shm_ring.h"
#include "millstream/distributed/link/unique_fd.h"
#include "millstream/tensor/shared_region.h"

// Tensors that stay where they are: a task lends large payloads to a task of the same user on the same host, which maps
// the lender's shared region and reads them there. See docs/formats/link.md.
//
// A loan ends when the borrower clears its flag, at the latest when it lets go of the leash, a pipe of which it holds
// the other end for as long as it can read the region: so it ends with the borrower's process, too. What is lent is
// held like any other reader holds it, and nobody writes to it meanwhile.
namespace millstream {

// Payloads from here on are lent: below, a copy costs less than the bookkeeping.
inline constexpr size_t kLentBytes = size_t{64} << 10;

// What this task has lent over one link. Thread-safe.
class Lender {
 public:
  // `way` of the flags in `segment`.
  Lender(SharedRegion* region, std::shared_ptr<const ShmSegment> segment, int way);

  // Sends the region and the leash over the link's socket, without waiting. The peer says whether it could map it.
  Status OfferRegion(int socket);
  void StartLending() { lending_.store(true, std::memory_order_release); }

  // Nothing if the tensor is small, lies elsewhere, or too much is out.
  std::optional<Loan> Lend(const Tensor& tensor);
  // Lets go of what has come back. Cheap where nothing is out.
  void Collect();
  int outstanding() const { return outstanding_.load(std::memory_order_relaxed); }

  // The link has ended: what is still out is held until the borrower lets go of the leash. Later calls of this, by any
  // link of the process, look after it.
  static void Settle(std::shared_ptr<Lender> lender);

 private:
  bool LeashIsLoose() const;

  SharedRegion* const region_;
  const std::shared_ptr<const ShmSegment> segment_;
  const std::span<LoanFlag, kLoans> flags_;
  UniqueFd leash_;  // readable as soon as the borrower has no end of it any more
  std::atomic<bool> lending_{false};
  std::atomic<int> outstanding_{0};
  Mutex mu_;
  std::vector<uint32_t> unused_ ABSL_GUARDED_BY(mu_);  // flags
  struct Out {
    uint32_t flag;
    Tensor tensor;
  };
  std::vector<Out> out_ ABSL_GUARDED_BY(mu_);
};

// The peer's region, mapped. Lives until the last tensor over it is gone.
class Borrower : public std::enable_shared_from_this<Borrower> {
 public:
  // `region` and `leash` are what OfferRegion() sent. InvalidArgument if the peer could take the memory away again.
  static StatusOr<std::shared_ptr<Borrower>> Map(UniqueFd region, UniqueFd leash,
                                                 std::shared_ptr<const ShmSegment> segment, int way);
  ~Borrower();

  // `bytes` of the region as a tensor of bytes, which ends the loan when its last copy goes. DataLoss if there is no
  // such place.
  StatusOr<Tensor> Borrow(const Loan& loan, uint64_t bytes);

 private:
  Borrower(const char* begin, size_t size, UniqueFd leash, std::shared_ptr<const ShmSegment> segment, int way);

  const char* const begin_;
  const size_t size_;
  const UniqueFd leash_;
  const std::shared_ptr<const ShmSegment> segment_;
  const std::span<LoanFlag, kLoans> flags_;
};

}  // namespace millstream

#endif  // MILLSTREAM_DISTRIBUTED_LINK_LOANS_H_
