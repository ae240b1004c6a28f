// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_IO_BUNDLE_WRITER_H_
#define MILLSTREAM_IO_BUNDLE_WRITER_H_

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "millstream/base/thread_pool.h"
#include "millstream/io/bundle_commit.h"
#include "millstream/io/bundle_key.h"
#include "millstream/io/placed_file.h"
#include "millstream/tensor/tensor.h"

namespace millstream {

// Writes a V2 checkpoint: PREFIX.data-00000-of-00001 and PREFIX.index (docs/formats/bundle.md). Both are written aside
// and renamed by Finish(), the index last (bundle_commit.h): a crash leaves the old checkpoint or the new one, whole.
// Not thread-safe.
class BundleWriter {
 public:
  // Makes the folder of `prefix` if it is missing. Large tensors are written on the threads of `pool`, if there is one.
  static StatusOr<std::unique_ptr<BundleWriter>> Create(const std::string& prefix, ThreadPool* pool = nullptr);
  ~BundleWriter();

  // InvalidArgument for a name that is there already, or a type that cannot be saved (resource, variant).
  Status Add(const std::string& name, const Tensor& tensor);
  // One slice of a tensor whose other slices may come from elsewhere.
  Status AddSlice(const std::string& name, const Shape& full_shape, const TensorSlice& slice, const Tensor& tensor);
  Status Finish();

 private:
  struct Entry;
  BundleWriter(std::string prefix, ThreadPool* pool);
  Status Append(absl::string_view bytes);
  Status Flush();
  Status WriteBytes(absl::string_view bytes, Entry* entry);
  Status WriteStrings(const Tensor& tensor, Entry* entry);
  Status WriteVariants(const std::vector<std::string>& variants, Entry* entry);

  const std::string prefix_;
  ThreadPool* const pool_;
  std::unique_ptr<PlacedFile> data_;
  std::string buffer_;  // small pieces that come next in the file
  int64_t offset_ = 0;  // of what is added next, behind the buffer
  std::map<std::string, std::unique_ptr<Entry>> entries_;
};

// Joins checkpoints written by several tasks into one: moves their data files, merges their indexes. InvalidArgument if
// one is missing, unless `allow_missing`.
Status MergeBundles(const std::vector<std::string>& prefixes, const std::string& merged_prefix, bool allow_missing);

}  // namespace millstream

#endif  // MILLSTREAM_IO_BUNDLE_WRITER_H_
