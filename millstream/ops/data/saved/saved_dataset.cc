// SPDX-License-Identifier: Apache-2.0
#include "millstream/ops/data/saved/saved_dataset.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

#include <algorithm>
#include <random>

#include "absl/strings/match.h"
#include "absl/strings/str_format.h"
#include "millstream/base/file.h"
#include "millstream/framework/graph_files.h"
#include "millstream/io/record_reader.h"
#include "millstream/ops/data/memory_dataset.h"
#include "millstream/proto/tensor.pb.h"
#include "millstream/tensor/tensor_proto.h"

namespace millstream {
namespace {

constexpr char kMetadataFile[] = "/snapshot.metadata";
constexpr char kShardEnd[] = ".shard";
constexpr char kElementsFile[] = "/00000000.snapshot";
constexpr int64_t kFormat = 2;

// The fields of the message that describes a run.
enum Field { kRun = 2, kCreated = 3, kVersion = 4, kType = 5, kElements = 6, kFinalized = 1000 };
using Coded = google::protobuf::io::CodedInputStream;
// In microseconds: what the clock can say.
constexpr auto kMaxCreated = static_cast<uint64_t>(
    std::chrono::floor<std::chrono::microseconds>(std::chrono::system_clock::duration::max()).count());

Status Malformed(const std::string& path) {
  return errors::DataLoss("Malformed metadata of a saved dataset in ", path);
}

// False if what `tag` begins is not well formed.
bool ReadField(Coded& in, uint32_t tag, SavedMetadata* metadata) {
  const bool text = (tag & 7) == 2;
  uint64_t number = 0;
  uint32_t size = 0;
  std::string bytes;
  if (text ? !in.ReadVarint32(&size) || size > INT32_MAX || !in.ReadString(&bytes, static_cast<int>(size))
           : (tag & 7) != 0 || !in.ReadVarint64(&number)) {
    return false;
  }
  if (tag >> 3 == kCreated && number > kMaxCreated) return false;
  switch (tag >> 3) {
    case kRun:
      metadata->run = bytes;
      break;
    case kCreated:
      metadata->created = std::chrono::system_clock::time_point(std::chrono::microseconds(number));
      break;
    case kVersion:
      metadata->version = static_cast<int64_t>(number);
      break;
    case kElements:
      metadata->elements = static_cast<int64_t>(number);
      break;
    case kFinalized:
      metadata->finalized = number != 0;
      break;
    default:  // types are known to whoever reads
      break;
  }
  return true;
}

// The elements of one file.
class ShardDataset final : public Dataset {
 public:
  ShardDataset(std::string file, Compression compression, OutputSignature signature)
      : Dataset(signature.types, signature.shapes),
        file_(std::move(file)),
        compression_(compression),
        signature_(std::move(signature)) {}
  StatusOr<IteratorPtr> NewIterator(const StepContext& step) const override {
    ASSIGN_OR_RETURN(const std::string path, ConfinedPath(step.resources, file_));
    ASSIGN_OR_RETURN(std::unique_ptr<RecordReader> reader, RecordReader::Open(path, compression_));
    return std::make_unique<Iterator>(std::move(reader), signature_);
  }

 private:
  class Iterator final : public DatasetIterator {
   public:
    Iterator(std::unique_ptr<RecordReader> reader, OutputSignature signature)
        : reader_(std::move(reader)), signature_(std::move(signature)) {}
    Status Next(const StepContext&, Element* element, bool* end) override {
      std::vector<PartialShape> shapes;
      std::vector<DType> types;
      for (size_t i = 0; i < signature_.types.size(); ++i) {
        std::string record;
        const Status read = reader_->Read(&record);
        *end = absl::IsOutOfRange(read) && i == 0;
        if (*end) return OkStatus();
        if (absl::IsOutOfRange(read)) return errors::DataLoss("A saved element is not complete");
        RETURN_IF_ERROR(read);
        proto::TensorProto message;
        if (!message.ParseFromString(record)) return errors::DataLoss("Unable to parse tensor from stored proto.");
        ASSIGN_OR_RETURN(Tensor component, TensorFromProto(message));
        types.push_back(component.dtype());
        shapes.emplace_back(component.shape());
        element->push_back(std::move(component));
      }
      return CheckSignature(signature_, types, shapes);
    }

