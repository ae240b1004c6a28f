// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_DATA_MNIST_H_
#define MILLSTREAM_DATA_MNIST_H_

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "millstream/tensor/tensor.h"

namespace millstream {

// Images and labels with shuffled batches, in the manner of TF1's input_data.read_data_sets(). Not thread-safe.
class LabeledImages {
 public:
  // images: uint8 [n, rows, cols]; labels: uint8 [n]. InvalidArgument if they do not belong together.
  static StatusOr<LabeledImages> Make(const Tensor& images, const Tensor& labels, uint32_t seed);

  int64_t size() const { return images_.dim(0); }
  int64_t epochs_completed() const { return epochs_; }
  const Tensor& images() const { return images_; }           // float [n, rows * cols], 0..1
  const Tensor& one_hot_labels() const { return one_hot_; }  // float [n, 10]

  // Moves the first `count` examples into a set of their own, to validate with. REQUIRES: 0 < count < size().
  LabeledImages TakeFirst(int64_t count);

  // The next `count` examples in shuffled order; a new order for each epoch. REQUIRES: 0 < count <= size().
  void NextBatch(int64_t count, Tensor* images, Tensor* labels);

 private:
  void Shuffle(uint32_t seed);  // begins a new order

  Tensor images_;
  Tensor one_hot_;
  std::vector<int32_t> order_;
  int64_t next_ = 0;
  int64_t epochs_ = 0;
  std::mt19937 random_;
};

struct Mnist {
  LabeledImages train;
  LabeledImages test;
};

// The folder with the copy that comes with Millstream: in MILLSTREAM_DATA_DIR, else beside the program, else below the
// current folder. NotFound says what to do.
StatusOr<std::string> MnistFolder();
// Reads the four files of the database (*-ubyte, gzipped or not) from `folder`; "" means MnistFolder().
StatusOr<Mnist> ReadMnist(const std::string& folder = "", uint32_t seed = 1);

}  // namespace millstream

#endif  // MILLSTREAM_DATA_MNIST_H_
