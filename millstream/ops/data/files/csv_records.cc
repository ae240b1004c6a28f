// SPDX-License-Identifier: Apache-2.0
#include "millstream/ops/data/files/csv_records.h"

namespace millstream {

StatusOr<bool> CsvRecords::Peek(char* c) {
  if (at_ == buffer_.size()) {
    buffer_.clear();
    at_ = 0;
    RETURN_IF_ERROR(stream_->Read(buffer_size_, &buffer_));
    if (buffer_.empty()) return false;
  }
  *c = buffer_[at_];
  return true;
}

Status CsvRecords::Next(std::vector<std::string>* fields) {
  char c = 0;
  ASSIGN_OR_RETURN(bool more, Peek(&c));
  if (!more) return errors::OutOfRange("eof");
  Status broken;
  End end = End::kField;
  while (end == End::kField) {
    std::string& field = fields->emplace_back();
    ASSIGN_OR_RETURN(more, Peek(&c));
    if (!more) break;  // an empty field at the end
    if (quotes_ && c == '"') {
      ++at_;
      ASSIGN_OR_RETURN(end, Quoted(&field, &broken));
    } else {
      ASSIGN_OR_RETURN(end, Plain(&field, &broken));
    }
  }
  return broken;
}

StatusOr<CsvRecords::End> CsvRecords::AfterField(char c) {
  if (c == delimiter_) return End::kField;
  if (c == '\r') {
    char next = 0;
    ASSIGN_OR_RETURN(const bool more, Peek(&next));
    if (more && next == '\n') ++at_;
  }
  return End::kRecord;
}

StatusOr<CsvRecords::End> CsvRecords::Plain(std::string* field, Status* broken) {
  char c = 0;
  while (true) {
    ASSIGN_OR_RETURN(const bool more, Peek(&c));
    if (!more) return End::kRecord;
    ++at_;
    if (c == delimiter_ || c == '\n' || c == '\r') return AfterField(c);
    if (quotes_ && c == '"' && broken->ok()) {
      *broken = errors::InvalidArgument("Unquoted fields cannot have quotes inside");
    }
    field->push_back(c);
  }
}

StatusOr<CsvRecords::End> CsvRecords::Quoted(std::string* field, Status* broken) {
  char c = 0;
  while (true) {
    ASSIGN_OR_RETURN(bool more, Peek(&c));
    if (!more) {
      return errors::InvalidArgument("Reached end of file without closing quoted field in record");
    }
    ++at_;
    if (c != '"') {
      field->push_back(c);
      continue;
    }
    ASSIGN_OR_RETURN(more, Peek(&c));
    if (!more) return End::kRecord;
    ++at_;
    if (c == delimiter_ || c == '\n' || c == '\r') return AfterField(c);
    if (c != '"' && broken->ok()) {
      *broken = errors::InvalidArgument("Quote inside a string has to be escaped by another quote");
    }
    field->push_back(c);
  }
}

}  // namespace millstream