   private:
    const std::unique_ptr<RecordReader> reader_;
    const OutputSignature signature_;
  };
  const std::string file_;
  const Compression compression_;
  const OutputSignature signature_;
};

}  // namespace

StatusOr<SavedMetadata> ReadSavedMetadata(const ResourceManager* resources, const std::string& path) {
  ASSIGN_OR_RETURN(const std::string file, ConfinedPath(resources, path + kMetadataFile));
  ASSIGN_OR_RETURN(const std::string bytes, ReadFile(file));
  SavedMetadata metadata;
  Coded in(reinterpret_cast<const uint8_t*>(bytes.data()), static_cast<int>(bytes.size()));
  while (const uint32_t tag = in.ReadTag()) {
    if (!ReadField(in, tag, &metadata)) return Malformed(path);
  }
  // The run is a folder's name, and must not lead elsewhere.
  if (!in.ConsumedEntireMessage() || metadata.elements < 0 || metadata.run.empty() || metadata.run[0] == '.' ||
      metadata.run.find('/') != std::string::npos) {
    return Malformed(path);
  }
  return metadata;
}

Status WriteSavedMetadata(const std::string& path, SavedMetadata* saved) {
  if (saved->created == std::chrono::system_clock::time_point()) saved->created = std::chrono::system_clock::now();
  const SavedMetadata& metadata = *saved;
  std::string bytes;
  {
    google::protobuf::io::StringOutputStream stream(&bytes);
    google::protobuf::io::CodedOutputStream out(&stream);
    const auto number = [&out](Field field, uint64_t value) {
      out.WriteVarint32(static_cast<uint32_t>(field) << 3);
      out.WriteVarint64(value);
    };
    out.WriteVarint32(static_cast<uint32_t>(kRun) << 3 | 2);
    out.WriteVarint32(static_cast<uint32_t>(metadata.run.size()));
    out.WriteString(metadata.run);
    const auto created = std::chrono::duration_cast<std::chrono::microseconds>(metadata.created.time_since_epoch());
    number(kCreated, static_cast<uint64_t>(created.count()));
    number(kVersion, static_cast<uint64_t>(metadata.version));
    for (const DType type : metadata.types) number(kType, static_cast<uint64_t>(type));
    number(kElements, static_cast<uint64_t>(metadata.elements));
    if (metadata.finalized) number(kFinalized, 1);
  }
  return WriteFileAtomically(path + kMetadataFile, bytes);
}

std::string NewRunName() {
  std::random_device entropy;
  return absl::StrCat(uint64_t{entropy()} << 32 | entropy());
}

Status WriteElement(const Element& element, RecordWriter* writer) {
  for (const Tensor& component : element) {
    proto::TensorProto message;
    RETURN_IF_ERROR(TensorToProto(component, &message));
    std::string record;
    if (!message.SerializeToString(&record)) return errors::DataLoss("Failed to serialize a tensor: it is too large");
    RETURN_IF_ERROR(writer->Write(record));
  }
  return OkStatus();
}

Ref<Dataset> OpenElementsFile(const std::string& file, Compression compression, const OutputSignature& signature) {
  return MakeRef<ShardDataset>(file, compression, signature);
}

StatusOr<std::unique_ptr<SavedRunWriter>> SavedRunWriter::Create(const ResourceManager* resources,
                                                                 const std::string& path, Compression compression,
                                                                 std::vector<DType> types) {
  ASSIGN_OR_RETURN(const std::string confined, ConfinedPath(resources, path));
  auto writer = std::unique_ptr<SavedRunWriter>(new SavedRunWriter(confined, compression));
  writer->metadata_.run = NewRunName();
  writer->metadata_.types = std::move(types);
  RETURN_IF_ERROR(MakeFolders(absl::StrCat(confined, "/", writer->metadata_.run)));
  RETURN_IF_ERROR(WriteSavedMetadata(confined, &writer->metadata_));
  return writer;
}

StatusOr<RecordWriter*> SavedRunWriter::Shard(int64_t shard) {
  std::unique_ptr<RecordWriter>& writer = shards_[shard];
  if (writer == nullptr) {
    const std::string folder =
        absl::StrFormat("%s/%s/%08u%s", path_, metadata_.run, static_cast<uint64_t>(shard), kShardEnd);
    RETURN_IF_ERROR(MakeFolders(folder));
    ASSIGN_OR_RETURN(writer, RecordWriter::Create(folder + kElementsFile, compression_));
  }
  return writer.get();
}

Status SavedRunWriter::Write(int64_t shard, const Element& element) {
  ASSIGN_OR_RETURN(RecordWriter * writer, Shard(shard));
  RETURN_IF_ERROR(WriteElement(element, writer));
  ++metadata_.elements;
  return OkStatus();
}

Status SavedRunWriter::Finish() {
  for (const auto& [shard, writer] : shards_) RETURN_IF_ERROR(writer->Close());
  metadata_.finalized = true;
  return WriteSavedMetadata(path_, &metadata_);
}

StatusOr<Ref<Dataset>> OpenSavedShards(const ResourceManager* resources, const std::string& path,
                                       const SavedMetadata& metadata, Compression compression,
                                       const OutputSignature& signature) {
  if (metadata.version != kFormat) {
    return errors::InvalidArgument("Snapshot reader version: ", metadata.version, " is not supported.");
  }
  const std::string folder = absl::StrCat(path, "/", metadata.run);
  ASSIGN_OR_RETURN(const std::string confined, ConfinedPath(resources, folder));
  std::vector<std::string> shards;
  ASSIGN_OR_RETURN(const std::vector<std::string> names, ListFolder(confined));
  for (const std::string& name : names) {
    if (absl::EndsWith(name, kShardEnd)) shards.push_back(absl::StrCat(folder, "/", name));
  }
  std::sort(shards.begin(), shards.end());
  MemoryDataset::Elements elements;
  for (const std::string& shard : shards) {
    elements.push_back({Tensor::Scalar(Variant(MakeRef<ShardDataset>(shard + kElementsFile, compression, signature)))});
  }
  return Ref<Dataset>(MakeRef<MemoryDataset>(std::vector<DType>{DType::kVariant},
                                             std::vector<PartialShape>{PartialShape({})}, std::move(elements)));
}

}  // namespace millstream
