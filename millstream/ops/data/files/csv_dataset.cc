// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "millstream/framework/graph_files.h"
#include "millstream/framework/op.h"
#include "millstream/ops/data/dataset.h"
#include "millstream/ops/data/files/csv_records.h"
#include "millstream/ops/parsing/csv_fields.h"

namespace millstream {
namespace {

struct CsvOptions {
  std::vector<std::string> files;
  Compression compression = Compression::kNone;
  int64_t buffer_size = 0;
  bool header = false;
  char delimiter = ',';
  bool quotes = true;
  std::string na_value;
  std::vector<int64_t> select, exclude;  // of columns, increasing; at most one of them has any
  std::vector<Tensor> defaults;          // one for each output, empty where the field is required

  bool Wants(int64_t column) const {
    if (!select.empty()) return std::binary_search(select.begin(), select.end(), column);
    return !std::binary_search(exclude.begin(), exclude.end(), column);
  }
};

// The records of CSV files, one file after the other.
class CsvDataset final : public Dataset {
 public:
  CsvDataset(CsvOptions options, OutputSignature signature)
      : Dataset(std::move(signature.types), std::move(signature.shapes)),
        options_(std::make_shared<const CsvOptions>(std::move(options))) {}
  StatusOr<IteratorPtr> NewIterator(const StepContext&) const override { return std::make_unique<Iterator>(options_); }

 private:
  class Iterator final : public DatasetIterator {
   public:
    explicit Iterator(std::shared_ptr<const CsvOptions> options) : options_(std::move(options)) {}
    Status Next(const StepContext& step, Element* element, bool* end) override {
      std::vector<std::string> fields;
      while (true) {
        RETURN_IF_ERROR(CheckCancelled(step));
        if (records_ == nullptr) {
          *end = file_ == options_->files.size();
          if (*end) return OkStatus();
          RETURN_IF_ERROR(Open(step.resources, options_->files[file_++]));
        }
        fields.clear();
        const Status status = records_->Next(&fields);
        if (status.ok()) break;
        if (!absl::IsOutOfRange(status)) return status;
        records_.reset();
      }
      *end = false;
      return Convert(fields, element);
    }

   private:
    Status Open(const ResourceManager* resources, const std::string& path) {
      ASSIGN_OR_RETURN(const std::string confined, ConfinedPath(resources, path));
      ASSIGN_OR_RETURN(std::unique_ptr<InputStream> stream, InputStream::Open(confined, options_->compression));
      records_ = std::make_unique<CsvRecords>(std::move(stream), options_->delimiter, options_->quotes,
                                              static_cast<uint64_t>(options_->buffer_size));
      if (!options_->header) return OkStatus();
      std::vector<std::string> names;
      // The next call goes on behind a header that is not as it should be.
      return records_->Next(&names).ok() ? OkStatus() : errors::InvalidArgument("Can't read header of file");
    }

    Status Convert(const std::vector<std::string>& fields, Element* element) const {
      const std::vector<Tensor>& defaults = options_->defaults;
      for (size_t column = 0; column < fields.size(); ++column) {
        if (!options_->Wants(static_cast<int64_t>(column))) continue;
        const size_t out = element->size();
        if (out == defaults.size()) {
          return errors::InvalidArgument("Expect ", defaults.size(), " fields but have more in record");
        }
        const std::string& text = fields[column];
        Tensor value(defaults[out].dtype(), Shape());
        if (text.empty() || text == options_->na_value) {
          if (defaults[out].num_elements() != 1) {
            return errors::InvalidArgument("Field ", out, " is required but missing in record!");
          }
          SetCsvDefault(defaults[out], 0, &value);
        } else if (!SetCsvField(text, 0, &value)) {
          return errors::InvalidArgument("Field ", out, " in record is not a valid ", DTypeName(value.dtype()), ": ",
                                         text);
        }
        element->push_back(std::move(value));
      }
      if (element->size() == defaults.size()) return OkStatus();
      return errors::InvalidArgument("Expect ", defaults.size(), " fields but have ", element->size(), " in record");
    }

    const std::shared_ptr<const CsvOptions> options_;
    size_t file_ = 0;
    std::unique_ptr<CsvRecords> records_;
  };

