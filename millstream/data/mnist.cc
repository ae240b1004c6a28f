// SPDX-License-Identifier: Apache-2.0
#include "millstream/data/mnist.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <numeric>

#include "millstream/data/idx.h"

namespace millstream {
namespace {

constexpr int kClasses = 10;

// Folders that may hold the data set that comes with Millstream, best first.
std::vector<std::string> DefaultFolders() {
  std::vector<std::string> folders;
  if (const char* dir = std::getenv("MILLSTREAM_DATA_DIR")) folders.push_back(absl::StrCat(dir, "/mnist"));
  std::error_code error;
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", error);
  if (!error) {
    // In an installation, in a Python package, and in the build tree below the sources.
    folders.push_back(program.parent_path() / "../share/millstream/mnist");
    folders.push_back(program.parent_path() / "../files/mnist");
    for (auto up = program.parent_path(); up.has_relative_path(); up = up.parent_path())
      folders.push_back(up / "data/mnist");
  }
  folders.emplace_back("data/mnist");
  return folders;
}

StatusOr<Tensor> ReadPart(const std::string& folder, const std::string& name) {
  const std::string plain = absl::StrCat(folder, "/", name);
  return ReadIdx(std::filesystem::exists(plain) ? plain : plain + ".gz");
}

StatusOr<LabeledImages> ReadSet(const std::string& folder, const std::string& prefix, uint32_t seed) {
  ASSIGN_OR_RETURN(Tensor images, ReadPart(folder, prefix + "-images-idx3-ubyte"));
  ASSIGN_OR_RETURN(Tensor labels, ReadPart(folder, prefix + "-labels-idx1-ubyte"));
  return LabeledImages::Make(images, labels, seed);
}

}  // namespace

StatusOr<std::string> MnistFolder() {
  for (const std::string& candidate : DefaultFolders()) {
    if (std::filesystem::exists(candidate + "/train-images-idx3-ubyte.gz")) return candidate;
  }
  return errors::NotFound(
      "No MNIST data found. Set MILLSTREAM_DATA_DIR to the folder that holds mnist/, or name a folder.");
}

StatusOr<LabeledImages> LabeledImages::Make(const Tensor& images, const Tensor& labels, uint32_t seed) {
  if (images.rank() != 3 || labels.rank() != 1 || images.dim(0) != labels.dim(0) || images.dim(0) == 0) {
    return errors::InvalidArgument("Images ", images.shape().ToString(), " and labels ", labels.shape().ToString(),
                                   " do not match");
  }
  const int64_t n = images.dim(0), pixels = images.dim(1) * images.dim(2);
  LabeledImages set;
  ASSIGN_OR_RETURN(set.images_, Tensor::Make(DType::kFloat, Shape({n, pixels})));
  ASSIGN_OR_RETURN(set.one_hot_, Tensor::Make(DType::kFloat, Shape({n, kClasses})));
  const uint8_t* from = images.data<uint8_t>();
  float* to = set.images_.data<float>();
  for (int64_t i = 0; i < n * pixels; ++i) to[i] = static_cast<float>(from[i]) * (1.0f / 255.0f);
  float* hot = set.one_hot_.data<float>();
  std::fill_n(hot, n * kClasses, 0.0f);
  for (int64_t i = 0; i < n; ++i) {
    const uint8_t label = labels.data<uint8_t>()[i];
    if (label >= kClasses)
      return errors::InvalidArgument("Label ", static_cast<int>(label), " of example ", i, " is out of range");
    hot[i * kClasses + label] = 1.0f;
  }
  set.Shuffle(seed);
  return set;
}

void LabeledImages::Shuffle(uint32_t seed) {
  order_.resize(static_cast<size_t>(size()));
  std::iota(order_.begin(), order_.end(), 0);
  random_.seed(seed);
  std::shuffle(order_.begin(), order_.end(), random_);
  next_ = 0;
}

LabeledImages LabeledImages::TakeFirst(int64_t count) {
  MS_CHECK(count > 0 && count < size());
  const uint32_t seed = static_cast<uint32_t>(random_());
  LabeledImages first;
  first.images_ = images_.SliceRows(0, count);
  first.one_hot_ = one_hot_.SliceRows(0, count);
  first.Shuffle(seed);
  images_ = images_.SliceRows(count, size());
  one_hot_ = one_hot_.SliceRows(count, one_hot_.dim(0));
  Shuffle(seed);
  return first;
}

void LabeledImages::NextBatch(int64_t count, Tensor* images, Tensor* labels) {
  MS_CHECK(count > 0 && count <= size());
  const int64_t pixels = images_.dim(1);
  const Shape image_shape({count, pixels}), label_shape({count, kClasses});
  // The caller's tensors are reused where nobody else holds them.
  if (!images->RefIsOne() || !(images->shape() == image_shape)) *images = Tensor(DType::kFloat, image_shape);
  if (!labels->RefIsOne() || !(labels->shape() == label_shape)) *labels = Tensor(DType::kFloat, label_shape);
  for (int64_t i = 0; i < count; ++i) {
    if (next_ == size()) {
      next_ = 0;
      ++epochs_;
      std::shuffle(order_.begin(), order_.end(), random_);
    }
    const int64_t from = order_[static_cast<size_t>(next_++)];
    std::memcpy(images->data<float>() + i * pixels, images_.data<float>() + from * pixels,
                static_cast<size_t>(pixels) * sizeof(float));
    std::memcpy(labels->data<float>() + i * kClasses, one_hot_.data<float>() + from * kClasses,
                kClasses * sizeof(float));
  }
}

StatusOr<Mnist> ReadMnist(const std::string& folder, uint32_t seed) {
  std::string found = folder;
  if (found.empty()) {
    ASSIGN_OR_RETURN(found, MnistFolder());
  }
  ASSIGN_OR_RETURN(LabeledImages train, ReadSet(found, "train", seed));
  ASSIGN_OR_RETURN(LabeledImages test, ReadSet(found, "t10k", seed));
  return Mnist{std::move(train), std::move(test)};
}

}  // namespace millstream
