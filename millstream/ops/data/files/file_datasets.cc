// SPDX-License-Identifier: Apache-2.0

#include "millstream/base/file.h"
#include "millstream/framework/graph_files.h"
#include "millstream/framework/op.h"
#include "millstream/io/record_reader.h"
#include "millstream/ops/data/dataset.h"

namespace millstream {
namespace {

// Yields the strings of one file, which has that number among the files. OutOfRange at the end.
using NextString = std::function<Status(std::string*)>;
using OpenFile = std::function<StatusOr<NextString>(const std::string& path, size_t number)>;

// The strings of several files, one file after the other.
class FileDataset final : public Dataset {
 public:
  FileDataset(std::vector<std::string> paths, OpenFile open)
      : Dataset({DType::kString}, {PartialShape({})}), paths_(std::move(paths)), open_(std::move(open)) {}

  StatusOr<IteratorPtr> NewIterator(const StepContext&) const override {
    return std::make_unique<Iterator>(paths_, open_);
  }

 private:
  class Iterator final : public DatasetIterator {
   public:
    Iterator(std::vector<std::string> paths, OpenFile open) : paths_(std::move(paths)), open_(std::move(open)) {}
    Status Next(const StepContext& step, Element* element, bool* end) override {
      std::string record;
      while (true) {
        RETURN_IF_ERROR(CheckCancelled(step));
        if (!next_) {
          *end = file_ == paths_.size();
          if (*end) return OkStatus();
          const size_t file = file_++;
          ASSIGN_OR_RETURN(const std::string path, ConfinedPath(step.resources, paths_[file]));
          ASSIGN_OR_RETURN(next_, open_(path, file));
        }
        const Status status = next_(&record);
        if (status.ok()) break;
        next_ = nullptr;  // a damaged file is left
        if (!absl::IsOutOfRange(status)) return status;
      }
      *end = false;
      element->emplace_back(DType::kString, Shape());
      *element->back().data<std::string>() = std::move(record);
      return OkStatus();
    }

   private:
    const std::vector<std::string> paths_;
    const OpenFile open_;
    size_t file_ = 0;
    NextString next_;
  };

