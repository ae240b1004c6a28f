// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_OPS_DATA_SAVED_SAVED_SHARDS_H_
#define MILLSTREAM_OPS_DATA_SAVED_SAVED_SHARDS_H_

#include <memory>

#include "millstream/ops/data/captured_function.h"
#include "millstream/ops/data/saved/saved_dataset.h"

namespace millstream {

// Puts elements into the shards that a function, if there is one, chooses.
class ElementSaver {
 public:
  ElementSaver(std::unique_ptr<SavedRunWriter> writer, std::unique_ptr<CapturedFunction::Instance> shard)
      : writer_(std::move(writer)), shard_(std::move(shard)) {}
  Status Save(const StepContext& step, const Element& element);
  // Elements can be read once this is OK.
  Status Finish() { return writer_->Finish(); }

 private:
  const std::unique_ptr<SavedRunWriter> writer_;
  const std::unique_ptr<CapturedFunction::Instance> shard_;
};

// The elements of what `reader` makes of the dataset of the shards.
class LoadDataset final : public Dataset {
 public:
  LoadDataset(Ref<Dataset> shards, int64_t elements, CapturedFunction reader, const OutputSignature& signature)
      : Dataset(signature.types, signature.shapes),
        shards_(std::move(shards)),
        elements_(elements),
        reader_(std::move(reader)) {}
  int64_t CountElements() const override { return elements_; }
  StatusOr<IteratorPtr> NewIterator(const StepContext& owner) const override;

 private:
  class Iterator;
  const Ref<Dataset> shards_;
  const int64_t elements_;
  const CapturedFunction reader_;
};

}  // namespace millstream

#endif  // MILLSTREAM_OPS_DATA_SAVED_SAVED_SHARDS_H_
