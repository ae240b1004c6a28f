// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_DISTRIBUTED_WIRE_WIRE_TENSOR_H_
#define MILLSTREAM_DISTRIBUTED_WIRE_WIRE_TENSOR_H_

#include <cstdint>
#include <string>

#include "millstream/base/varint.h"
#include "millstream/tensor/tensor.h"

namespace millstream {

// Tensors in frames. Small ones are copied into the body, so that many share a frame; the memory of large ones is the
// frame's payload and is never copied here.
//
//   byte kind; then for plain types: byte dtype, byte rank, varint sizes, and for kInline the elements;
//   for strings and handles: varint length and a TensorProto (kProto), or that message as the payload (kProtoPayload)

inline constexpr size_t kInlineTensorBytes = 4096;

// Appends the value to `body`; `payload` is set for large ones only. A null `tensor` is a dead value.
Status EncodeTensor(const Tensor* tensor, std::string* body, Tensor* payload);

// Appends the number and the value to `body`, which several share; a large value goes to `*own_body` and `*payload`,
// for a frame of its own, instead.
Status EncodeNumbered(uint64_t number, const Tensor& tensor, std::string* body, std::string* own_body, Tensor* payload);

// The memory for the payload that the (not trusted) value at the front of `body` announces. InvalidArgument if it does
// not fit `bytes`, ResourceExhausted beyond `max_bytes`.
StatusOr<Tensor> AllocatePayload(absl::string_view body, uint64_t bytes, int64_t max_bytes);

// The same value over `memory` (of bytes, read-only), which belongs to a task of this user. Numbers with a fraction are
// left there. Others are copied: what is checked of them (an index, a bool) must not change behind the check.
StatusOr<Tensor> BorrowPayload(absl::string_view body, const Tensor& memory, int64_t max_bytes);

// Takes one value from the front of `body`. `*dead` tells a dead value from a tensor. InvalidArgument if malformed.
Status DecodeTensor(absl::string_view* body, Tensor payload, int64_t max_bytes, Tensor* tensor, bool* dead);

// Bytes after their length (base/varint.h), for whatever stands beside tensors in a body.
void AppendBytes(absl::string_view bytes, std::string* body);
bool ConsumeBytes(absl::string_view* body, absl::string_view* bytes);

}  // namespace millstream

#endif  // MILLSTREAM_DISTRIBUTED_WIRE_WIRE_TENSOR_H_
