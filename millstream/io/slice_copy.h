// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_IO_SLICE_COPY_H_
#define MILLSTREAM_IO_SLICE_COPY_H_

#include "millstream/io/bundle_key.h"
#include "millstream/tensor/tensor.h"

namespace millstream {

namespace proto {
class TensorSliceProto;
}  // namespace proto

TensorSlice SliceFromProto(const proto::TensorSliceProto& proto);
void SliceToProto(const TensorSlice& slice, proto::TensorSliceProto* proto);

// All of a tensor of this shape.
TensorSlice FullSlice(const Shape& shape);

// Copies the overlap of two parts of one tensor of shape `full`; returns its number of elements.
// REQUIRES: both slices fit `full`, `from` and `to` have their shapes and the same type.
int64_t CopyOverlap(const Shape& full, const TensorSlice& from_slice, const Tensor& from, const TensorSlice& to_slice,
                    Tensor* to);

}  // namespace millstream

#endif  // MILLSTREAM_IO_SLICE_COPY_H_
