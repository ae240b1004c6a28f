// SPDX-License-Identifier: Apache-2.0
#include "millstream/framework/graph_files.h"
#include "millstream/framework/op.h"
#include "millstream/io/record_reader.h"
#include "millstream/ops/reader/reader.h"
#include "millstream/ops/resources/handle.h"

namespace millstream {
namespace {

// How each kind of reader opens a unit. Constructed from the attributes.
struct TfRecord {
  static constexpr char kKind[] = "TFRecordReader";
  static constexpr bool kOneRecord = false;
  explicit TfRecord(KernelInit& init) : files(init.resources()) {
    StatusOr<Compression> named = CompressionFromName(init.Attr<std::string>("compression_type"));
    if (named.ok())
      compression = *named;
    else
      init.Fail(named.status());
  }
  StatusOr<NextRecord> operator()(const std::string& unit) const {
    ASSIGN_OR_RETURN(const std::string path, files.ConfinedPath(unit));
    ASSIGN_OR_RETURN(std::shared_ptr<RecordReader> reader, RecordReader::Open(path, compression));
    return NextRecord([reader, unit](std::string* key, std::string* value) {
      *key = absl::StrCat(unit, ":", reader->offset());
      return reader->Read(value);
    });
  }
  GraphFiles files;
  Compression compression = Compression::kNone;
};

struct TextLine {
  static constexpr char kKind[] = "TextLineReader";
  static constexpr bool kOneRecord = false;
  explicit TextLine(KernelInit& init) : files(init.resources()), skip_lines(init.Attr<int64_t>("skip_header_lines")) {
    if (skip_lines < 0) init.Fail(errors::InvalidArgument("skip_header_lines must be >= 0 not ", skip_lines));
  }
  StatusOr<NextRecord> operator()(const std::string& unit) const {
    ASSIGN_OR_RETURN(const std::string path, files.ConfinedPath(unit));
    ASSIGN_OR_RETURN(std::shared_ptr<InputStream> stream, InputStream::Open(path, Compression::kNone));
    auto line = std::make_shared<int64_t>(0);
    return NextRecord([stream, unit, line, skip = skip_lines](std::string* key, std::string* value) {
      do RETURN_IF_ERROR(stream->ReadLine(value));
      while ((*line)++ < skip);
      *key = absl::StrCat(unit, ":", *line);
      return OkStatus();
    });
  }
  GraphFiles files;
  int64_t skip_lines;
};

// One record: all of the file.
struct WholeFile {
  static constexpr char kKind[] = "WholeFileReader";
  static constexpr bool kOneRecord = true;
  explicit WholeFile(KernelInit& init) : files(init.resources()) {}
  StatusOr<NextRecord> operator()(const std::string& unit) const {
    return NextRecord([unit, files = files](std::string* key, std::string* value) -> Status {
      *key = unit;
      ASSIGN_OR_RETURN(const std::string path, files.ConfinedPath(unit));
      ASSIGN_OR_RETURN(*value, ReadFile(path));
      return OkStatus();
    });
  }
  GraphFiles files;
};

// One record: the unit itself.
struct Identity {
  static constexpr char kKind[] = "IdentityReader";
  static constexpr bool kOneRecord = true;
  explicit Identity(KernelInit&) {}
  StatusOr<NextRecord> operator()(const std::string& unit) const {
    return NextRecord([unit](std::string* key, std::string* value) {
      *key = *value = unit;
      return OkStatus();
    });
  }
};

struct FixedLength {
  static constexpr char kKind[] = "FixedLengthRecordReader";
  static constexpr bool kOneRecord = false;
  explicit FixedLength(KernelInit& init)
      : files(init.resources()),
        header(init.Attr<int64_t>("header_bytes")),
        record(init.Attr<int64_t>("record_bytes")),
        footer(init.Attr<int64_t>("footer_bytes")),
        hop(init.Attr<int64_t>("hop_bytes")) {
    if (header < 0) init.Fail(errors::InvalidArgument("header_bytes must be >= 0 not ", header));
    if (record <= 0 || record > INT32_MAX) init.Fail(errors::InvalidArgument("record_bytes must be >= 0 not ", record));
    if (footer < 0) init.Fail(errors::InvalidArgument("footer_bytes must be >= 0 not ", footer));
    if (hop < 0) init.Fail(errors::InvalidArgument("hop_bytes must be >= 0 not ", hop));
    const auto encoding = init.HasAttr("encoding") ? init.Attr<std::string>("encoding") : "";
    if (encoding == "ZLIB")
      compression = Compression::kZlib;
    else if (encoding == "GZIP")
      compression = Compression::kGzip;
    else if (!encoding.empty())
      init.Fail(errors::InvalidArgument("Invalid encoding type: ", encoding));
  }
  StatusOr<NextRecord> operator()(const std::string& unit) const {
    ASSIGN_OR_RETURN(const std::string path, files.ConfinedPath(unit));
    ASSIGN_OR_RETURN(std::shared_ptr<InputStream> stream, InputStream::Open(path, compression));
    RETURN_IF_ERROR(stream->Skip(static_cast<uint64_t>(header)));
    auto ahead = std::make_shared<std::string>();  // what was read and not yet left behind
    auto number = std::make_shared<int64_t>(0);
    return NextRecord([stream, ahead, number, unit, f = *this](std::string* key, std::string* value) -> Status {
      if (*number > 0) {
        const uint64_t hop = static_cast<uint64_t>(f.hop > 0 ? f.hop : f.record);
        const uint64_t held = std::min<uint64_t>(hop, ahead->size());
        ahead->erase(0, held);
        RETURN_IF_ERROR(stream->Skip(hop - held));
      }
      const uint64_t wanted = static_cast<uint64_t>(f.record) + static_cast<uint64_t>(f.footer);
      if (ahead->size() < wanted) RETURN_IF_ERROR(stream->Read(wanted - ahead->size(), ahead.get()));
      if (ahead->size() < wanted) return errors::OutOfRange("eof");
      *key = absl::StrCat(unit, ":", (*number)++);
      value->assign(*ahead, 0, static_cast<size_t>(f.record));
      return OkStatus();
    });
  }
  GraphFiles files;
  int64_t header, record, footer, hop;
  Compression compression = Compression::kNone;
};

// Finds the reader of this name, or makes it.
template <typename Open, bool kRef>
class ReaderHandle final : public Kernel {
 public:
  explicit ReaderHandle(KernelInit& init)
      : container_(init.Attr<std::string>("container")),
        name_(init.Attr<std::string>("shared_name")),
        title_(absl::StrCat(Open::kKind, " '", init.node_name(), "'")),
        open_(init) {
    if (name_.empty()) name_ = init.node_name();
  }
  Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(Ref<Reader> reader,
                     ctx.resources()->LookupOrCreate<Reader>(container_, name_, [&]() -> StatusOr<Ref<Reader>> {
                       return MakeRef<Reader>(title_, OpenUnit(open_), Open::kOneRecord);
                     }));
    if (kRef)
      ctx.set_output_ref(0, MakeStringHandle(container_, name_));
    else
      ctx.set_output(0, MakeHandle(*ctx.device(), container_, name_, "tensorflow::ReaderInterface", std::move(reader)));
    return OkStatus();
  }

