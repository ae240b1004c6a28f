// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "millstream/framework/op.h"
#include "millstream/ops/parsing/csv_fields.h"

namespace millstream {
namespace {

// Splits a record into fields by the rules of RFC 4180.
class FieldSplitter {
 public:
  FieldSplitter(char delimiter, bool quotes) : delimiter_(delimiter), quotes_(quotes) {}

  Status Split(const std::string& record, std::vector<std::string>* fields) const {
    size_t at = 0;
    do {
      std::string& field = fields->emplace_back();
      if (quotes_ && at < record.size() && record[at] == '"')
        RETURN_IF_ERROR(Quoted(record, &at, &field));
      else
        RETURN_IF_ERROR(Plain(record, &at, &field));
    } while (at++ < record.size());  // past the delimiter, after which there is a field, if an empty one
    return OkStatus();
  }

 private:
  Status Plain(const std::string& record, size_t* at, std::string* field) const {
    const size_t end = std::min(record.find(delimiter_, *at), record.size());
    field->assign(record, *at, end - *at);
    *at = end;
    if (quotes_ && field->find_first_of("\"\n\r") != std::string::npos) {
      return errors::InvalidArgument("Unquoted fields cannot have quotes/CRLFs inside");
    }
    return OkStatus();
  }

  Status Quoted(const std::string& record, size_t* at, std::string* field) const {
    for (size_t i = *at + 1; i < record.size(); ++i) {
      if (record[i] != '"') {
        field->push_back(record[i]);
      } else if (i + 1 < record.size() && record[i + 1] == '"') {
        field->push_back('"');
        ++i;
      } else {
        *at = i + 1;
        if (*at == record.size() || record[*at] == delimiter_) return OkStatus();
        return errors::InvalidArgument("Quoted field has to end with quote followed by delim or end");
      }
    }
    return errors::InvalidArgument("Quoted field has to end with quote followed by delim or end");
  }

  const char delimiter_;
  const bool quotes_;
};

class DecodeCsv final : public Kernel {
 public:
  explicit DecodeCsv(KernelInit& init)
      : delimiter_(init.Attr<std::string>("field_delim")),
        quotes_(init.Attr<bool>("use_quote_delim")),
        na_value_(init.Attr<std::string>("na_value")),
        columns_(init.Attr<std::vector<int64_t>>("select_cols")) {
    if (delimiter_.size() != 1) init.Fail(errors::InvalidArgument("field_delim should be only 1 char"));
    const size_t outputs = init.output_types().size();
    if (!columns_.empty() && columns_.size() != outputs)
      init.Fail(errors::InvalidArgument("select_cols should match output size"));
    for (size_t i = 0; i < columns_.size(); ++i) {
      if (columns_[i] < 0) init.Fail(errors::InvalidArgument("select_cols should be non-negative indices"));
      if (i > 0 && columns_[i] <= columns_[i - 1])
        init.Fail(errors::InvalidArgument("select_cols should be strictly increasing indices"));
    }
  }

  Status Compute(KernelContext& ctx) override {
    const Tensor& records = ctx.input(0);
    std::vector<Tensor*> out;
    for (int f = 0; f < ctx.num_outputs(); ++f) {
      if (ctx.input(f + 1).num_elements() > 1) {
        return errors::InvalidArgument("There should only be 1 default per field but field ", f, " has ",
                                       ctx.input(f + 1).num_elements());
      }
      ASSIGN_OR_RETURN(Tensor * column, ctx.AllocateOutput(f, records.shape()));
      out.push_back(column);
    }
    const FieldSplitter splitter(delimiter_[0], quotes_);
    for (int64_t i = 0; i < records.num_elements(); ++i) {
      std::vector<std::string> fields;
      RETURN_IF_ERROR(splitter.Split(records.data<std::string>()[i], &fields));
      const auto have = columns_.empty() ? static_cast<int64_t>(fields.size())
                                         : std::count_if(columns_.begin(), columns_.end(), [&](int64_t c) {
                                             return c < static_cast<int64_t>(fields.size());
                                           });
      if (have != static_cast<int64_t>(out.size())) {
        return errors::InvalidArgument("Expect ", out.size(), " fields but have ", have, " in record ", i);
      }
      for (size_t f = 0; f < out.size(); ++f) {
        const std::string& text = fields[columns_.empty() ? f : static_cast<size_t>(columns_[f])];
        RETURN_IF_ERROR(Set(ctx.input(static_cast<int>(f) + 1), text, f, i, out[f]));
      }
    }
    return OkStatus();
  }

 private:
  Status Set(const Tensor& value, const std::string& text, size_t field, int64_t i, Tensor* out) const {
    if (text.empty() || text == na_value_) {
      if (value.num_elements() != 1)
        return errors::InvalidArgument("Field ", field, " is required but missing in record ", i, "!");
      SetCsvDefault(value, i, out);
      return OkStatus();
    }
    if (SetCsvField(text, i, out)) return OkStatus();
    return errors::InvalidArgument("Field ", field, " in record ", i, " is not a valid ", DTypeName(out->dtype()), ": ",
                                   text);
  }

  const std::string delimiter_;
  const bool quotes_;
  const std::string na_value_;
  const std::vector<int64_t> columns_;
};

Status DecodeCsvShape(ShapeContext& c) {
  for (int i = 1; i < c.num_inputs(); ++i) {
    PartialShape unused;
    RETURN_IF_ERROR(ShapeContext::WithRankAtMost(c.input(i), 1, &unused));
    if (c.input(i).rank() == 1 && c.input(i).dim(0) > 1) {
      return errors::InvalidArgument("A default must be one value, alone or in a vector, or an empty vector");
    }
  }
  for (int i = 0; i < c.num_outputs(); ++i) c.set_output(i, c.input(0));
  return OkStatus();
}

OP("DecodeCSV")
    .Input("records: string")
    .Input("record_defaults: OUT_TYPE")
    .Output("output: OUT_TYPE")
    .Attr("OUT_TYPE: list({float, double, int32, int64, string}) >= 1")
    .Attr("field_delim: string = ','")
    .Attr("use_quote_delim: bool = true")
    .Attr("na_value: string = ''")
    .Attr("select_cols: list(int) = []")
    .Shape(DecodeCsvShape)
    .NotDifferentiable()
    .Cpu<DecodeCsv>()
    .Doc("The fields of comma-separated records, one tensor for each column.");

}  // namespace
}  // namespace millstream
