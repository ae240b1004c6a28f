// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_PYTHON_SRC_ATTRS_H_
#define MILLSTREAM_PYTHON_SRC_ATTRS_H_

#include <nanobind/nanobind.h>

#include "millstream/framework/op_def.h"

namespace millstream::python {

// Attribute values from and to Python. A type is its DataType number, a shape None or a list of sizes (-1: unknown), a
// tensor a NumPy array or a serialized TensorProto, a function its name or (name, {attr: (kind, value)}), a string str
// or bytes.

// A bytearray is a serialized AttrValue message, whatever the kind.
// `kind` is that of the op's definition: "int", "list(shape)", ... Throws TypeError if the value does not fit.
AttrValue AttrFromPython(nanobind::handle value, const std::string& kind);
// The value of an attribute that the op does not declare: its kind is told by its Python type.
AttrValue UndeclaredAttrFromPython(nanobind::handle value);
// (kind, value)
nanobind::object AttrToPython(const AttrValue& value);

nanobind::object ShapeToPython(const PartialShape& shape);
PartialShape ShapeFromPython(nanobind::handle dims);

}  // namespace millstream::python

#endif  // MILLSTREAM_PYTHON_SRC_ATTRS_H_
