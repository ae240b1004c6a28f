// SPDX-License-Identifier: Apache-2.0
#include "python/src/attrs.h"

#include <nanobind/stl/string.h>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "millstream/graph/attr_proto.h"
#include "millstream/proto/attr_value.pb.h"
#include "millstream/proto/tensor.pb.h"
#include "python/src/arrays.h"
#include "python/src/errors.h"

namespace nb = nanobind;

namespace millstream::python {
namespace {

[[noreturn]] void Mismatch(nb::handle value, absl::string_view kind) {
  throw nb::type_error(
      absl::StrCat("Expected ", kind, ", not ", nb::repr(value).c_str(), " of type ", nb::inst_name(value).c_str())
          .c_str());
}

int64_t IntFrom(nb::handle value) {
  PyObject* index = PyNumber_Index(value.ptr());
  if (index == nullptr) throw nb::python_error();
  nb::object held = nb::steal(index);
  const int64_t result = PyLong_AsLongLong(index);
  if (result == -1 && PyErr_Occurred()) throw nb::python_error();
  return result;
}

float FloatFrom(nb::handle value) {
  const double d = PyFloat_AsDouble(value.ptr());
  if (d == -1 && PyErr_Occurred()) throw nb::python_error();
  return static_cast<float>(d);
}

bool BoolFrom(nb::handle value) {
  const int truth = PyObject_IsTrue(value.ptr());
  if (truth < 0) throw nb::python_error();
  return truth != 0;
}

std::string StringFrom(nb::handle value) {
  if (PyBytes_Check(value.ptr())) {
    return std::string(PyBytes_AS_STRING(value.ptr()), static_cast<size_t>(PyBytes_GET_SIZE(value.ptr())));
  }
  if (!PyUnicode_Check(value.ptr())) Mismatch(value, "a string");
  Py_ssize_t size = 0;
  const char* text = PyUnicode_AsUTF8AndSize(value.ptr(), &size);
  if (text == nullptr) throw nb::python_error();
  return std::string(text, static_cast<size_t>(size));
}

Tensor TensorFrom(nb::handle value) {
  if (!PyBytes_Check(value.ptr())) return TensorFromArray(value);
  proto::TensorProto proto;
  if (!proto.ParseFromArray(PyBytes_AS_STRING(value.ptr()), static_cast<int>(PyBytes_GET_SIZE(value.ptr())))) {
    throw nb::value_error("not a serialized TensorProto");
  }
  return Check(TensorFromProto(proto));
}

NameAttrList FuncFrom(nb::handle value) {
  NameAttrList func;
  if (!nb::isinstance<nb::tuple>(value)) {
    func.name = StringFrom(value);
    return func;
  }
  func.name = StringFrom(value[0]);
  for (auto [name, attr] : nb::cast<nb::dict>(value[1])) {
    func.attrs.emplace_back(StringFrom(name), AttrFromPython(attr[1], StringFrom(attr[0])));
  }
  return func;
}

template <typename T, typename From>
std::vector<T> ListFrom(nb::handle value, From from) {
  std::vector<T> list;
  for (nb::handle item : nb::iter(value)) list.push_back(from(item));
  return list;
}

DType DTypeFrom(nb::handle value) { return static_cast<DType>(IntFrom(value)); }

AttrValue AttrListFromPython(nb::handle value, absl::string_view kind) {
  if (PyUnicode_Check(value.ptr()) || PyBytes_Check(value.ptr())) Mismatch(value, kind);
  if (kind == "list(int)") return ListFrom<int64_t>(value, IntFrom);
  if (kind == "list(float)") return ListFrom<float>(value, FloatFrom);
  if (kind == "list(bool)") return ListFrom<bool>(value, BoolFrom);
  if (kind == "list(string)") return ListFrom<std::string>(value, StringFrom);
  if (kind == "list(type)") return ListFrom<DType>(value, DTypeFrom);
  if (kind == "list(shape)") return ListFrom<PartialShape>(value, ShapeFromPython);
  if (kind == "list(tensor)") return ListFrom<Tensor>(value, TensorFrom);
  if (kind == "list(func)") return ListFrom<NameAttrList>(value, FuncFrom);
  if (kind == "list()") return AttrValue::EmptyList{};
  Mismatch(value, kind);
}

template <typename T, typename To>
nb::object ListTo(const std::vector<T>& values, To to) {
  nb::list list;
  for (const auto& v : values) list.append(to(v));
  return list;
}

nb::object FuncTo(const NameAttrList& func) {
  nb::dict attrs;
  for (const auto& [name, value] : func.attrs) attrs[name.c_str()] = AttrToPython(value);
  return nb::make_tuple(func.name, attrs);
}

nb::object BytesTo(const std::string& s) { return nb::bytes(s.data(), s.size()); }
nb::object IntTo(int64_t v) { return nb::int_(v); }
nb::object FloatTo(float v) { return nb::float_(v); }
nb::object BoolTo(bool v) { return nb::bool_(v); }
nb::object TypeTo(DType v) { return nb::int_(static_cast<int>(v)); }
nb::object TensorTo(const Tensor& t) {
  proto::TensorProto proto;
  Check(TensorToProto(t, &proto));
  return BytesTo(proto.SerializeAsString());
}

}  // namespace

PartialShape ShapeFromPython(nb::handle dims) {
  if (dims.is_none()) return PartialShape();
  return Check(PartialShape::Make(ListFrom<int64_t>(dims, IntFrom)));
}

nb::object ShapeToPython(const PartialShape& shape) {
  if (!shape.rank_known()) return nb::none();
  nb::list dims;
  for (int64_t d : shape.dims()) dims.append(d);
  return dims;
}

namespace {

AttrValue AttrFromMessage(nb::handle bytes) {
  proto::AttrValue proto;
  if (!proto.ParseFromArray(PyByteArray_AS_STRING(bytes.ptr()), static_cast<int>(PyByteArray_GET_SIZE(bytes.ptr())))) {
    throw nb::value_error("not a serialized AttrValue");
  }
  return Check(AttrFromProto(proto));
}

}  // namespace

AttrValue AttrFromPython(nb::handle value, const std::string& kind) {
  if (PyByteArray_Check(value.ptr())) return AttrFromMessage(value);
  if (kind == "int") return IntFrom(value);
  if (kind == "float") return FloatFrom(value);
  if (kind == "bool") return BoolFrom(value);
  if (kind == "string") return StringFrom(value);
  if (kind == "type") return DTypeFrom(value);
  if (kind == "shape") return ShapeFromPython(value);
  if (kind == "tensor") return TensorFrom(value);
  if (kind == "func") return FuncFrom(value);
  return AttrListFromPython(value, kind);
}

AttrValue UndeclaredAttrFromPython(nb::handle value) {
  if (PyByteArray_Check(value.ptr())) return AttrFromMessage(value);
  if (PyBytes_Check(value.ptr())) return StringFrom(value);
  if (PyBool_Check(value.ptr())) return BoolFrom(value);
  if (PyLong_Check(value.ptr())) return IntFrom(value);
  if (PyFloat_Check(value.ptr())) return FloatFrom(value);
  if (PyUnicode_Check(value.ptr())) return StringFrom(value);
  if (nb::isinstance<nb::list>(value)) {
    if (nb::len(value) == 0) return AttrValue::EmptyList{};
    nb::object first = value[0];
    if (PyBool_Check(first.ptr())) return AttrListFromPython(value, "list(bool)");
    if (PyLong_Check(first.ptr())) return AttrListFromPython(value, "list(int)");
    if (PyFloat_Check(first.ptr())) return AttrListFromPython(value, "list(float)");
    return AttrListFromPython(value, "list(string)");
  }
  Mismatch(value, "an attribute value");
}

nb::object AttrToPython(const AttrValue& value) {
  nb::object out = nb::none();
  if (auto* v = value.get<bool>())
    out = BoolTo(*v);
  else if (auto* v = value.get<int64_t>())
    out = IntTo(*v);
  else if (auto* v = value.get<float>())
    out = FloatTo(*v);
  else if (auto* v = value.get<DType>())
    out = TypeTo(*v);
  else if (auto* v = value.get<std::string>())
    out = BytesTo(*v);
  else if (auto* v = value.get<PartialShape>())
    out = ShapeToPython(*v);
  else if (auto* v = value.get<Tensor>())
    out = TensorTo(*v);
  else if (auto* v = value.get<NameAttrList>())
    out = FuncTo(*v);
  else if (auto* v = value.get<AttrValue::Ints>())
    out = ListTo(*v, IntTo);
  else if (auto* v = value.get<AttrValue::Strings>())
    out = ListTo(*v, BytesTo);
  else if (auto* v = value.get<AttrValue::Floats>())
    out = ListTo(*v, FloatTo);
  else if (auto* v = value.get<AttrValue::Bools>())
    out = ListTo(*v, BoolTo);
  else if (auto* v = value.get<AttrValue::DTypes>())
    out = ListTo(*v, TypeTo);
  else if (auto* v = value.get<AttrValue::Shapes>())
    out = ListTo(*v, ShapeToPython);
  else if (auto* v = value.get<AttrValue::Tensors>())
    out = ListTo(*v, TensorTo);
  else if (auto* v = value.get<AttrValue::Funcs>())
    out = ListTo(*v, FuncTo);
  else if (auto* v = value.get<AttrValue::Placeholder>())
    out = nb::str(v->name.c_str());
  return nb::make_tuple(value.kind(), out);
}

}  // namespace millstream::python
