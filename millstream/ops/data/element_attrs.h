// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_OPS_DATA_ELEMENT_ATTRS_H_
#define MILLSTREAM_OPS_DATA_ELEMENT_ATTRS_H_

#include "millstream/framework/op.h"

namespace millstream {

// Attributes that say what the elements of a dataset or an iterator are, for OP(...).With(ElementAttrs).
inline void ElementAttrs(OpBuilder& op) {
  op.Attr("output_types: list(type) >= 1").Attr("output_shapes: list(shape) >= 1");
}

}  // namespace millstream

#endif  // MILLSTREAM_OPS_DATA_ELEMENT_ATTRS_H_
