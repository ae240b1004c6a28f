// SPDX-License-Identifier: Apache-2.0
#include "millstream/io/bundle_reader.h"

#include <algorithm>
#include <cstring>

#include "millstream/base/file_root.h"
#include "millstream/base/varint.h"
#include "millstream/io/bundle_writer.h"
#include "millstream/io/chunked_sum.h"
#include "millstream/io/crc32c.h"
#include "millstream/io/slice_copy.h"
#include "millstream/proto/tensor_bundle.pb.h"
#include "millstream/tensor/encoded_variant.h"

namespace millstream {

struct BundleReader::Entry {
  proto::BundleEntryProto proto;
  DType dtype = DType::kInvalid;
  Shape shape;
};

namespace {

uint32_t Fixed32(const char* p) {
  uint32_t v = 0;
  for (int i = 3; i >= 0; --i) v = v << 8 | static_cast<uint8_t>(p[i]);
  return v;
}

// Lengths, their checksum, bytes; the checksum of the entry covers all of it (see docs/formats/bundle.md).
Status DecodeStrings(const std::string& bytes, uint32_t expected_crc, Tensor* tensor) {
  absl::string_view rest = bytes;
  std::vector<uint64_t> lengths;
  uint32_t crc = 0;
  for (int64_t i = 0; i < tensor->num_elements(); ++i) {
    uint64_t length = 0;
    if (!ConsumeVarint(&rest, &length) || length > bytes.size()) return errors::DataLoss("malformed string lengths");
    char fixed[8];
    for (int b = 0; b < 8; ++b) fixed[b] = static_cast<char>(length >> (8 * b));
    crc = ExtendCrc32c(crc, fixed, length > UINT32_MAX ? 8 : 4);
    lengths.push_back(length);
  }
  if (rest.size() < 4 || Fixed32(rest.data()) != MaskCrc(crc))
    return errors::DataLoss("checksum of string lengths does not match");
  crc = ExtendCrc32c(crc, rest.data(), 4);
  rest.remove_prefix(4);
  for (size_t i = 0; i < lengths.size(); ++i) {
    if (lengths[i] > rest.size()) return errors::DataLoss("strings are cut short");
    tensor->data<std::string>()[i].assign(rest.data(), lengths[i]);
    crc = ExtendCrc32c(crc, rest.data(), lengths[i]);
    rest.remove_prefix(lengths[i]);
  }
  if (MaskCrc(crc) != expected_crc) return errors::DataLoss("checksum does not match");
  return OkStatus();
}

// Each variant between its length and a checksum of all so far.
Status DecodeVariants(const std::string& bytes, uint32_t expected_crc, Tensor* tensor) {
  absl::string_view rest = bytes;
  uint32_t crc = 0;
  for (int64_t i = 0; i < tensor->num_elements(); ++i) {
    uint64_t length = 0;
    if (!ConsumeVarint(&rest, &length) || rest.size() < 4 || length > rest.size() - 4) {
      return errors::DataLoss("variants are cut short");
    }
    char fixed[8];
    for (int b = 0; b < 8; ++b) fixed[b] = static_cast<char>(length >> (8 * b));
    crc = ExtendCrc32c(ExtendCrc32c(crc, fixed, sizeof(fixed)), rest.data(), length);
    ASSIGN_OR_RETURN(tensor->data<Variant>()[i], ParseVariant(rest.substr(0, length)));
    rest.remove_prefix(length);
    if (Fixed32(rest.data()) != MaskCrc(crc)) return errors::DataLoss("checksum of a variant does not match");
    crc = ExtendCrc32c(crc, rest.data(), 4);
    rest.remove_prefix(4);
  }
  if (MaskCrc(crc) != expected_crc) return errors::DataLoss("checksum does not match");
  return OkStatus();
}

}  // namespace

BundleReader::~BundleReader() = default;

StatusOr<std::unique_ptr<BundleReader>> BundleReader::Open(const std::string& prefix, ThreadPool* pool) {
  std::unique_ptr<BundleReader> reader(new BundleReader(prefix, pool));
  StatusOr<std::string> bytes = ReadFile(prefix + ".index");
  if (absl::IsNotFound(bytes.status())) {
    return errors::NotFound("Unsuccessful TensorSliceReader constructor: Failed to find any matching files for ",
                            PlainPath(prefix));
  }
  RETURN_IF_ERROR(bytes.status());
  ASSIGN_OR_RETURN(reader->index_, DecodeTable(*bytes, PlainPathString(prefix) + ".index"));
  proto::BundleHeaderProto header;
  auto it = reader->index_.find("");
  if (it == reader->index_.end() || !header.ParseFromString(it->second) || header.num_shards() < 1 ||
      header.num_shards() > 99999) {
    return errors::DataLoss(PlainPath(prefix), ".index has no valid header");
  }
  if (header.endianness() != proto::BundleHeaderProto::LITTLE)
    return errors::Unimplemented(PlainPath(prefix), " is big-endian");
  reader->num_shards_ = header.num_shards();
  return reader;
}

std::vector<std::string> BundleReader::Names() const {
  std::vector<std::string> names;
  for (const auto& [key, value] : index_)
    if (!key.empty() && key[0] != '\0') names.push_back(key);
  return names;
}

bool BundleReader::Has(const std::string& name) const { return !name.empty() && index_.contains(name); }

StatusOr<std::unique_ptr<BundleReader::Entry>> BundleReader::Find(const std::string& key) const {
  auto it = index_.find(key);
  if (key.empty() || it == index_.end()) return errors::NotFound("Key ", key, " not found in checkpoint");
  auto entry = std::make_unique<Entry>();
  if (!entry->proto.ParseFromString(it->second))
    return errors::DataLoss(PlainPath(prefix_), ".index: malformed entry for '", key, "'");
  entry->dtype = static_cast<DType>(entry->proto.dtype());
  if (!proto::DataType_IsValid(entry->proto.dtype()) || !IsKnown(entry->dtype)) {
    return errors::DataLoss(PlainPath(prefix_), ".index: '", key, "' has unknown type ",
                            static_cast<int>(entry->proto.dtype()));
  }
  std::vector<int64_t> dims;
  for (const auto& d : entry->proto.shape().dim()) dims.push_back(d.size());
  StatusOr<Shape> shape = Shape::Make(dims);
  if (!shape.ok()) return errors::DataLoss(PlainPath(prefix_), ".index: '", key, "': ", shape.status().message());
  entry->shape = *std::move(shape);
  return entry;
}

Status BundleReader::Lookup(const std::string& name, DType* dtype, Shape* shape) const {
  ASSIGN_OR_RETURN(const std::unique_ptr<Entry> entry, Find(name));
  *dtype = entry->dtype;
  *shape = entry->shape;
  return OkStatus();
}

StatusOr<std::shared_ptr<RandomAccessFile>> BundleReader::Shard(int shard) const {
  if (shard < 0 || shard >= num_shards_)
    return errors::DataLoss(PlainPath(prefix_), ".index names shard ", shard, " of ", num_shards_);
  MutexLock lock(mu_);
  std::shared_ptr<RandomAccessFile>& file = shards_[shard];
  if (file == nullptr) {
    ASSIGN_OR_RETURN(std::unique_ptr<RandomAccessFile> opened,
                     RandomAccessFile::Open(BundleDataPath(prefix_, shard, num_shards_)));
    file = std::move(opened);
  }
  return file;
}

StatusOr<Tensor> BundleReader::ReadEntry(const std::string& key, const Entry& entry) const {
  ASSIGN_OR_RETURN(const std::shared_ptr<RandomAccessFile> file, Shard(entry.proto.shard_id()));
  const int64_t offset = entry.proto.offset(), size = entry.proto.size();
  if (offset < 0 || size < 0 || offset > file->size() || size > file->size() - offset) {
    return errors::DataLoss("'", key, "' lies outside of ", file->path());
  }
  const bool strings = entry.dtype == DType::kString, variants = entry.dtype == DType::kVariant;
  const int64_t n = entry.shape.num_elements();
  // Each string and variant takes at least one byte of the file, so the count is bounded by its size.
  if (strings || variants
          ? n > size
          : (!IsPlainBytes(entry.dtype) || n > size || n * static_cast<int64_t>(DTypeSize(entry.dtype)) != size)) {
    return errors::DataLoss("'", key, "' of ", file->path(), " has ", size, " bytes, which does not fit shape ",
                            entry.shape.ToString());
  }
  ASSIGN_OR_RETURN(Tensor tensor, Tensor::Make(entry.dtype, entry.shape));
  Status status;
  if (strings || variants) {
    std::string bytes(static_cast<size_t>(size), '\0');
    status = file->Read(offset, bytes.size(), bytes.data());
    if (status.ok()) status = (strings ? DecodeStrings : DecodeVariants)(bytes, entry.proto.crc32c(), &tensor);
  } else {
    char* const to = static_cast<char*>(tensor.raw());
    const StatusOr<uint32_t> crc = MoveAndSum(to, static_cast<size_t>(size), pool_, [&](size_t at, size_t n) {
      return file->Read(offset + static_cast<int64_t>(at), n, to + at);
    });
    status = crc.status();
    if (crc.ok() && MaskCrc(*crc) != entry.proto.crc32c()) status = errors::DataLoss("checksum does not match");
  }
  if (absl::IsOutOfRange(status)) status = errors::DataLoss(status.message());  // cut while it was open
  if (!status.ok()) return WithContext(status, absl::StrCat("'", key, "' of ", file->path()));
  return tensor;
}

StatusOr<Tensor> BundleReader::Assemble(const std::string& name, const Entry& entry, const TensorSlice& wanted) const {
  if (entry.dtype == DType::kVariant) return errors::DataLoss("'", name, "' is made of slices, but holds variants");
  ASSIGN_OR_RETURN(const Shape shape, wanted.ShapeIn(entry.shape));
  ASSIGN_OR_RETURN(Tensor whole, Tensor::Make(entry.dtype, shape));
  int64_t covered = 0;
  for (const auto& proto : entry.proto.slices()) {
    const TensorSlice slice = SliceFromProto(proto);
    StatusOr<Shape> slice_shape = slice.ShapeIn(entry.shape);
    if (!slice_shape.ok()) return errors::DataLoss("'", name, "': ", slice_shape.status().message());
    ASSIGN_OR_RETURN(const std::unique_ptr<Entry> part, Find(SliceKey(name, slice)));
    if (!(part->shape == *slice_shape) || part->dtype != entry.dtype)
      return errors::DataLoss("A slice of '", name, "' has another shape or type");
    ASSIGN_OR_RETURN(const Tensor value, ReadEntry(name, *part));
    covered += CopyOverlap(entry.shape, slice, value, wanted, &whole);
  }
  if (covered < shape.num_elements())
    return errors::NotFound("The slices of '", name, "' in the checkpoint do not cover what is asked for");
  return whole;
}

StatusOr<Tensor> BundleReader::Read(const std::string& name) const {
  ASSIGN_OR_RETURN(const std::unique_ptr<Entry> entry, Find(name));
  if (entry->proto.slices_size() == 0) return ReadEntry(name, *entry);
  return Assemble(name, *entry, FullSlice(entry->shape));
}

StatusOr<Tensor> BundleReader::ReadSlice(const std::string& name, const Shape& full_shape,
                                         const TensorSlice& slice) const {
  ASSIGN_OR_RETURN(const std::unique_ptr<Entry> entry, Find(name));
  if (!(entry->shape == full_shape)) {
    return errors::InvalidArgument("Shape in shape_and_slice spec ", full_shape.ToString(),
                                   " does not match the shape stored in checkpoint: ", entry->shape.ToString());
  }
  if (entry->proto.slices_size() > 0) return Assemble(name, *entry, slice);
  if (entry->dtype == DType::kVariant && !slice.IsFull()) {
    return errors::Unimplemented("Cannot restore a slice of variants, '", name, "'");
  }
  if (entry->dtype == DType::kVariant) return ReadEntry(name, *entry);
  ASSIGN_OR_RETURN(const Tensor whole, ReadEntry(name, *entry));
  ASSIGN_OR_RETURN(const Shape shape, slice.ShapeIn(full_shape));
  ASSIGN_OR_RETURN(Tensor part, Tensor::Make(entry->dtype, shape));
  CopyOverlap(full_shape, FullSlice(full_shape), whole, slice, &part);
  return part;
}

}  // namespace millstream
