// SPDX-License-Identifier: Apache-2.0
#include "millstream/framework/op.h"
#include "millstream/ops/data/dataset.h"
#include "millstream/ops/io/match_files.h"

namespace millstream {
namespace {

// The names of the files that patterns match, one pattern after the other.
class MatchingFilesDataset final : public Dataset {
 public:
  explicit MatchingFilesDataset(std::vector<std::string> patterns)
      : Dataset({DType::kString}, {Shape()}), patterns_(std::move(patterns)) {}
  StatusOr<IteratorPtr> NewIterator(const StepContext&) const override { return std::make_unique<Iterator>(patterns_); }

 private:
  class Iterator final : public DatasetIterator {
   public:
    explicit Iterator(std::vector<std::string> patterns) : patterns_(std::move(patterns)) {}
    Status Next(const StepContext& step, Element* element, bool* end) override {
      while (at_ == names_.size() && pattern_ < patterns_.size()) {
        RETURN_IF_ERROR(CheckCancelled(step));
        names_.clear();
        at_ = 0;
        RETURN_IF_ERROR(MatchFiles(step.resources, patterns_[pattern_++], &names_));
        std::erase_if(names_, [&](const std::string& name) { return IsFolder(step.resources, name); });
        matched_ |= !names_.empty();
      }
      *end = at_ == names_.size();
      if (*end) return matched_ ? OkStatus() : errors::NotFound("Don't find any matched files");
      element->push_back(Tensor::Scalar(names_[at_++]));
      return OkStatus();
    }

   private:
    const std::vector<std::string> patterns_;
    size_t pattern_ = 0;              // the next one
    std::vector<std::string> names_;  // of the one before
    size_t at_ = 0;
    bool matched_ = false;
  };

  const std::vector<std::string> patterns_;
};

Status MatchingFilesCpu(KernelContext& ctx) {
  const Tensor& t = ctx.input(0);
  if (t.rank() > 1) return errors::InvalidArgument("`patterns` must be a scalar or a vector.");
  const auto patterns = t.flat<std::string>();
  OutputDataset(ctx, MakeRef<MatchingFilesDataset>(std::vector<std::string>(patterns.begin(), patterns.end())));
  return OkStatus();
}

Status MatchingFilesShape(ShapeContext& c) {
  PartialShape unused;
  RETURN_IF_ERROR(ShapeContext::WithRankAtMost(c.input(0), 1, &unused));
  return ScalarShape(c);
}

#define MATCHING_FILES(Name)     \
  OP(Name)                       \
      .Input("patterns: string") \
      .Output("handle: variant") \
      .Shape(MatchingFilesShape) \
      .Cpu(MatchingFilesCpu)     \
      .Doc("A dataset of the names of files that match patterns.")
MATCHING_FILES("MatchingFilesDataset");
MATCHING_FILES("ExperimentalMatchingFilesDataset");
#undef MATCHING_FILES

}  // namespace
}  // namespace millstream
