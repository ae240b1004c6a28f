// SPDX-License-Identifier: Apache-2.0
#include "millstream/ops/data/saved/saved_shards.h"

namespace millstream {

Status ElementSaver::Save(const StepContext& step, const Element& element) {
  int64_t shard = 0;
  if (shard_ != nullptr) {
    Element chosen;
    RETURN_IF_ERROR(shard_->Run(step, element, &chosen));
    if (chosen.size() != 1 || chosen[0].dtype() != DType::kInt64 || chosen[0].num_elements() != 1) {
      return errors::InvalidArgument("`shard_func` must return a scalar int64.");
    }
    shard = chosen[0].data<int64_t>()[0];
  }
  return writer_->Write(shard, element);
}

class LoadDataset::Iterator final : public DatasetIterator {
 public:
  Iterator(Ref<Dataset> shards, CapturedFunction::Instance reader, const StepContext& owner)
      : shards_(std::move(shards)), reader_(std::move(reader)), owner_(owner) {}
  Status Next(const StepContext& step, Element* element, bool* end) override {
    if (iterator_ == nullptr) RETURN_IF_ERROR(Open(step));
    return iterator_->GetNext(step, element, end);
  }

 private:
  Status Open(const StepContext& step) {
    Element made;
    RETURN_IF_ERROR(reader_.Run(step, {Tensor::Scalar(Variant(shards_))}, &made));
    if (made.size() != 1) return errors::InvalidArgument("reader_func returns more than one argument.");
    const bool scalar = made[0].dtype() == DType::kVariant && made[0].rank() == 0;
    Dataset* const dataset = scalar ? made[0].scalar<Variant>().get<Dataset>() : nullptr;
    if (dataset == nullptr) return errors::InvalidArgument("reader_func must return a dataset.");
    dataset_ = Ref<Dataset>::Share(dataset);
    ASSIGN_OR_RETURN(iterator_, dataset_->MakeIterator(owner_));
    return OkStatus();
  }

  const Ref<Dataset> shards_;
  const CapturedFunction::Instance reader_;
  const StepContext& owner_;
  Ref<Dataset> dataset_;
  IteratorPtr iterator_;
};

StatusOr<IteratorPtr> LoadDataset::NewIterator(const StepContext& owner) const {
  ASSIGN_OR_RETURN(CapturedFunction::Instance reader, reader_.Instantiate(owner, {DType::kVariant}));
  return std::make_unique<Iterator>(shards_, std::move(reader), owner);
}

}  // namespace millstream