  const std::vector<std::string> paths_;
  const OpenFile open_;
};

StatusOr<std::vector<std::string>> FileNames(const KernelContext& ctx) {
  const Tensor& t = ctx.input(0);
  if (t.rank() > 1) return errors::InvalidArgument("`filenames` must be a scalar or a vector.");
  return std::vector<std::string>(t.flat<std::string>().begin(), t.flat<std::string>().end());
}

StatusOr<Compression> CompressionInput(const KernelContext& ctx, int i) {
  ASSIGN_OR_RETURN(const std::string name, ScalarInput<std::string>(ctx, i, "compression_type"));
  return CompressionFromName(name);
}

// With `or_default`, -1 stands for a size that the reader chooses.
Status CheckBufferSize(const KernelContext& ctx, int i, bool or_default = false) {
  ASSIGN_OR_RETURN(const int64_t bytes, ScalarInput<int64_t>(ctx, i, "buffer_size"));
  if (bytes >= 0 || (or_default && bytes == -1)) return OkStatus();
  return errors::InvalidArgument("`buffer_size` must be >= 0 (0 == no buffering)");
}

// Where in each file to begin, in unpacked bytes; the newer op says so.
StatusOr<std::vector<int64_t>> ByteOffsets(const KernelContext& ctx, size_t files) {
  if (ctx.num_inputs() < 4) return std::vector<int64_t>(files, 0);
  const Tensor& t = ctx.input(3);
  if (t.rank() > 1) return errors::InvalidArgument("`byte_offsets` must be a scalar or a vector.");
  if (t.rank() != ctx.input(0).rank() || static_cast<size_t>(t.num_elements()) != files)
    return errors::InvalidArgument("`byte_offsets` must be of same size as `filenames`");
  return std::vector<int64_t>(t.flat<int64_t>().begin(), t.flat<int64_t>().end());
}

Status TfRecordCpu(KernelContext& ctx) {
  ASSIGN_OR_RETURN(std::vector<std::string> paths, FileNames(ctx));
  ASSIGN_OR_RETURN(const Compression compression, CompressionInput(ctx, 1));
  RETURN_IF_ERROR(CheckBufferSize(ctx, 2, true));
  ASSIGN_OR_RETURN(std::vector<int64_t> offsets, ByteOffsets(ctx, paths.size()));
  auto open = [compression, offsets = std::move(offsets)](const std::string& path,
                                                          size_t number) -> StatusOr<NextString> {
    ASSIGN_OR_RETURN(std::unique_ptr<InputStream> stream, InputStream::Open(path, compression));
    // A place behind the end, as a negative one is too, leaves no records.
    const Status skipped = stream->Skip(static_cast<uint64_t>(offsets[number]));
    if (!skipped.ok() && !absl::IsOutOfRange(skipped)) return skipped;
    auto reader = std::make_shared<RecordReader>(std::move(stream));
    return NextString([reader](std::string* record) { return reader->Read(record); });
  };
  OutputDataset(ctx, MakeRef<FileDataset>(std::move(paths), std::move(open)));
  return OkStatus();
}

Status TextLineCpu(KernelContext& ctx) {
  ASSIGN_OR_RETURN(std::vector<std::string> paths, FileNames(ctx));
  ASSIGN_OR_RETURN(const Compression compression, CompressionInput(ctx, 1));
  RETURN_IF_ERROR(CheckBufferSize(ctx, 2));
  OutputDataset(ctx, MakeRef<FileDataset>(
                         std::move(paths), [compression](const std::string& path, size_t) -> StatusOr<NextString> {
                           ASSIGN_OR_RETURN(std::shared_ptr<InputStream> stream, InputStream::Open(path, compression));
                           return NextString([stream](std::string* line) { return stream->ReadLine(line); });
                         }));
  return OkStatus();
}

// Records of equal size between a header and a footer. The size of a packed file is not known in advance, so the footer
// is found by reading it as well; that of another file is checked before its first record.
struct FixedLength {
  int64_t header = 0, record = 0, footer = 0;

