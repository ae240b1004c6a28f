// SPDX-License-Identifier: Apache-2.0
// What the op registry knows, for wrappers that are made when they are first used.
#include <nanobind/stl/string.h>

#include "millstream/framework/op.h"
#include "millstream/graph/attr_proto.h"
#include "millstream/proto/op_def.pb.h"
#include "python/src/attrs.h"
#include "python/src/errors.h"
#include "python/src/module.h"

namespace nb = nanobind;

namespace millstream::python {
namespace {

// (name, type, type_attr, number_attr, type_list_attr, is_ref)
nb::list Args(const std::vector<ArgDef>& args) {
  nb::list out;
  for (const ArgDef& a : args) {
    out.append(
        nb::make_tuple(a.name, static_cast<int>(a.type), a.type_attr, a.number_attr, a.type_list_attr, a.is_ref));
  }
  return out;
}

// (name, kind, default or None, allowed types)
nb::list AttrDefs(const OpDef& op) {
  nb::list out;
  for (const AttrDef& a : op.attrs) {
    nb::list allowed;
    for (DType t : a.allowed_types) allowed.append(static_cast<int>(t));
    out.append(
        nb::make_tuple(a.name, a.type, a.default_value.empty() ? nb::none() : AttrToPython(a.default_value), allowed));
  }
  return out;
}

nb::object DescribeOp(const std::string& name) {
  const OpEntry* op = OpRegistry::Global().Find(name);
  if (op == nullptr) return nb::none();
  return nb::make_tuple(op->def.name, Args(op->def.inputs), Args(op->def.outputs), AttrDefs(op->def), op->def.stateful,
                        op->def.doc);
}

}  // namespace

void BindRegistry(nb::module_& m) {
  m.def("op_names", [] {
    nb::list names;
    for (const OpEntry* op : OpRegistry::Global().Sorted()) names.append(op->def.name);
    return names;
  });
  m.def("describe_op", &DescribeOp, "(name, inputs, outputs, attrs, stateful, doc), or None.");
  m.def(
      "op_def",
      [](const std::string& name) {
        proto::OpDef def;
        Check(OpDefToProto(Check(OpRegistry::Global().Lookup(name))->def, &def));
        const std::string bytes = def.SerializeAsString();
        return nb::bytes(bytes.data(), bytes.size());
      },
      "A serialized OpDef.");
  m.def("has_gradient", [](const std::string& name) {
    const OpEntry* op = OpRegistry::Global().Find(name);
    return op != nullptr && op->grad != nullptr;
  });
}

}  // namespace millstream::python
