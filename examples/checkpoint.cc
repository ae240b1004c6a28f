// SPDX-License-Identifier: Apache-2.0
// Writes and lists V2 checkpoints, the files that TensorFlow's Saver writes and restores.
//
//   checkpoint write PREFIX    a few tensors, one of them in slices
//   checkpoint list PREFIX     name, type, shape and first values of each tensor, read with checksums
#include <cstdio>
#include <cstring>

#include "millstream/io/bundle_reader.h"
#include "millstream/io/bundle_writer.h"

namespace {

using namespace millstream;  // NOLINT(google-build-using-namespace)

Status Write(const char* prefix) {
  ASSIGN_OR_RETURN(const std::unique_ptr<BundleWriter> writer, BundleWriter::Create(prefix));
  RETURN_IF_ERROR(writer->Add("layer/kernel", Tensor::Of<float>(Shape({2, 3}), {1, 2, 3, 4, 5, 6})));
  RETURN_IF_ERROR(writer->Add("global_step", Tensor::Scalar<int64_t>(7)));
  RETURN_IF_ERROR(writer->Add("words", Tensor::Vector<std::string>({"ab", "", "a longer one"})));
  TensorSlice top, bottom;
  top.extents = {{0, 2}, {0, -1}};
  bottom.extents = {{2, 1}, {0, -1}};
  RETURN_IF_ERROR(writer->AddSlice("sliced", Shape({3, 2}), top, Tensor::Of<float>(Shape({2, 2}), {1, 2, 3, 4})));
  RETURN_IF_ERROR(writer->AddSlice("sliced", Shape({3, 2}), bottom, Tensor::Of<float>(Shape({1, 2}), {5, 6})));
  return writer->Finish();
}

Status List(const char* prefix) {
  ASSIGN_OR_RETURN(const std::unique_ptr<BundleReader> reader, BundleReader::Open(prefix));
  for (const std::string& name : reader->Names()) {
    ASSIGN_OR_RETURN(const Tensor tensor, reader->Read(name));
    std::printf("%s\t%s\t%s\t%s\n", name.c_str(), DTypeName(tensor.dtype()).c_str(), tensor.shape().ToString().c_str(),
                tensor.SummarizeValue().c_str());
  }
  return OkStatus();
}

}  // namespace

int main(int argc, char** argv) {
  const bool write = argc == 3 && std::strcmp(argv[1], "write") == 0;
  if (!write && (argc != 3 || std::strcmp(argv[1], "list") != 0)) {
    std::fprintf(stderr, "usage: checkpoint write|list PREFIX\n");
    return 2;
  }
  const Status status = write ? Write(argv[2]) : List(argv[2]);
  if (!status.ok()) std::fprintf(stderr, "checkpoint: %s\n", status.ToString().c_str());
  return status.ok() ? 0 : 1;
}
