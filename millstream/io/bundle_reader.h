// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_IO_BUNDLE_READER_H_
#define MILLSTREAM_IO_BUNDLE_READER_H_

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "millstream/base/file.h"
#include "millstream/base/mutex.h"
#include "millstream/base/thread_pool.h"
#include "millstream/io/bundle_key.h"
#include "millstream/io/table.h"
#include "millstream/tensor/tensor.h"

namespace millstream {

// Reads a V2 checkpoint, ours or TensorFlow's. Nothing in the files is trusted: sizes are checked against the files
// before memory is taken, every tensor against its checksum (DataLoss). Thread-safe.
class BundleReader {
 public:
  // NotFound if there is no PREFIX.index. Large tensors are read on the threads of `pool`, if there is one.
  static StatusOr<std::unique_ptr<BundleReader>> Open(const std::string& prefix, ThreadPool* pool = nullptr);
  ~BundleReader();

  std::vector<std::string> Names() const;  // without the keys of slices
  bool Has(const std::string& name) const;
  // Type and (full) shape. NotFound if there is no such tensor.
  Status Lookup(const std::string& name, DType* dtype, Shape* shape) const;
  // The whole tensor, put together from slices where it was saved so.
  StatusOr<Tensor> Read(const std::string& name) const;
  // A part of it, from whatever slices cover it. NotFound if they do not.
  StatusOr<Tensor> ReadSlice(const std::string& name, const Shape& full_shape, const TensorSlice& slice) const;

 private:
  struct Entry;
  BundleReader(std::string prefix, ThreadPool* pool) : prefix_(std::move(prefix)), pool_(pool) {}
  StatusOr<std::unique_ptr<Entry>> Find(const std::string& key) const;
  StatusOr<Tensor> ReadEntry(const std::string& key, const Entry& entry) const;
  StatusOr<std::shared_ptr<RandomAccessFile>> Shard(int shard) const;
  StatusOr<Tensor> Assemble(const std::string& name, const Entry& entry, const TensorSlice& wanted) const;

  const std::string prefix_;
  ThreadPool* const pool_;
  Table index_;
  int num_shards_ = 0;
  mutable Mutex mu_;
  mutable std::map<int, std::shared_ptr<RandomAccessFile>> shards_ ABSL_GUARDED_BY(mu_);
};

}  // namespace millstream

#endif  // MILLSTREAM_IO_BUNDLE_READER_H_
