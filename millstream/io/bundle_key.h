// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_IO_BUNDLE_KEY_H_
#define MILLSTREAM_IO_BUNDLE_KEY_H_

#include <string>
#include <vector>

#include "millstream/tensor/shape.h"

namespace millstream {

// A part of a tensor: start and length along each dimension; length -1 means the whole dimension.
struct TensorSlice {
  struct Extent {
    int64_t start = 0;
    int64_t length = -1;
    friend bool operator==(const Extent&, const Extent&) = default;
  };
  std::vector<Extent> extents;

  bool IsFull() const;
  // The slice's own shape within `full`. InvalidArgument if it does not fit.
  StatusOr<Shape> ShapeIn(const Shape& full) const;
  friend bool operator==(const TensorSlice&, const TensorSlice&) = default;
};

// Parses SaveV2's "shape_and_slice": "" (the whole tensor), or "4 10 0,2:-" (full shape, then start,length or - for
// each dimension). InvalidArgument if malformed.
Status ParseShapeAndSlice(const std::string& text, Shape* full, TensorSlice* slice, Shape* slice_shape);

// The key under which a slice of a tensor is stored in a checkpoint (docs/formats/bundle.md).
std::string SliceKey(const std::string& name, const TensorSlice& slice);

}  // namespace millstream

#endif  // MILLSTREAM_IO_BUNDLE_KEY_H_
