// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "millstream/framework/graph_files.h"
#include "millstream/framework/op.h"
#include "millstream/io/record_reader.h"
#include "millstream/math/random/philox.h"
#include "millstream/ops/io/match_files.h"

namespace millstream {
namespace {

// The records of all files that match, epoch after epoch: in each, files come in another order, and records at random
// from a buffer. No record comes twice before all have come once.
class RecordInput final : public Kernel {
 public:
  explicit RecordInput(KernelInit& init)
      : pattern_(init.Attr<std::string>("file_pattern")),
        seed_(init.Attr<int64_t>("file_random_seed")),
        shift_(init.Attr<float>("file_shuffle_shift_ratio")),
        buffer_size_(init.Attr<int64_t>("file_buffer_size")),
        batch_(init.Attr<int64_t>("batch_size")),
        random_(math::Philox(static_cast<uint64_t>(seed_), 0)) {
    const auto parallelism = init.Attr<int64_t>("file_parallelism");
    if (!(shift_ >= 0 && shift_ <= 1)) init.Fail(errors::InvalidArgument("file_shuffle_shift_ratio must be in [0, 1]"));
    if (buffer_size_ <= 0) init.Fail(errors::InvalidArgument("file_buffer_size must be greater than zero"));
    if (parallelism <= 0) init.Fail(errors::InvalidArgument("file_parallelism must be greater than zero"));
    if (batch_ <= 0) init.Fail(errors::InvalidArgument("batch_size must be greater than zero"));
    const StatusOr<Compression> named = CompressionFromName(init.Attr<std::string>("compression_type"));
    if (named.ok())
      compression_ = *named;
    else
      init.Fail(named.status());
  }

  Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, Shape({batch_})));
    MutexLock lock(mu_);
    for (std::string& record : out->flat<std::string>()) {
      RETURN_IF_ERROR(Fill(ctx));
      const size_t at = random_.Next() % buffer_.size();
      record = std::move(buffer_[at]);
      buffer_[at] = std::move(buffer_.back());
      buffer_.pop_back();
    }
    return OkStatus();
  }

 private:
  // Takes records up to the size of the buffer, and at least one; a new epoch begins when the one before is used up.
  Status Fill(KernelContext& ctx) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    while (static_cast<int64_t>(buffer_.size()) < buffer_size_) {
      if (ctx.cancellation() != nullptr && ctx.cancellation()->IsCancelled()) return ctx.cancellation()->status();
      if (reader_ == nullptr && next_file_ == files_.size()) {
        if (!buffer_.empty()) return OkStatus();
        if (epoch_ > 0 && !any_) return errors::OutOfRange("No records in the files that match '", pattern_, "'");
        RETURN_IF_ERROR(BeginEpoch(ctx));
      }
      if (reader_ == nullptr) {
        ASSIGN_OR_RETURN(const std::string path, ConfinedPath(ctx.resources(), files_[next_file_++]));
        ASSIGN_OR_RETURN(reader_, RecordReader::Open(path, compression_));
      }
      std::string record;
      const Status status = reader_->Read(&record);
      if (status.ok()) {
        buffer_.push_back(std::move(record));
        any_ = true;
        continue;
      }
      reader_ = nullptr;
      if (!absl::IsOutOfRange(status)) return status;
    }
    return OkStatus();
  }

  Status BeginEpoch(const KernelContext& ctx) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    files_.clear();
    next_file_ = 0;
    any_ = false;
    RETURN_IF_ERROR(MatchFiles(ctx.resources(), pattern_, &files_));
    if (files_.empty()) return errors::NotFound("No files matched '", pattern_, "'");
    math::PhiloxSampler order(math::Philox(static_cast<uint64_t>(seed_), static_cast<uint64_t>(epoch_)));
    for (size_t i = files_.size(); i > 1; --i) std::swap(files_[i - 1], files_[order.Next() % i]);
    const double turns = shift_ * static_cast<double>(epoch_);
    const auto by = static_cast<size_t>((turns - std::floor(turns)) * static_cast<double>(files_.size()));
    std::rotate(files_.begin(), files_.begin() + static_cast<std::ptrdiff_t>(by), files_.end());
    ++epoch_;
    return OkStatus();
  }

  const std::string pattern_;
  const int64_t seed_;
  const float shift_;
  const int64_t buffer_size_, batch_;
  Compression compression_ = Compression::kNone;
  Mutex mu_;
  math::PhiloxSampler random_ ABSL_GUARDED_BY(mu_);
  std::vector<std::string> buffer_ ABSL_GUARDED_BY(mu_), files_ ABSL_GUARDED_BY(mu_);
  size_t next_file_ ABSL_GUARDED_BY(mu_) = 0;
  std::unique_ptr<RecordReader> reader_ ABSL_GUARDED_BY(mu_);
  int64_t epoch_ ABSL_GUARDED_BY(mu_) = 0;
  bool any_ ABSL_GUARDED_BY(mu_) = false;  // record in this epoch
};

OP("RecordInput")
    .Output("records: string")
    .Attr("file_pattern: string")
    .Attr("file_random_seed: int = 301")
    .Attr("file_shuffle_shift_ratio: float = 0.0")
    .Attr("file_buffer_size: int = 10000")
    .Attr("file_parallelism: int = 16")
    .Attr("batch_size: int = 32")
    .Attr("compression_type: string = ''")
    .Stateful()
    .Shape(UnknownShape)
    .Cpu<RecordInput>()
    .Expensive()
    .MayBlock()
    .Doc("Batches of the records of TFRecord files, shuffled, without end.");

}  // namespace
}  // namespace millstream
