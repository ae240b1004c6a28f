// SPDX-License-Identifier: Apache-2.0
#include "millstream/data/example_columns.h"
#include "millstream/data/example_sources.h"
#include "millstream/data/idx.h"

namespace millstream {
namespace {

struct Part {
  Tensor images, labels;
  std::string images_path, labels_path;
};

// A file with one dimension holds labels, one with more holds images.
Status ReadInto(const DataFile& file, Part* part) {
  ASSIGN_OR_RETURN(Tensor tensor, ReadIdx(file.path));
  const bool labels = tensor.rank() == 1;
  std::string& taken = labels ? part->labels_path : part->images_path;
  if (!taken.empty()) {
    return errors::InvalidArgument("Both ", taken, " and ", file.path, " hold ", labels ? "labels" : "images",
                                   file.test ? " for evaluation" : "", "; keep one of them");
  }
  taken = file.path;
  (labels ? part->labels : part->images) = std::move(tensor);
  return OkStatus();
}

Status MakeSet(const Part& part, ExampleData* data, ExampleSet* set) {
  if (part.images_path.empty()) return errors::NotFound("There are no images for the labels in ", part.labels_path);
  if (part.labels_path.empty()) return errors::NotFound("There are no labels for the images in ", part.images_path);
  const int64_t n = part.images.dim(0);
  if (n == 0) return errors::InvalidArgument(part.images_path, " holds no images");
  if (part.labels.dim(0) != n) {
    return errors::InvalidArgument(part.images_path, " holds ", n, " images, but ", part.labels_path, " ",
                                   part.labels.dim(0), " labels");
  }
  const std::vector<int64_t> dims(part.images.shape().dims().begin() + 1, part.images.shape().dims().end());
  if (!data->dims.empty() && data->dims != dims)
    return errors::InvalidArgument(part.images_path, " holds images of another size than for training");
  data->dims = dims;
  set->numbers = part.images.Reshaped(Shape({n, part.images.num_elements() / n}));
  set->categories = Tensor(DType::kInt32, Shape({n, 0}));
  ASSIGN_OR_RETURN(set->labels, Tensor::Make(DType::kInt32, Shape({n})));
  for (int64_t i = 0; i < n; ++i) {
    const int32_t label = part.labels.data<uint8_t>()[i];
    set->labels.data<int32_t>()[i] = label;
    data->classes = std::max<int64_t>(data->classes, label + 1);
  }
  return OkStatus();
}

}  // namespace

StatusOr<ExampleData> ReadIdxExamples(const std::vector<DataFile>& files, const ExampleOptions& options) {
  Part train, test;
  bool has_test = false;
  for (const DataFile& file : files) has_test |= file.test;
  for (const DataFile& file : files) {
    const bool wanted = file.test ? options.test : options.train || !has_test;
    if (wanted) RETURN_IF_ERROR(ReadInto(file, file.test ? &test : &train));
  }
  ExampleData data;
  if (!train.images_path.empty() || !train.labels_path.empty()) RETURN_IF_ERROR(MakeSet(train, &data, &data.train));
  if (!test.images_path.empty() || !test.labels_path.empty()) RETURN_IF_ERROR(MakeSet(test, &data, &data.test));
  if (options.train && data.train.size() == 0)
    return errors::NotFound("All files (", files[0].path, ", ...) are for evaluation by their names");
  if (!has_test) RETURN_IF_ERROR(HoldOutEveryTenth(&data));
  data.what = DescribeExamples(data, data.train.size(), data.test.size(), KindName(DataFile::Kind::kIdx));
  return data;
}

}  // namespace millstream
