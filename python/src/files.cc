// SPDX-License-Identifier: Apache-2.0
// Record files and checkpoints.
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "millstream/base/file.h"
#include "millstream/io/bundle_reader.h"
#include "millstream/io/checkpoint_files.h"
#include "millstream/io/crc32c.h"
#include "millstream/io/delete_file.h"
#include "millstream/io/record_reader.h"
#include "millstream/io/record_writer.h"
#include "millstream/io/stale_files.h"
#include "python/src/arrays.h"
#include "python/src/errors.h"
#include "python/src/gil.h"
#include "python/src/module.h"

namespace nb = nanobind;

namespace millstream::python {
namespace {

Compression ToCompression(const std::string& name) { return Check(CompressionFromName(name)); }

absl::string_view View(const nb::bytes& bytes) { return {bytes.c_str(), bytes.size()}; }

class PyRecordReader {
 public:
  PyRecordReader(const std::string& path, const std::string& compression)
      : reader_(Check(RecordReader::Open(path, ToCompression(compression)))) {}
  // None at the end.
  nb::object Read() {
    Status status;
    {
      ReleaseGil release;
      status = reader_->Read(&record_);
    }
    if (absl::IsOutOfRange(status)) return nb::none();
    Check(status);
    return nb::bytes(record_.data(), record_.size());
  }
  uint64_t offset() const { return reader_->offset(); }

 private:
  std::unique_ptr<RecordReader> reader_;
  std::string record_;
};

class PyRecordWriter {
 public:
  PyRecordWriter(const std::string& path, const std::string& compression)
      : writer_(Check(RecordWriter::Create(path, ToCompression(compression)))) {}
  void Write(nb::bytes record) { Check(Open().Write(View(record))); }
  void Flush() { Check(Open().Flush()); }
  void Close() {
    if (writer_ == nullptr) return;
    const Status status = writer_->Close();
    writer_.reset();
    Check(status);
  }

 private:
  RecordWriter& Open() {
    if (writer_ == nullptr) Check(errors::FailedPrecondition("Writer is closed."));
    return *writer_;
  }
  std::unique_ptr<RecordWriter> writer_;
};

class PyBundleReader {
 public:
  explicit PyBundleReader(const std::string& prefix) {
    ReleaseGil release;
    opened_ = BundleReader::Open(prefix);
  }
  BundleReader& reader() { return opened_.ok() ? **opened_ : (Check(opened_.status()), **opened_); }
  std::vector<std::string> Names() { return reader().Names(); }
  bool Has(const std::string& name) { return reader().Has(name); }
  // (dtype, [sizes])
  nb::tuple Lookup(const std::string& name) {
    DType dtype;
    Shape shape;
    Check(reader().Lookup(name, &dtype, &shape));
    nb::list sizes;
    for (int i = 0; i < shape.rank(); ++i) sizes.append(shape.dim(i));
    return nb::make_tuple(static_cast<int>(dtype), sizes);
  }
  nb::object Read(const std::string& name) {
    StatusOr<Tensor> tensor = errors::Internal("");
    BundleReader& from = reader();
    {
      ReleaseGil release;
      tensor = from.Read(name);
    }
    return ArrayFromTensor(Check(std::move(tensor)), /*scalars=*/true);
  }

 private:
  StatusOr<std::unique_ptr<BundleReader>> opened_ = errors::Internal("");
};

// Does not hold the interpreter up while it looks for stale files and deletes them.
class PySaveInProgress {
 public:
  explicit PySaveInProgress(const std::string& prefix) {
    ReleaseGil release;
    save_ = std::make_unique<SaveInProgress>(prefix);
  }
  void Succeed() {
    ReleaseGil release;
    save_->Succeed();
  }
  void Fail() {
    ReleaseGil release;
    save_.reset();
  }

 private:
  std::unique_ptr<SaveInProgress> save_;
};

}  // namespace

void BindFiles(nb::module_& m) {
  m.def(
      "delete_large_file",
      [](const std::string& path) {
        Status status;
        {
          ReleaseGil release;
          status = DeleteLargeFile(path);
        }
        Check(status);
      },
      nb::arg("path"), "Deletes a file; its memory or disk space is given back a moment later, on another thread.");
  m.def(
      "retire_index",
      [](const std::string& prefix) {
        StatusOr<std::string> retired = errors::Internal("");
        {
          ReleaseGil release;
          retired = RetireIndex(prefix);
        }
        return Check(std::move(retired));
      },
      nb::arg("prefix"), "Begins to delete a checkpoint; returns the file to delete last, or ''.");
  m.def(
      "write_file_atomically",
      [](const std::string& path, nb::bytes data) {
        Status status;
        {
          ReleaseGil release;
          status = WriteFileAtomically(path, View(data));
        }
        Check(status);
      },
      nb::arg("path"), nb::arg("data"), "Written aside, synced, renamed: a reader sees the old file or the new one.");
  m.def(
      "make_folders",
      [](const std::string& folder) {
        Status status;
        {
          ReleaseGil release;
          status = MakeFolders(folder);
        }
        Check(status);
      },
      nb::arg("folder"), "With parents; new ones are synced.");
  nb::class_<PySaveInProgress>(m, "SaveInProgress")
      .def(nb::init<const std::string&>(), nb::arg("prefix"))
      .def("succeed", &PySaveInProgress::Succeed)
      .def("fail", &PySaveInProgress::Fail);
  m.def(
      "check_checkpoint_files",
      [](const std::string& prefix) {
        Status status;
        {
          ReleaseGil release;
          status = CheckCheckpointFiles(prefix);
        }
        Check(status);
      },
      nb::arg("prefix"), "Raises an error that names the file of a checkpoint which is missing or damaged.");
  m.def(
      "find_checkpoints",
      [](const std::string& folder) {
        ReleaseGil release;
        return FindCheckpoints(folder);
      },
      nb::arg("folder"), "The prefixes of a folder's checkpoints, the lowest step first.");
  m.def("crc32c", [](nb::bytes data) { return Crc32c(View(data)); });
  m.def("masked_crc32c", [](nb::bytes data) { return MaskCrc(Crc32c(View(data))); });
  nb::class_<PyRecordReader>(m, "RecordReader")
      .def(nb::init<const std::string&, const std::string&>(), nb::arg("path"), nb::arg("compression") = "")
      .def("read", &PyRecordReader::Read)
      .def("offset", &PyRecordReader::offset);
  nb::class_<PyRecordWriter>(m, "RecordWriter")
      .def(nb::init<const std::string&, const std::string&>(), nb::arg("path"), nb::arg("compression") = "")
      .def("write", &PyRecordWriter::Write)
      .def("flush", &PyRecordWriter::Flush)
      .def("close", &PyRecordWriter::Close);
  nb::class_<PyBundleReader>(m, "BundleReader")
      .def(nb::init<const std::string&>(), nb::arg("prefix"))
      .def(
          "check", [](PyBundleReader& r) { r.reader(); }, "Raises if it could not be opened.")
      .def("names", &PyBundleReader::Names)
      .def("has", &PyBundleReader::Has)
      .def("lookup", &PyBundleReader::Lookup)
      .def("read", &PyBundleReader::Read);
}

}  // namespace millstream::python
