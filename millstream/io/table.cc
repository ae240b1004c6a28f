// SPDX-License-Identifier: Apache-2.0
#include "millstream/io/table.h"

#include <leveldb/comparator.h>
#include <leveldb/env.h>
#include <leveldb/iterator.h>
#include <leveldb/options.h>
#include <leveldb/table.h>
#include <leveldb/table_builder.h>

#include <algorithm>
#include <memory>

namespace millstream {
namespace {

class StringSink final : public leveldb::WritableFile {
 public:
  explicit StringSink(std::string* out) : out_(out) {}
  leveldb::Status Append(const leveldb::Slice& data) override {
    out_->append(data.data(), data.size());
    return leveldb::Status::OK();
  }
  leveldb::Status Close() override { return leveldb::Status::OK(); }
  leveldb::Status Flush() override { return leveldb::Status::OK(); }
  leveldb::Status Sync() override { return leveldb::Status::OK(); }

 private:
  std::string* const out_;
};

class StringSource final : public leveldb::RandomAccessFile {
 public:
  explicit StringSource(const std::string& bytes) : bytes_(bytes) {}
  leveldb::Status Read(uint64_t offset, size_t n, leveldb::Slice* result, char*) const override {
    if (offset > bytes_.size()) return leveldb::Status::InvalidArgument("read past the end");
    *result = leveldb::Slice(bytes_.data() + offset, std::min<size_t>(n, bytes_.size() - offset));
    return leveldb::Status::OK();
  }

 private:
  const std::string& bytes_;
};

leveldb::Options PlainOptions() {
  leveldb::Options options;
  options.compression = leveldb::kNoCompression;
  options.paranoid_checks = true;
  return options;
}

}  // namespace

StatusOr<std::string> EncodeTable(const Table& table) {
  std::string bytes;
  StringSink sink(&bytes);
  leveldb::TableBuilder builder(PlainOptions(), &sink);
  for (const auto& [key, value] : table) builder.Add(key, value);
  const leveldb::Status status = builder.Finish();
  if (!status.ok()) return errors::Internal(status.ToString());
  return bytes;
}

StatusOr<Table> DecodeTable(const std::string& bytes, const std::string& name) {
  const StringSource source(bytes);
  leveldb::Table* raw = nullptr;
  leveldb::Status status = leveldb::Table::Open(PlainOptions(), const_cast<StringSource*>(&source), bytes.size(), &raw);
  if (!status.ok()) return errors::DataLoss(name, ": not an sstable (", status.ToString(), ")");
  const std::unique_ptr<leveldb::Table> table(raw);
  leveldb::ReadOptions read;
  read.verify_checksums = true;
  const std::unique_ptr<leveldb::Iterator> it(table->NewIterator(read));
  Table out;
  for (it->SeekToFirst(); it->Valid(); it->Next())
    out.emplace_hint(out.end(), it->key().ToString(), it->value().ToString());
  if (!it->status().ok()) return errors::DataLoss(name, ": ", it->status().ToString());
  return out;
}

}  // namespace millstream
