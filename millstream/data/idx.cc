// SPDX-License-Identifier: Apache-2.0
#include "millstream/data/idx.h"

#include <zlib.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <vector>

namespace millstream {
namespace {

struct CloseGz {
  void operator()(gzFile file) const { gzclose(file); }
};
using GzFile = std::unique_ptr<gzFile_s, CloseGz>;

Status ReadExactly(gzFile file, const std::string& path, void* to, size_t bytes) {
  auto* p = static_cast<char*>(to);
  while (bytes > 0) {
    const int n = gzread(file, p, static_cast<unsigned>(std::min<size_t>(bytes, 1 << 24)));
    if (n <= 0) return errors::DataLoss(path, " is cut short or damaged");
    p += n;
    bytes -= static_cast<size_t>(n);
  }
  return OkStatus();
}

uint32_t BigEndian(const uint8_t* p) {
  return uint32_t{p[0]} << 24 | uint32_t{p[1]} << 16 | uint32_t{p[2]} << 8 | p[3];
}

}  // namespace

StatusOr<Tensor> ReadIdx(const std::string& path, int64_t max_bytes) {
  GzFile file(gzopen(path.c_str(), "rb"));
  if (file == nullptr) return errors::NotFound(path, ": ", std::strerror(errno));
  uint8_t head[4];
  RETURN_IF_ERROR(ReadExactly(file.get(), path, head, sizeof(head)));
  constexpr uint8_t kUnsignedByte = 8;
  if (head[0] != 0 || head[1] != 0 || head[2] != kUnsignedByte || head[3] == 0 || head[3] > 4) {
    return errors::DataLoss(path, " is not an IDX file of unsigned bytes");
  }
  std::vector<int64_t> dims;
  for (int i = 0; i < head[3]; ++i) {
    uint8_t size[4];
    RETURN_IF_ERROR(ReadExactly(file.get(), path, size, sizeof(size)));
    dims.push_back(BigEndian(size));
  }
  ASSIGN_OR_RETURN(Shape shape, Shape::Make(dims));
  if (shape.num_elements() > max_bytes) {
    return errors::ResourceExhausted(path, " holds ", shape.num_elements(), " bytes, more than ", max_bytes);
  }
  ASSIGN_OR_RETURN(Tensor tensor, Tensor::Make(DType::kUint8, shape));
  RETURN_IF_ERROR(ReadExactly(file.get(), path, tensor.raw(), tensor.ByteSize()));
  return tensor;
}

}  // namespace millstream
