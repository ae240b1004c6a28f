// SPDX-License-Identifier: Apache-2.0
#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "millstream/framework/graph_files.h"
#include "millstream/framework/op.h"
#include "millstream/io/input_stream.h"
#include "millstream/ops/lookup/table.h"
#include "millstream/ops/resources/handle.h"

namespace millstream {
namespace {

constexpr int64_t kLineNumber = -1;
constexpr int64_t kWholeLine = -2;

// One column of the file as a vector of a table's type.
class Column {
 public:
  Column(DType dtype, int64_t index, int64_t offset) : dtype_(dtype), index_(index), offset_(offset) {}

  Status Check(const char* what) const {
    if (index_ == kLineNumber && dtype_ != DType::kInt64 && dtype_ != DType::kInt32) {
      return errors::InvalidArgument(what, " index for line number requires table ", what, " dtype of int64, got ",
                                     DTypeName(dtype_));
    }
    const bool known = dtype_ == DType::kInt32 || dtype_ == DType::kInt64 || dtype_ == DType::kFloat ||
                       dtype_ == DType::kDouble || dtype_ == DType::kString;
    if (known && (index_ != kWholeLine || dtype_ == DType::kString || dtype_ == DType::kInt64)) return OkStatus();
    return errors::InvalidArgument(what, " index for whole line requires table ", what, " dtype of string, got ",
                                   DTypeName(dtype_));
  }
  bool splits() const { return index_ >= 0; }
  int64_t index() const { return index_; }

  Status Add(int64_t line, const std::string& text, const std::vector<std::string>& fields) {
    if (index_ == kLineNumber) {
      numbers_.push_back(line + offset_);
      return OkStatus();
    }
    const std::string& field = index_ == kWholeLine ? text : fields[index_];
    bool ok = true;
    int64_t number = 0;
    double real = 0;
    switch (dtype_) {
      case DType::kString:
        strings_.push_back(field);
        break;
      case DType::kInt32:
      case DType::kInt64:
        ok = absl::SimpleAtoi(field, &number);
        numbers_.push_back(number);
        break;
      default:
        ok = absl::SimpleAtod(field, &real);
        reals_.push_back(real);
    }
    if (dtype_ == DType::kInt32) ok &= number == static_cast<int32_t>(number);
    if (ok) return OkStatus();
    return errors::InvalidArgument("Field ", field, " in line ", line, " is not a valid ", DTypeName(dtype_), ".");
  }

  Tensor Take() const {
    switch (dtype_) {
      case DType::kString:
        return Tensor::Vector(strings_);
      case DType::kInt64:
        return Tensor::Vector(numbers_);
      case DType::kInt32:
        return Tensor::Vector(std::vector<int32_t>(numbers_.begin(), numbers_.end()));
      case DType::kFloat:
        return Tensor::Vector(std::vector<float>(reals_.begin(), reals_.end()));
      default:
        return Tensor::Vector(reals_);
    }
  }

 private:
  const DType dtype_;
  const int64_t index_, offset_;
  std::vector<std::string> strings_;
  std::vector<int64_t> numbers_;
  std::vector<double> reals_;
};

class InitializeTableFromTextFile final : public Kernel {
 public:
  explicit InitializeTableFromTextFile(KernelInit& init)
      : key_(init.Attr<int64_t>("key_index")),
        value_(init.Attr<int64_t>("value_index")),
        size_(init.Attr<int64_t>("vocab_size")),
        offset_(init.Attr<int64_t>("offset")),
        delimiter_(init.Attr<std::string>("delimiter")) {
    if (delimiter_.size() != 1) init.Fail(errors::InvalidArgument("delimiter should be only 1 char"));
  }

  Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(Ref<LookupTable> table, HandleInput<LookupTable>(ctx, 0));
    const Tensor& name = ctx.input(1);
    if (name.num_elements() != 1) {
      return errors::InvalidArgument("filename should be a single string, but got ", name.shape().ToString());
    }
    const std::string& file = name.data<std::string>()[0];
    if (file.empty()) return errors::InvalidArgument("filename cannot be empty.");
    Column keys(table->options().key_dtype, key_, offset_), values(table->options().value_dtype, value_, offset_);
    RETURN_IF_ERROR(keys.Check("Key"));
    RETURN_IF_ERROR(values.Check("Value"));
    RETURN_IF_ERROR(Read(ctx.resources(), file, &keys, &values));
    return table->Initialize(keys.Take(), values.Take());
  }

 private:
  Status Read(const ResourceManager* resources, const std::string& file, Column* keys, Column* values) const {
    ASSIGN_OR_RETURN(const std::string path, ConfinedPath(resources, file));
    ASSIGN_OR_RETURN(std::unique_ptr<InputStream> stream, InputStream::Open(path, Compression::kNone));
    std::string text;
    std::vector<std::string> fields;
    const int64_t last = std::max(keys->index(), values->index());
    int64_t line = 0;
    for (; size_ < 0 || line < size_; ++line) {
      const Status read = stream->ReadLine(&text);
      if (absl::IsOutOfRange(read)) break;
      RETURN_IF_ERROR(read);
      if (last >= 0) {
        fields = absl::StrSplit(text, delimiter_[0]);
        if (last >= static_cast<int64_t>(fields.size())) {
          return errors::InvalidArgument("Invalid number of columns in ", file, " line ", line, " (", text,
                                         ") : expected at least ", last + 1, " got ", fields.size());
        }
      }
      RETURN_IF_ERROR(keys->Add(line, text, fields));
      RETURN_IF_ERROR(values->Add(line, text, fields));
    }
    if (size_ < 0 || line == size_) return OkStatus();
    return errors::InvalidArgument("Invalid vocab_size in ", file, ": expected ", size_, " but got ", line);
  }

  const int64_t key_, value_, size_, offset_;
  const std::string delimiter_;
};

Status FromFileShape(ShapeContext& c) {
  PartialShape name;
  return ShapeContext::WithRank(c.input(1), 0, &name);
}

void FromFileInputs(OpBuilder& op) {
  op.Input("filename: string")
      .Attr("key_index: int >= -2")
      .Attr("value_index: int >= -2")
      .Attr("vocab_size: int >= -1 = -1")
      .Attr("delimiter: string = '\t'")
      .Attr("offset: int = 0")
      .Shape(FromFileShape)
      .NotDifferentiable()
      .Cpu<InitializeTableFromTextFile>()
      .Expensive();
}

OP("InitializeTableFromTextFile")
    .Input("table_handle: Ref(string)")
    .With(FromFileInputs)
    .Doc("Fills a table from columns of a text file (old form of the handle).");
OP("InitializeTableFromTextFileV2")
    .Input("table_handle: resource")
    .With(FromFileInputs)
    .Stateful()
    .Doc("Fills a table from columns of a text file: a column by number, -1 the line's number, -2 the whole line.");

}  // namespace
}  // namespace millstream
