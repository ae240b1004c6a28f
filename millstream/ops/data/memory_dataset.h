// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_OPS_DATA_MEMORY_DATASET_H_
#define MILLSTREAM_OPS_DATA_MEMORY_DATASET_H_

#include <memory>
#include <vector>

#include "millstream/ops/data/dataset.h"

namespace millstream {

// Elements that are there already.
class MemoryDataset final : public Dataset {
 public:
  using Elements = std::vector<Element>;
  MemoryDataset(std::vector<DType> types, std::vector<PartialShape> shapes, Elements elements)
      : Dataset(std::move(types), std::move(shapes)),
        elements_(std::make_shared<const Elements>(std::move(elements))) {}
  int64_t CountElements() const override { return static_cast<int64_t>(elements_->size()); }
  StatusOr<IteratorPtr> NewIterator(const StepContext&) const override { return std::make_unique<Iterator>(elements_); }
  Status FindRandomAccess() const override { return OkStatus(); }
  StatusOr<AccessPtr> NewAccess(const StepContext&) const override {
    return MakeAccessBy([elements = elements_](const StepContext&, int64_t i, Element* element) {
      *element = (*elements)[static_cast<size_t>(i)];
      return OkStatus();
    });
  }

  class Iterator final : public DatasetIterator {
   public:
    explicit Iterator(std::shared_ptr<const Elements> elements) : elements_(std::move(elements)) {}
    bool Ready() override { return true; }
    Status Next(const StepContext&, Element* element, bool* end) override {
      *end = next_ == elements_->size();
      if (!*end) *element = (*elements_)[next_++];
      return OkStatus();
    }

   private:
    const std::shared_ptr<const Elements> elements_;
    size_t next_ = 0;
  };

 private:
  const std::shared_ptr<const Elements> elements_;
};

}  // namespace millstream

#endif  // MILLSTREAM_OPS_DATA_MEMORY_DATASET_H_
