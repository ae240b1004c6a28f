// SPDX-License-Identifier: Apache-2.0
#include "millstream/io/slice_file.h"

#include <algorithm>
#include <limits>

#include "millstream/base/file.h"
#include "millstream/base/file_root.h"
#include "millstream/io/glob_files.h"
#include "millstream/io/slice_copy.h"
#include "millstream/proto/saved_tensor_slice.pb.h"
#include "millstream/tensor/tensor_proto.h"

namespace millstream {
namespace {

// The version that TensorFlow writes into these files.
constexpr int kProducer = 1;

// bfloat16 and what is newer has no place in this format.
bool CanBeSaved(DType type) {
  return IsKnown(type) && type != DType::kBfloat16 && type != DType::kResource && type != DType::kVariant &&
         type != DType::kUint32 && type != DType::kUint64;
}

constexpr size_t kMaxMessageBytes = size_t{1} << 31;

Status TooLarge(size_t bytes) {
  return errors::InvalidArgument("Tensor slice is too large to serialize (conservative estimate: ", bytes, " bytes)");
}

}  // namespace

Status SliceFileWriter::Add(const std::string& name, const Shape& full_shape, const TensorSlice& slice,
                            const Tensor& tensor) {
  if (!CanBeSaved(tensor.dtype())) {
    return errors::Unimplemented("Saving data type ", DTypeName(tensor.dtype()), " not yet supported");
  }
  ASSIGN_OR_RETURN(const Shape slice_shape, slice.ShapeIn(full_shape));
  if (!(slice_shape == tensor.shape())) {
    return errors::InvalidArgument(
        "Slice in shape_and_slice specification does not match the shape of the tensor to "
        "save: ",
        slice_shape.ToString(), ", tensor: ", tensor.shape().ToString());
  }
  // Values only grow on the way into a message, so what is too large now need not be copied first.
  if (tensor.ByteSize() >= kMaxMessageBytes) return TooLarge(tensor.ByteSize());
  Entry& entry = entries_.try_emplace(name, Entry{tensor.dtype(), full_shape, {}}).first->second;
  if (entry.dtype != tensor.dtype() || !(entry.shape == full_shape)) {
    return errors::InvalidArgument("Mismatching shapes or types: existing tensor = ", entry.shape.ToString(),
                                   ", trying to add name ", name, ", shape = ", full_shape.ToString());
  }
  proto::SavedTensorSlices message;
  message.mutable_data()->set_name(name);
  SliceToProto(slice, message.mutable_data()->mutable_slice());
  proto::TensorProto* data = message.mutable_data()->mutable_data();
  RETURN_IF_ERROR(TensorToProto(tensor, data, {.max_values = std::numeric_limits<int64_t>::max()}));
  data->clear_dtype();
  data->clear_tensor_shape();
  if (message.ByteSizeLong() >= kMaxMessageBytes) return TooLarge(message.ByteSizeLong());
  if (!table_.emplace(SliceKey(name, slice), message.SerializeAsString()).second) {
    return errors::InvalidArgument("Overlapping slices of tensor ", name);
  }
  entry.slices.push_back(slice);
  return OkStatus();
}

Status SliceFileWriter::Finish() {
  proto::SavedTensorSlices message;
  message.mutable_meta()->mutable_versions()->set_producer(kProducer);
  for (const auto& [name, entry] : entries_) {
    proto::SavedSliceMeta* meta = message.mutable_meta()->add_tensor();
    meta->set_name(name);
    ShapeToProto(entry.shape, meta->mutable_shape());
    meta->set_type(static_cast<proto::DataType>(entry.dtype));
    for (const TensorSlice& slice : entry.slices) SliceToProto(slice, meta->add_slice());
  }
  table_[""] = message.SerializeAsString();
  ASSIGN_OR_RETURN(const std::string bytes, EncodeTable(table_));
  RETURN_IF_ERROR(MakeFolders(FolderOf(path_)));
  return WriteFileAtomically(path_, bytes);
}

StatusOr<std::unique_ptr<SliceFileReader>> SliceFileReader::Open(const std::string& pattern) {
  std::unique_ptr<SliceFileReader> reader(new SliceFileReader(PlainPathString(pattern)));
  ASSIGN_OR_RETURN(const std::vector<std::string> paths, GlobFiles(pattern));
  if (paths.empty()) {
    return errors::NotFound("Unsuccessful TensorSliceReader constructor: Failed to find any matching files for ",
                            PlainPath(pattern));
  }
  for (const std::string& path : paths) RETURN_IF_ERROR(reader->AddFile(path));
  return reader;
}

Status SliceFileReader::AddFile(const std::string& path) {
  ASSIGN_OR_RETURN(const std::string bytes, ReadFile(path));
  StatusOr<Table> table = DecodeTable(bytes, PlainPathString(path));
  if (!table.ok())
    return errors::DataLoss("Unable to open table file ", PlainPath(path), ": ", table.status().message());
  proto::SavedTensorSlices message;
  const auto header = table->find("");
  if (header == table->end() || !message.ParseFromString(header->second) || !message.has_meta()) {
    return errors::DataLoss(PlainPath(path), " has no list of tensors: it is not a V1 checkpoint");
  }
  files_.push_back(*std::move(table));
  for (const auto& meta : message.meta().tensor()) {
    const DType dtype = DTypeFromProto(meta.type());
    StatusOr<Shape> shape = ShapeFromProto(meta.shape());
    if (!IsKnown(dtype) || !shape.ok())
      return errors::DataLoss(PlainPath(path), ": '", meta.name(), "' has no valid type and shape");
    Entry& entry = entries_.try_emplace(meta.name(), Entry{dtype, *shape, {}}).first->second;
    if (entry.dtype != dtype || !(entry.shape == *shape)) {
      return errors::InvalidArgument("Incompatible tensor shapes or types in ", PlainPath(path), " for tensor ",
                                     meta.name());
    }
    for (const auto& s : meta.slice()) {
      Part part{SliceFromProto(s), files_.size() - 1};
      if (!part.slice.ShapeIn(*shape).ok())
        return errors::DataLoss(PlainPath(path), ": a slice of '", meta.name(), "' does not fit");
      entry.parts.push_back(std::move(part));
    }
  }
  return OkStatus();
}

Status SliceFileReader::Lookup(const std::string& name, DType* dtype, Shape* shape) const {
  const auto it = entries_.find(name);
  if (it == entries_.end()) {
    return errors::NotFound("Tensor name \"", name, "\" not found in checkpoint files ", pattern_);
  }
  *dtype = it->second.dtype;
  *shape = it->second.shape;
  return OkStatus();
}

StatusOr<Tensor> SliceFileReader::ReadPart(const std::string& name, const Entry& entry, const Part& part) const {
  const Table& table = files_[part.file];
  const auto it = table.find(SliceKey(name, part.slice));
  proto::SavedTensorSlices message;
  if (it == table.end() || !message.ParseFromString(it->second)) {
    return errors::DataLoss("A slice of '", name, "' is missing or malformed in ", pattern_);
  }
  ASSIGN_OR_RETURN(const Shape shape, part.slice.ShapeIn(entry.shape));
  proto::TensorProto* data = message.mutable_data()->mutable_data();
  data->set_dtype(static_cast<proto::DataType>(entry.dtype));
  ShapeToProto(shape, data->mutable_tensor_shape());
  return TensorFromProto(*data);
}

StatusOr<Tensor> SliceFileReader::ReadSlice(const std::string& name, const TensorSlice& wanted) const {
  const auto it = entries_.find(name);
  if (it == entries_.end()) {
    return errors::NotFound("Tensor name \"", name, "\" not found in checkpoint files ", pattern_);
  }
  const Entry& entry = it->second;
  ASSIGN_OR_RETURN(const Shape shape, wanted.ShapeIn(entry.shape));
  ASSIGN_OR_RETURN(Tensor whole, Tensor::Make(entry.dtype, shape));
  int64_t covered = 0;
  for (const Part& part : entry.parts) {
    ASSIGN_OR_RETURN(const Tensor value, ReadPart(name, entry, part));
    covered += CopyOverlap(entry.shape, part.slice, value, wanted, &whole);
  }
  if (covered < shape.num_elements()) return errors::InvalidArgument("Error copying slice data of '", name, "'");
  return whole;
}

StatusOr<Tensor> SliceFileReader::ReadAs(const std::string& name, const std::string& shape_and_slice,
                                         DType dtype) const {
  DType stored;
  Shape full;
  RETURN_IF_ERROR(Lookup(name, &stored, &full));
  if (stored != dtype) {
    return errors::InvalidArgument("Expected to restore a tensor of type ", DTypeName(dtype), ", got a tensor of type ",
                                   DTypeName(stored), " instead: tensor_name = ", name);
  }
  if (shape_and_slice.empty()) return ReadSlice(name, FullSlice(full));
  Shape asked, part;
  TensorSlice slice;
  RETURN_IF_ERROR(ParseShapeAndSlice(shape_and_slice, &asked, &slice, &part));
  if (!(asked == full)) {
    return errors::InvalidArgument("Shape in shape_and_slice spec does not match the shape in the save file: ",
                                   asked.ToString(), ", save file shape: ", full.ToString());
  }
  return ReadSlice(name, slice);
}

}  // namespace millstream
