// SPDX-License-Identifier: Apache-2.0
// Bytes -> TensorProto -> Tensor -> TensorProto -> Tensor: nothing crashes, and the two tensors are equal.
#include <cstring>

#include "millstream/base/logging.h"
#include "millstream/base/testing/proto_fuzzer.h"
#include "millstream/base/testing/proto_mutator.h"
#include "millstream/proto/tensor.pb.h"
#include "millstream/tensor/tensor_proto.h"

namespace millstream {
namespace {

bool Equal(const Tensor& a, const Tensor& b) {
  if (a.dtype() != b.dtype() || !(a.shape() == b.shape())) return false;
  if (IsPlainBytes(a.dtype())) return a.ByteSize() == 0 || std::memcmp(a.raw(), b.raw(), a.ByteSize()) == 0;
  if (a.dtype() != DType::kString) return true;
  const auto x = a.flat<std::string>(), y = b.flat<std::string>();
  return std::equal(x.begin(), x.end(), y.begin(), y.end());
}

void RoundTrip(const Tensor& tensor, const TensorDecodeOptions& options, int64_t max_values) {
  proto::TensorProto again;
  MS_CHECK(TensorToProto(tensor, &again, {.max_values = max_values}).ok());
  StatusOr<Tensor> back = TensorFromProto(again, options);
  MS_CHECK(back.ok() && Equal(tensor, *back));
}

}  // namespace
}  // namespace millstream

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size, unsigned int seed) {
  static const std::vector<std::string> kNoWords;
  millstream::testing::ProtoMutator mutator(seed, &kNoWords);
  millstream::proto::TensorProto message;
  return millstream::testing::MutateMessage(data, size, max_size, &mutator, &message, nullptr, LLVMFuzzerMutate);
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace millstream;  // NOLINT(google-build-using-namespace)
  proto::TensorProto proto;
  if (!proto.ParseFromArray(data, static_cast<int>(size))) return 0;
  const TensorDecodeOptions options{.max_bytes = 1 << 20};
  StatusOr<Tensor> tensor = TensorFromProto(proto, options);
  if (!tensor.ok()) return 0;
  MS_CHECK(tensor->ByteSize() <= size_t{1} << 20);
  RoundTrip(*tensor, options, 0);
  RoundTrip(*tensor, options, tensor->num_elements());
  return 0;
}