  StatusOr<NextString> Open(const std::string& path, Compression compression) const {
    ASSIGN_OR_RETURN(std::shared_ptr<InputStream> stream, InputStream::Open(path, compression));
    if (compression == Compression::kNone && !SizeFits(path)) return TooShort(path);
    const Status skipped = stream->Skip(static_cast<uint64_t>(header));
    if (!skipped.ok()) return absl::IsOutOfRange(skipped) ? TooShort(path) : skipped;
    auto ahead = std::make_shared<std::string>();  // what was read and may be the footer
    return NextString([stream, ahead, path, this_copy = *this](std::string* out) -> Status {
      const size_t wanted = static_cast<size_t>(this_copy.record) + static_cast<size_t>(this_copy.footer);
      RETURN_IF_ERROR(stream->Read(wanted - ahead->size(), ahead.get()));
      if (ahead->size() == wanted) {
        out->assign(*ahead, 0, static_cast<size_t>(this_copy.record));
        ahead->erase(0, static_cast<size_t>(this_copy.record));
        return OkStatus();
      }
      if (ahead->size() == static_cast<size_t>(this_copy.footer)) return errors::OutOfRange("eof");
      return this_copy.TooShort(path);
    });
  }
  bool SizeFits(const std::string& path) const {
    const StatusOr<std::unique_ptr<RandomAccessFile>> file = RandomAccessFile::Open(path);
    if (!file.ok()) return true;  // opening it says so
    const auto size = static_cast<uint64_t>((*file)->size());
    const uint64_t around = static_cast<uint64_t>(header) + static_cast<uint64_t>(footer);
    return size >= around && (size - around) % static_cast<uint64_t>(record) == 0;
  }
  Status TooShort(const std::string& path) const {
    const StatusOr<std::unique_ptr<RandomAccessFile>> file = RandomAccessFile::Open(path);
    const std::string body = file.ok() ? absl::StrCat(" ", (*file)->size() - header - footer, " bytes,") : "";
    return errors::InvalidArgument("Excluding the header (", header, " bytes) and footer (", footer,
                                   " bytes), input file \"", PlainPath(path), "\" has body length", body,
                                   " which is not an exact multiple of the record length (", record, " bytes).");
  }
};

template <bool kV2>
Status FixedLengthCpu(KernelContext& ctx) {
  ASSIGN_OR_RETURN(std::vector<std::string> paths, FileNames(ctx));
  FixedLength format;
  ASSIGN_OR_RETURN(format.header, ScalarInput<int64_t>(ctx, 1, "header_bytes"));
  ASSIGN_OR_RETURN(format.record, ScalarInput<int64_t>(ctx, 2, "record_bytes"));
  ASSIGN_OR_RETURN(format.footer, ScalarInput<int64_t>(ctx, 3, "footer_bytes"));
  if (format.header < 0) return errors::InvalidArgument("`header_bytes` must be >= 0");
  if (format.record <= 0) return errors::InvalidArgument("`record_bytes` must be > 0");
  if (format.footer < 0) return errors::InvalidArgument("`footer_bytes` must be >= 0");
  RETURN_IF_ERROR(CheckBufferSize(ctx, 4));
  Compression compression = Compression::kNone;
  if constexpr (kV2) {
    ASSIGN_OR_RETURN(compression, CompressionInput(ctx, 5));
  }
  OutputDataset(ctx, MakeRef<FileDataset>(std::move(paths), [format, compression](const std::string& path, size_t) {
                  return format.Open(path, compression);
                }));
  return OkStatus();
}

OP("TFRecordDataset")
    .Input("filenames: string")
    .Input("compression_type: string")
    .Input("buffer_size: int64")
    .Output("handle: variant")
    .Attr("metadata: string = ''")
    .Stateful()
    .Shape(ScalarShape)
    .Cpu(TfRecordCpu)
    .Doc("A dataset of the records of TFRecord files.");
OP("TFRecordDatasetV2")
    .Input("filenames: string")
    .Input("compression_type: string")
    .Input("buffer_size: int64")
    .Input("byte_offsets: int64")
    .Output("handle: variant")
    .Attr("metadata: string = ''")
    .Stateful()
    .Shape(ScalarShape)
    .Cpu(TfRecordCpu)
    .Doc("A dataset of the records of TFRecord files, from given places on.");
OP("TextLineDataset")
    .Input("filenames: string")
    .Input("compression_type: string")
    .Input("buffer_size: int64")
    .Output("handle: variant")
    .Attr("metadata: string = ''")
    .Stateful()
    .Shape(ScalarShape)
    .Cpu(TextLineCpu)
    .Doc("A dataset of the lines of text files.");
OP("FixedLengthRecordDataset")
    .Input("filenames: string")
    .Input("header_bytes: int64")
    .Input("record_bytes: int64")
    .Input("footer_bytes: int64")
    .Input("buffer_size: int64")
    .Output("handle: variant")
    .Attr("metadata: string = ''")
    .Stateful()
    .Shape(ScalarShape)
    .Cpu(FixedLengthCpu<false>)
    .Doc("A dataset of the records, all of one size, of files.");
OP("FixedLengthRecordDatasetV2")
    .Input("filenames: string")
    .Input("header_bytes: int64")
    .Input("record_bytes: int64")
    .Input("footer_bytes: int64")
    .Input("buffer_size: int64")
    .Input("compression_type: string")
    .Output("handle: variant")
    .Attr("metadata: string = ''")
    .Stateful()
    .Shape(ScalarShape)
    .Cpu(FixedLengthCpu<true>)
    .Doc("A dataset of the records, all of one size, of files that may be packed.");

}  // namespace
}  // namespace millstream