  const std::shared_ptr<const CsvOptions> options_;
};

StatusOr<std::vector<int64_t>> Columns(const KernelContext& ctx, int i, absl::string_view name) {
  const Tensor& t = ctx.input(i);
  if (t.rank() != 1) return errors::InvalidArgument("`", name, "` must be a vector.");
  std::vector<int64_t> columns(t.flat<int64_t>().begin(), t.flat<int64_t>().end());
  for (size_t c = 1; c < columns.size(); ++c) {
    if (columns[c - 1] >= columns[c]) return errors::InvalidArgument(name, " should be strictly increasing indices");
  }
  if (!columns.empty() && columns[0] < 0) return errors::InvalidArgument(name, " should be non-negative indices");
  return columns;
}

class MakeCsv final : public Kernel {
 public:
  explicit MakeCsv(KernelInit& init) : signature_(init) {}
  Status Compute(KernelContext& ctx) override {
    CsvOptions options;
    RETURN_IF_ERROR(ReadFiles(ctx, &options));
    RETURN_IF_ERROR(ReadFormat(ctx, &options));
    const int outputs = static_cast<int>(signature_.types.size());
    for (int i = 0; i < outputs; ++i) {
      const Tensor& value = ctx.input(8 + i);
      if (value.rank() > 1) return errors::InvalidArgument("Each record default should be at most rank 1");
      if (value.num_elements() > 1) {
        return errors::InvalidArgument("There should only be 1 default per field but field ", i, " has ",
                                       value.num_elements());
      }
      options.defaults.push_back(value);
    }
    ASSIGN_OR_RETURN(options.select, Columns(ctx, 7, "select_cols"));
    if (!options.select.empty() && options.select.size() != signature_.types.size()) {
      return errors::InvalidArgument("select_cols should match output size");
    }
    if (ctx.num_inputs() > 8 + outputs) {
      ASSIGN_OR_RETURN(options.exclude, Columns(ctx, 8 + outputs, "exclude_cols"));
    }
    if (!options.select.empty() && !options.exclude.empty()) {
      return errors::InvalidArgument("Either select_cols or exclude_cols should be empty");
    }
    OutputDataset(ctx, MakeRef<CsvDataset>(std::move(options), signature_));
    return OkStatus();
  }

 private:
  static Status ReadFiles(const KernelContext& ctx, CsvOptions* options) {
    const Tensor& files = ctx.input(0);
    if (files.rank() > 1) return errors::InvalidArgument("`filenames` must be a scalar or a vector.");
    options->files.assign(files.flat<std::string>().begin(), files.flat<std::string>().end());
    ASSIGN_OR_RETURN(const std::string packing, ScalarInput<std::string>(ctx, 1, "compression_type"));
    ASSIGN_OR_RETURN(options->compression, CompressionFromName(packing));
    ASSIGN_OR_RETURN(options->buffer_size, ScalarInput<int64_t>(ctx, 2, "buffer_size"));
    if (options->buffer_size <= 0) return errors::InvalidArgument("buffer_size should be positive");
    return OkStatus();
  }

  static Status ReadFormat(const KernelContext& ctx, CsvOptions* options) {
    ASSIGN_OR_RETURN(options->header, ScalarInput<bool>(ctx, 3, "header"));
    ASSIGN_OR_RETURN(const std::string delimiter, ScalarInput<std::string>(ctx, 4, "field_delim"));
    if (delimiter.size() != 1) return errors::InvalidArgument("field_delim should be only 1 char");
    options->delimiter = delimiter[0];
    ASSIGN_OR_RETURN(options->quotes, ScalarInput<bool>(ctx, 5, "use_quote_delim"));
    ASSIGN_OR_RETURN(options->na_value, ScalarInput<std::string>(ctx, 6, "na_value"));
    return OkStatus();
  }

  const OutputSignature signature_;
};

void CsvInputs(OpBuilder& op) {
  op.Input("filenames: string")
      .Input("compression_type: string")
      .Input("buffer_size: int64")
      .Input("header: bool")
      .Input("field_delim: string")
      .Input("use_quote_delim: bool")
      .Input("na_value: string")
      .Input("select_cols: int64")
      .Input("record_defaults: output_types");
}
void CsvEnd(OpBuilder& op) {
  op.Output("handle: variant")
      .Attr("output_types: list({float, double, int32, int64, string}) >= 1")
      .Attr("output_shapes: list(shape) >= 1")
      .Stateful()
      .Shape(ScalarShape)
      .Cpu<MakeCsv>();
}

OP("CSVDataset").With(CsvInputs).With(CsvEnd).Doc("A dataset of the records of CSV files.");
OP("ExperimentalCSVDataset").With(CsvInputs).With(CsvEnd).Doc("A dataset of the records of CSV files.");
OP("CSVDatasetV2")
    .With(CsvInputs)
    .Input("exclude_cols: int64")
    .With(CsvEnd)
    .Doc("A dataset of the records of CSV files; columns may be left out.");

}  // namespace
}  // namespace millstream
