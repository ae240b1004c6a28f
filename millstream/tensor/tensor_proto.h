// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_TENSOR_TENSOR_PROTO_H_
#define MILLSTREAM_TENSOR_TENSOR_PROTO_H_

#include <cstdint>

#include "millstream/tensor/tensor.h"

namespace millstream {

namespace proto {
class TensorProto;
class TensorShapeProto;
}  // namespace proto

// Tensors and shapes to and from TensorFlow's messages. What comes in is not trusted: everything is checked before
// memory is taken, because a message of a few bytes can describe a tensor of any size (one value stands for all
// elements).

struct TensorDecodeOptions {
  // The most one tensor may take in memory, its strings included. ResourceExhausted beyond it.
  int64_t max_bytes = int64_t{2} << 30;
  // What all tensors of one message may still take: decreased by each; null for no common limit.
  int64_t* budget = nullptr;
};

struct TensorEncodeOptions {
  // Numeric tensors of up to this many elements go into *_val fields (readable text), larger ones into tensor_content.
  int64_t max_values = 0;
};

// The type with this number in the DataType enum; kInvalid if we have none.
DType DTypeFromProto(int number);

// InvalidArgument: unknown or reference type; bad shape; content or values that do not fit it. ResourceExhausted: too
// large. Unimplemented: variants without a codec. No values at all means zeros (or empty strings), fewer values
// than elements repeat the last one. `version_number` is ignored.
StatusOr<Tensor> TensorFromProto(const proto::TensorProto& proto, const TensorDecodeOptions& options = {});
// Replaces what `proto` holds. InvalidArgument for a tensor without type, or of 2 GiB and more, which no message can
// carry; Unimplemented for variants without a codec.
Status TensorToProto(const Tensor& tensor, proto::TensorProto* proto, const TensorEncodeOptions& options = {});

// InvalidArgument if anything is unknown, negative or overflows.
StatusOr<Shape> ShapeFromProto(const proto::TensorShapeProto& proto);
// Unknown rank and sizes of -1 are fine here.
StatusOr<PartialShape> PartialShapeFromProto(const proto::TensorShapeProto& proto);
void ShapeToProto(const Shape& shape, proto::TensorShapeProto* proto);
void ShapeToProto(const PartialShape& shape, proto::TensorShapeProto* proto);

}  // namespace millstream

#endif  // MILLSTREAM_TENSOR_TENSOR_PROTO_H_
