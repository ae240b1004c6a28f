// SPDX-License-Identifier: Apache-2.0
#include "millstream/distributed/link/loans.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>

#include <cerrno>
#include <cstring>
#include <numeric>

#include "millstream/base/sealed_memory.h"
#include "millstream/distributed/link/sockets.h"

namespace millstream {
namespace {

constexpr uint64_t kAlignment = 64;  // of every tensor's memory

// Loans of links that have ended.
class OpenLoans {
 public:
  void Add(std::shared_ptr<Lender> lender) {
    std::vector<std::shared_ptr<Lender>> settled;  // let go of outside the lock
    MutexLock lock(mu_);
    lenders_.push_back(std::move(lender));
    for (auto it = lenders_.begin(); it != lenders_.end();) {
      (*it)->Collect();
      if ((*it)->outstanding() > 0) {
        ++it;
      } else {
        settled.push_back(std::move(*it));
        it = lenders_.erase(it);
      }
    }
  }

 private:
  Mutex mu_;
  std::vector<std::shared_ptr<Lender>> lenders_ ABSL_GUARDED_BY(mu_);
};

// Of the process, as the memory is: the tensors may outlive every hub.
OpenLoans& OpenLoansOfProcess() {
  static auto* const loans = new OpenLoans;
  return *loans;
}

}  // namespace

Lender::Lender(SharedRegion* region, std::shared_ptr<const ShmSegment> segment, int way)
    : region_(region), segment_(std::move(segment)), flags_(segment_->loans(way)), unused_(kLoans) {
  std::iota(unused_.rbegin(), unused_.rend(), 0);
}

Status Lender::OfferRegion(int socket) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) return errors::Unavailable("pipe: ", std::strerror(errno));
  leash_ = UniqueFd(ends[0]);
  const UniqueFd theirs(ends[1]), file(region_->OpenForReading());
  if (!file) return errors::Unavailable("cannot open the shared region: ", std::strerror(errno));
  return SendDescriptors(socket, {file.get(), theirs.get()});
}

std::optional<Loan> Lender::Lend(const Tensor& tensor) {
  if (!lending_.load(std::memory_order_acquire)) return std::nullopt;
  const size_t bytes = tensor.ByteSize();
  if (bytes < kLentBytes || !region_->Contains(tensor.raw())) return std::nullopt;
  const uint64_t offset = region_->OffsetOf(tensor.raw());
  if (offset % kAlignment != 0) return std::nullopt;  // a slice
  Collect();
  MutexLock lock(mu_);
  if (unused_.empty()) return std::nullopt;
  const uint32_t flag = unused_.back();
  unused_.pop_back();
  flags_[flag].store(1, std::memory_order_relaxed);  // seen with the frame
  out_.push_back({flag, tensor});
  outstanding_.store(static_cast<int>(out_.size()), std::memory_order_relaxed);
  return Loan{offset, flag};
}

void Lender::Collect() {
  if (outstanding_.load(std::memory_order_relaxed) == 0) return;
  const bool all = !lending_.load(std::memory_order_relaxed) && LeashIsLoose();
  std::vector<Out> back;  // let go of outside the lock
  MutexLock lock(mu_);
  for (size_t i = 0; i < out_.size();) {
    if (!all && flags_[out_[i].flag].load(std::memory_order_acquire) != 0) {
      ++i;
      continue;
    }
    unused_.push_back(out_[i].flag);
    back.push_back(std::move(out_[i]));
    out_[i] = std::move(out_.back());
    out_.pop_back();
  }
  outstanding_.store(static_cast<int>(out_.size()), std::memory_order_relaxed);
}

bool Lender::LeashIsLoose() const {
  pollfd end = {leash_.get(), POLLIN, 0};
  return !leash_ || (poll(&end, 1, 0) == 1 && (end.revents & POLLHUP) != 0);
}

void Lender::Settle(std::shared_ptr<Lender> lender) {
  lender->lending_.store(false, std::memory_order_release);
  OpenLoansOfProcess().Add(std::move(lender));
}

StatusOr<std::shared_ptr<Borrower>> Borrower::Map(UniqueFd region, UniqueFd leash,
                                                  std::shared_ptr<const ShmSegment> segment, int way) {
  ASSIGN_OR_RETURN(const uint64_t size, SealedMemoryBytes(region.get()));
  void* const begin = mmap(nullptr, size, PROT_READ, MAP_SHARED | MAP_NORESERVE, region.get(), 0);
  if (begin == MAP_FAILED) return errors::Unavailable("mmap of a peer's memory: ", std::strerror(errno));
  madvise(begin, size, MADV_DONTDUMP);
  return std::shared_ptr<Borrower>(
      new Borrower(static_cast<const char*>(begin), size, std::move(leash), std::move(segment), way));
}

Borrower::Borrower(const char* begin, size_t size, UniqueFd leash, std::shared_ptr<const ShmSegment> segment, int way)
    : begin_(begin),
      size_(size),
      leash_(std::move(leash)),
      segment_(std::move(segment)),
      flags_(segment_->loans(way)) {}

Borrower::~Borrower() { munmap(const_cast<char*>(begin_), size_); }

StatusOr<Tensor> Borrower::Borrow(const Loan& loan, uint64_t bytes) {
  if (loan.flag >= kLoans || loan.offset % kAlignment != 0 || bytes == 0 || bytes > size_ ||
      loan.offset > size_ - bytes) {
    return errors::DataLoss("a loan of ", bytes, " bytes at ", loan.offset, " of ", size_);
  }
  return Tensor::WrapReadOnly(
      DType::kUint8, Shape({static_cast<int64_t>(bytes)}), begin_ + loan.offset,
      [self = shared_from_this(), flag = loan.flag] { self->flags_[flag].store(0, std::memory_order_release); });
}

}  // namespace millstream
