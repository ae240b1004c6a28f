// SPDX-License-Identifier: Apache-2.0
#include "millstream/data/batches.h"

#include <algorithm>
#include <cstring>
#include <limits>

namespace millstream {
namespace {

// The caller's tensor is used again where nobody else holds it.
void Prepare(DType dtype, const Shape& shape, Tensor* tensor) {
  if (!tensor->RefIsOne() || tensor->dtype() != dtype || !(tensor->shape() == shape)) *tensor = Tensor(dtype, shape);
}

void Prepare(const ExampleSet& set, int64_t count, Batch* batch) {
  Prepare(DType::kFloat, Shape({count, set.numbers.dim(1)}), &batch->numbers);
  Prepare(DType::kInt32, Shape({count, set.categories.dim(1)}), &batch->categories);
  Prepare(set.labels.dtype(), Shape({count}), &batch->labels);
}

void CopyNumbers(const Tensor& from, int64_t row, int64_t to_row, Tensor* to) {
  const int64_t width = from.dim(1);
  float* out = to->data<float>() + to_row * width;
  if (from.dtype() == DType::kFloat) {
    std::memcpy(out, from.data<float>() + row * width, static_cast<size_t>(width) * sizeof(float));
    return;
  }
  const uint8_t* in = from.data<uint8_t>() + row * width;
  for (int64_t i = 0; i < width; ++i) out[i] = static_cast<float>(in[i]) * (1.0f / 255.0f);
}

void CopyExample(const ExampleSet& from, int64_t row, int64_t to_row, Batch* to) {
  CopyNumbers(from.numbers, row, to_row, &to->numbers);
  const int64_t columns = from.categories.dim(1);
  std::copy_n(from.categories.data<int32_t>() + row * columns, columns,
              to->categories.data<int32_t>() + to_row * columns);
  if (from.labels.dtype() == DType::kInt32) {
    to->labels.data<int32_t>()[to_row] = from.labels.data<int32_t>()[row];
  } else {
    to->labels.data<float>()[to_row] = from.labels.data<float>()[row];
  }
}

}  // namespace

Batch TakeBatch(const ExampleSet& set, int64_t begin, int64_t end) {
  MS_CHECK(0 <= begin && begin < end && end <= set.size());
  Batch batch;
  Prepare(set, end - begin, &batch);
  for (int64_t i = begin; i < end; ++i) CopyExample(set, i, i - begin, &batch);
  return batch;
}

StatusOr<Batches> Batches::Make(const ExampleSet& set, int64_t batch, int shard, int shards, uint64_t seed) {
  if (set.size() > std::numeric_limits<int32_t>::max())
    return errors::InvalidArgument(set.size(), " examples are more than fit in memory here");
  if (shard < 0 || shard >= shards || shard >= set.size() || batch <= 0) {
    return errors::InvalidArgument("worker ", shard, " of ", shards, " gets none of the ", set.size(), " examples");
  }
  Batches batches(set, batch, seed + static_cast<uint64_t>(shard));
  for (int64_t i = shard; i < set.size(); i += shards) batches.order_.push_back(static_cast<int32_t>(i));
  std::shuffle(batches.order_.begin(), batches.order_.end(), batches.random_);
  return batches;
}

void Batches::Next(Batch* batch) {
  Prepare(*set_, batch_, batch);
  for (int64_t i = 0; i < batch_; ++i) {
    if (next_ == order_.size()) {
      next_ = 0;
      ++epochs_;
      std::shuffle(order_.begin(), order_.end(), random_);
    }
    CopyExample(*set_, order_[next_++], i, batch);
  }
}

}  // namespace millstream
