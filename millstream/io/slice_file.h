// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_IO_SLICE_FILE_H_
#define MILLSTREAM_IO_SLICE_FILE_H_

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "millstream/io/bundle_key.h"
#include "millstream/io/table.h"
#include "millstream/tensor/tensor.h"

namespace millstream {

// Checkpoints in the format before tensor bundles (V1): one file, a table of messages that hold one slice each
// (docs/formats/bundle.md).

// Collects tensors and writes them as one file. Not thread-safe.
class SliceFileWriter {
 public:
  explicit SliceFileWriter(std::string path) : path_(std::move(path)) {}
  // InvalidArgument for a slice that is there already or does not fit; Unimplemented for types that this format has
  // not.
  Status Add(const std::string& name, const Shape& full_shape, const TensorSlice& slice, const Tensor& tensor);
  // Readers see the old file or the new one, whole.
  Status Finish();

 private:
  struct Entry {
    DType dtype;
    Shape shape;
    std::vector<TensorSlice> slices;
  };
  const std::string path_;
  std::map<std::string, Entry> entries_;
  Table table_;
};

// Reads the files that match a pattern as one checkpoint. Nothing in them is trusted. Immutable once open.
class SliceFileReader {
 public:
  // NotFound if no file matches; DataLoss if one is no such file.
  static StatusOr<std::unique_ptr<SliceFileReader>> Open(const std::string& pattern);
  // NotFound if there is no such tensor.
  Status Lookup(const std::string& name, DType* dtype, Shape* shape) const;
  // A part of a tensor, from whatever slices cover it; InvalidArgument if they do not.
  StatusOr<Tensor> ReadSlice(const std::string& name, const TensorSlice& wanted) const;
  // A tensor that must have this type, or the part of it that `shape_and_slice` (see ParseShapeAndSlice) names.
  StatusOr<Tensor> ReadAs(const std::string& name, const std::string& shape_and_slice, DType dtype) const;

 private:
  struct Part {
    TensorSlice slice;
    size_t file;
  };
  struct Entry {
    DType dtype;
    Shape shape;
    std::vector<Part> parts;
  };
  explicit SliceFileReader(std::string pattern) : pattern_(std::move(pattern)) {}
  Status AddFile(const std::string& path);
  StatusOr<Tensor> ReadPart(const std::string& name, const Entry& entry, const Part& part) const;

  const std::string pattern_;
  std::vector<Table> files_;
  std::map<std::string, Entry> entries_;
};

}  // namespace millstream

#endif  // MILLSTREAM_IO_SLICE_FILE_H_
