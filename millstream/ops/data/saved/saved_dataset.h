// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_OPS_DATA_SAVED_SAVED_DATASET_H_
#define MILLSTREAM_OPS_DATA_SAVED_SAVED_DATASET_H_

#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "millstream/io/record_writer.h"
#include "millstream/ops/data/dataset.h"

// Datasets in folders, as TensorFlow lays them out. PATH/snapshot.metadata says which run is the valid one;
// PATH/RUN/SHARD.shard/00000000.snapshot is a TFRecord file of the components of its elements, as messages of tensors.
namespace millstream {

struct SavedMetadata {
  std::string run;
  int64_t version = 2;
  std::vector<DType> types;
  int64_t elements = 0;
  bool finalized = false;
  std::chrono::system_clock::time_point created;  // set by WriteSavedMetadata(), unless it is known
};

// NotFound if there is none, DataLoss if it is malformed.
StatusOr<SavedMetadata> ReadSavedMetadata(const ResourceManager* resources, const std::string& path);
Status WriteSavedMetadata(const std::string& path, SavedMetadata* metadata);
// The name of a new run.
std::string NewRunName();

Status WriteElement(const Element& element, RecordWriter* writer);
// The elements of one file.
Ref<Dataset> OpenElementsFile(const std::string& file, Compression compression, const OutputSignature& signature);

// Writes the elements of one run. Not thread-safe.
class SavedRunWriter {
 public:
  // Makes a run's folder below `path`, with metadata that say it is not complete.
  static StatusOr<std::unique_ptr<SavedRunWriter>> Create(const ResourceManager* resources, const std::string& path,
                                                          Compression compression, std::vector<DType> types);
  Status Write(int64_t shard, const Element& element);
  // Elements can be read once this is OK.
  Status Finish();

 private:
  SavedRunWriter(std::string path, Compression compression) : path_(std::move(path)), compression_(compression) {}
  StatusOr<RecordWriter*> Shard(int64_t shard);

  const std::string path_;
  const Compression compression_;
  SavedMetadata metadata_;
  std::map<int64_t, std::unique_ptr<RecordWriter>> shards_;
};

// A dataset of datasets, one for each shard of a run, in order.
StatusOr<Ref<Dataset>> OpenSavedShards(const ResourceManager* resources, const std::string& path,
                                       const SavedMetadata& metadata, Compression compression,
                                       const OutputSignature& signature);

}  // namespace millstream

#endif  // MILLSTREAM_OPS_DATA_SAVED_SAVED_DATASET_H_
