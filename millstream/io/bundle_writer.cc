// SPDX-License-Identifier: Apache-2.0
#include "millstream/io/bundle_writer.h"

#include "absl/strings/str_cat.h"
#include "millstream/base/file.h"
#include "millstream/base/file_root.h"
#include "millstream/base/varint.h"
#include "millstream/io/chunked_sum.h"
#include "millstream/io/crc32c.h"
#include "millstream/io/delete_file.h"
#include "millstream/io/slice_copy.h"
#include "millstream/io/table.h"
#include "millstream/proto/tensor_bundle.pb.h"
#include "millstream/tensor/encoded_variant.h"

namespace millstream {

struct BundleWriter::Entry {
  proto::BundleEntryProto proto;
};

namespace {

constexpr size_t kBufferBytes = 64 << 10;  // smaller pieces are written together

std::string Fixed32(uint32_t value) {
  std::string bytes(4, '\0');
  for (int i = 0; i < 4; ++i) bytes[i] = static_cast<char>(value >> (8 * i));
  return bytes;
}

void SetShape(const Shape& shape, proto::TensorShapeProto* out) {
  for (const int64_t d : shape.dims()) out->add_dim()->set_size(d);
}

}  // namespace

BundleWriter::BundleWriter(std::string prefix, ThreadPool* pool) : prefix_(std::move(prefix)), pool_(pool) {}

BundleWriter::~BundleWriter() {
  if (data_ != nullptr) DeleteLargeFile(data_->path()).IgnoreError();  // never finished
}

StatusOr<std::unique_ptr<BundleWriter>> BundleWriter::Create(const std::string& prefix, ThreadPool* pool) {
  if (!FolderOf(prefix).empty()) RETURN_IF_ERROR(MakeFolders(FolderOf(prefix)));
  std::unique_ptr<BundleWriter> writer(new BundleWriter(prefix, pool));
  ASSIGN_OR_RETURN(writer->data_, PlacedFile::CreateTemporary(BundleDataPath(prefix, 0, 1)));
  return writer;
}

Status BundleWriter::Append(absl::string_view bytes) {
  if (buffer_.size() + bytes.size() > kBufferBytes) RETURN_IF_ERROR(Flush());
  if (bytes.size() > kBufferBytes) {
    RETURN_IF_ERROR(data_->Write(offset_, bytes));
  } else {
    buffer_.append(bytes.data(), bytes.size());
  }
  offset_ += static_cast<int64_t>(bytes.size());
  return OkStatus();
}

Status BundleWriter::Flush() {
  RETURN_IF_ERROR(data_->Write(offset_ - static_cast<int64_t>(buffer_.size()), buffer_));
  buffer_.clear();
  return OkStatus();
}

Status BundleWriter::WriteBytes(absl::string_view bytes, Entry* entry) {
  uint32_t crc = 0;
  if (bytes.size() <= kBufferBytes) {
    crc = Crc32c(bytes);
    RETURN_IF_ERROR(Append(bytes));
  } else {
    RETURN_IF_ERROR(Flush());
    ASSIGN_OR_RETURN(crc, MoveAndSum(bytes.data(), bytes.size(), pool_, [&](size_t at, size_t n) {
                       return data_->Write(offset_ + static_cast<int64_t>(at), bytes.substr(at, n));
                     }));
    offset_ += static_cast<int64_t>(bytes.size());
  }
  entry->proto.set_size(static_cast<int64_t>(bytes.size()));
  entry->proto.set_crc32c(MaskCrc(crc));
  return OkStatus();
}

Status BundleWriter::WriteStrings(const Tensor& tensor, Entry* entry) {
  std::string lengths;
  uint32_t crc = 0;
  for (const std::string& s : tensor.flat<std::string>()) {
    AppendVarint(s.size(), &lengths);
    std::string fixed = Fixed32(static_cast<uint32_t>(s.size()));
    if (s.size() > UINT32_MAX) fixed += Fixed32(static_cast<uint32_t>(s.size() >> 32));
    crc = ExtendCrc32c(crc, fixed.data(), fixed.size());
  }
  const std::string lengths_crc = Fixed32(MaskCrc(crc));
  crc = ExtendCrc32c(crc, lengths_crc.data(), lengths_crc.size());
  RETURN_IF_ERROR(Append(lengths));
  RETURN_IF_ERROR(Append(lengths_crc));
  size_t bytes = lengths.size() + lengths_crc.size();
  for (const std::string& s : tensor.flat<std::string>()) {
    crc = ExtendCrc32c(crc, s.data(), s.size());
    RETURN_IF_ERROR(Append(s));
    bytes += s.size();
  }
  entry->proto.set_size(static_cast<int64_t>(bytes));
  entry->proto.set_crc32c(MaskCrc(crc));
  return OkStatus();
}

// Each with its length before it and the checksum so far behind it.
Status BundleWriter::WriteVariants(const std::vector<std::string>& variants, Entry* entry) {
  uint32_t crc = 0;
  std::string bytes;
  for (const std::string& v : variants) {
    AppendVarint(v.size(), &bytes);
    const std::string fixed = Fixed32(static_cast<uint32_t>(v.size())) + Fixed32(0);
    crc = ExtendCrc32c(ExtendCrc32c(crc, fixed.data(), fixed.size()), v.data(), v.size());
    const std::string sum = Fixed32(MaskCrc(crc));
    crc = ExtendCrc32c(crc, sum.data(), sum.size());
    absl::StrAppend(&bytes, v, sum);
  }
  RETURN_IF_ERROR(Append(bytes));
  entry->proto.set_size(static_cast<int64_t>(bytes.size()));
  entry->proto.set_crc32c(MaskCrc(crc));
  return OkStatus();
}

Status BundleWriter::Add(const std::string& name, const Tensor& tensor) {
  if (data_ == nullptr) return errors::FailedPrecondition("The checkpoint ", PlainPath(prefix_), " is finished");
  if (name.empty()) return errors::InvalidArgument("A saved tensor needs a name");
  std::vector<std::string> variants;
  if (tensor.dtype() == DType::kVariant) {
    for (const Variant& v : tensor.flat<Variant>()) {
      StatusOr<std::string> bytes = SerializeVariant(v);
      if (!bytes.ok()) return WithContext(bytes.status(), absl::StrCat("Cannot save '", name, "'"));
      variants.push_back(*std::move(bytes));
    }
  } else if (tensor.dtype() != DType::kString && !IsPlainBytes(tensor.dtype())) {
    return errors::InvalidArgument("Cannot save '", name, "': type ", DTypeName(tensor.dtype()));
  }
  auto [it, inserted] = entries_.emplace(name, nullptr);
  if (!inserted) return errors::InvalidArgument("Adding duplicate key: ", name);
  it->second = std::make_unique<Entry>();
  Entry& entry = *it->second;
  entry.proto.set_dtype(static_cast<proto::DataType>(tensor.dtype()));
  SetShape(tensor.shape(), entry.proto.mutable_shape());
  entry.proto.set_offset(offset_);
  if (tensor.dtype() == DType::kString) return WriteStrings(tensor, &entry);
  if (tensor.dtype() == DType::kVariant) return WriteVariants(variants, &entry);
  return WriteBytes({static_cast<const char*>(tensor.raw()), tensor.ByteSize()}, &entry);
}

Status BundleWriter::AddSlice(const std::string& name, const Shape& full_shape, const TensorSlice& slice,
                              const Tensor& tensor) {
  ASSIGN_OR_RETURN(const Shape expected, slice.ShapeIn(full_shape));
  if (!(expected == tensor.shape())) {
    return errors::InvalidArgument("Slice of '", name, "' has shape ", tensor.shape().ToString(), ", expected ",
                                   expected.ToString());
  }
  if (slice.IsFull()) return Add(name, tensor);
  if (tensor.dtype() == DType::kVariant) return errors::Unimplemented("Cannot save a slice of variants, '", name, "'");
  std::unique_ptr<Entry>& whole = entries_[name];
  if (whole == nullptr) {
    whole = std::make_unique<Entry>();
    whole->proto.set_dtype(static_cast<proto::DataType>(tensor.dtype()));
    SetShape(full_shape, whole->proto.mutable_shape());
  }
  SliceToProto(slice, whole->proto.add_slices());
  return Add(SliceKey(name, slice), tensor);
}

Status BundleWriter::Finish() {
  if (data_ == nullptr) return errors::FailedPrecondition("The checkpoint ", PlainPath(prefix_), " is finished");
  RETURN_IF_ERROR(Flush());
  RETURN_IF_ERROR(data_->Sync());
  Table table;
  for (const auto& [key, entry] : entries_) table[key] = entry->proto.SerializeAsString();
  RETURN_IF_ERROR(CommitBundle(prefix_, {data_->path()}, std::move(table)));
  const std::unique_ptr<PlacedFile> done = std::move(data_);
  return done->Close();  // only now: the open file's lock says that it is in use
}

namespace {

// Adds the entries of one index to the merged one, with shard numbers moved by `first_shard`.
Status MergeIndex(const Table& from, int first_shard, Table* merged) {
  for (const auto& [key, value] : from) {
    if (key.empty()) continue;
    proto::BundleEntryProto entry;
    if (!entry.ParseFromString(value)) return errors::DataLoss("A checkpoint has a malformed entry for '", key, "'");
    auto it = merged->find(key);
    if (it == merged->end()) {
      entry.set_shard_id(entry.shard_id() + first_shard);
      (*merged)[key] = entry.SerializeAsString();
      continue;
    }
    // Slices of one tensor may come from several tasks.
    proto::BundleEntryProto present;
    if (!present.ParseFromString(it->second))
      return errors::DataLoss("A checkpoint has a malformed entry for '", key, "'");
    if (present.slices_size() == 0 || entry.slices_size() == 0)
      return errors::InvalidArgument("Duplicate tensor keyed by ", key, " encountered");
    present.mutable_slices()->MergeFrom(entry.slices());
    it->second = present.SerializeAsString();
  }
  return OkStatus();
}

}  // namespace

Status MergeBundles(const std::vector<std::string>& prefixes, const std::string& merged_prefix, bool allow_missing) {
  struct Part {
    std::string prefix;
    Table table;
    int shards = 0;
  };
  std::vector<Part> parts;
  for (const std::string& prefix : prefixes) {
    StatusOr<std::string> bytes = ReadFile(prefix + ".index");
    if (!bytes.ok() && allow_missing && absl::IsNotFound(bytes.status())) continue;
    if (absl::IsNotFound(bytes.status())) {
      return errors::InvalidArgument("allow_missing_files was set to false and ", PlainPath(prefix), " did not exist.");
    }
    RETURN_IF_ERROR(bytes.status());
    Part part{prefix, {}, 0};
    ASSIGN_OR_RETURN(part.table, DecodeTable(*bytes, PlainPathString(prefix) + ".index"));
    proto::BundleHeaderProto header;
    if (!header.ParseFromString(part.table[""]) || header.num_shards() < 1 || header.num_shards() > 99999) {
      return errors::DataLoss(PlainPath(prefix), ".index has a malformed header");
    }
    part.shards = header.num_shards();
    parts.push_back(std::move(part));
  }
  if (parts.empty()) return errors::InvalidArgument("None of the checkpoints to be merged exists");
  if (!FolderOf(merged_prefix).empty()) RETURN_IF_ERROR(MakeFolders(FolderOf(merged_prefix)));
  Table merged;
  std::vector<std::string> data;
  for (const Part& part : parts) {
    RETURN_IF_ERROR(MergeIndex(part.table, static_cast<int>(data.size()), &merged));
    for (int i = 0; i < part.shards; ++i) data.push_back(BundleDataPath(part.prefix, i, part.shards));
  }
  RETURN_IF_ERROR(CommitBundle(merged_prefix, data, std::move(merged)));
  for (const Part& part : parts) DeleteFile(part.prefix + ".index").IgnoreError();
  return OkStatus();
}

}  // namespace millstream