 private:
  const std::string container_;
  std::string name_;
  const std::string title_;
  const Open open_;
};

void NameAttrs(OpBuilder& op) { op.Attr("container: string = ''").Attr("shared_name: string = ''"); }
Status HandleShape(ShapeContext& c) {
  c.set_output(0, PartialShape({2}));
  return OkStatus();
}

// Each reader exists with a resource handle, and under its older name with a reference to a handle of strings.
void MakesHandle(OpBuilder& op) {
  op.Output("reader_handle: resource").Stateful().Shape(ScalarShape).NotDifferentiable();
}
void MakesReference(OpBuilder& op) {
  op.Output("reader_handle: Ref(string)").Stateful().Shape(HandleShape).NotDifferentiable();
}

void TfRecordReaderOp(OpBuilder& op) {
  op.With(NameAttrs).Attr("compression_type: string = ''").Doc("Reads the records of TFRecord files.");
}
OP("TFRecordReaderV2").With(MakesHandle).With(TfRecordReaderOp).Cpu<ReaderHandle<TfRecord, false>>();
OP("TFRecordReader").With(MakesReference).With(TfRecordReaderOp).Cpu<ReaderHandle<TfRecord, true>>();

void TextLineReaderOp(OpBuilder& op) {
  op.Attr("skip_header_lines: int = 0").With(NameAttrs).Doc("Reads the lines of text files.");
}
OP("TextLineReaderV2").With(MakesHandle).With(TextLineReaderOp).Cpu<ReaderHandle<TextLine, false>>();
OP("TextLineReader").With(MakesReference).With(TextLineReaderOp).Cpu<ReaderHandle<TextLine, true>>();

void WholeFileReaderOp(OpBuilder& op) { op.With(NameAttrs).Doc("Reads each file as one record."); }
OP("WholeFileReaderV2").With(MakesHandle).With(WholeFileReaderOp).Cpu<ReaderHandle<WholeFile, false>>();
OP("WholeFileReader").With(MakesReference).With(WholeFileReaderOp).Cpu<ReaderHandle<WholeFile, true>>();

void IdentityReaderOp(OpBuilder& op) { op.With(NameAttrs).Doc("Gives each work unit as its record."); }
OP("IdentityReaderV2").With(MakesHandle).With(IdentityReaderOp).Cpu<ReaderHandle<Identity, false>>();
OP("IdentityReader").With(MakesReference).With(IdentityReaderOp).Cpu<ReaderHandle<Identity, true>>();

void FixedLengthReaderOp(OpBuilder& op) {
  op.Attr("header_bytes: int = 0")
      .Attr("record_bytes: int")
      .Attr("footer_bytes: int = 0")
      .Attr("hop_bytes: int = 0")
      .With(NameAttrs)
      .Doc("Reads records of one size.");
}
OP("FixedLengthRecordReaderV2")
    .With(MakesHandle)
    .With(FixedLengthReaderOp)
    .Attr("encoding: string = ''")
    .Cpu<ReaderHandle<FixedLength, false>>();
OP("FixedLengthRecordReader").With(MakesReference).With(FixedLengthReaderOp).Cpu<ReaderHandle<FixedLength, true>>();

}  // namespace
}  // namespace millstream
