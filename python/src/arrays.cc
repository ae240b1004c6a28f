// SPDX-License-Identifier: Apache-2.0
#include "python/src/arrays.h"

#define NPY_NO_DEPRECATED_API NPY_1_7_API_VERSION
#include <numpy/arrayobject.h>

#include <cstring>
#include <iterator>

#include "millstream/base/mutex.h"
#include "millstream/tensor/shared_region.h"
#include "python/src/errors.h"

namespace nb = nanobind;

namespace millstream::python {
namespace {

// The NumPy types of what NumPy itself does not have (bfloat16, float8, int4); null until Python has told us.
PyArray_Descr* more_descrs[64] = {};
PyArray_Descr*& MoreDescr(DType dtype) { return more_descrs[static_cast<size_t>(dtype) % std::size(more_descrs)]; }

int NumpyType(DType dtype) {
  switch (dtype) {
    case DType::kFloat:
      return NPY_FLOAT32;
    case DType::kDouble:
      return NPY_FLOAT64;
    case DType::kInt32:
    case DType::kQint32:
      return NPY_INT32;
    case DType::kUint8:
    case DType::kQuint8:
      return NPY_UINT8;
    case DType::kInt16:
    case DType::kQint16:
      return NPY_INT16;
    case DType::kInt8:
    case DType::kQint8:
      return NPY_INT8;
    case DType::kString:
      return NPY_OBJECT;
    case DType::kComplex64:
      return NPY_COMPLEX64;
    case DType::kInt64:
      return NPY_INT64;
    case DType::kBool:
      return NPY_BOOL;
    case DType::kUint16:
    case DType::kQuint16:
      return NPY_UINT16;
    case DType::kComplex128:
      return NPY_COMPLEX128;
    case DType::kHalf:
      return NPY_FLOAT16;
    case DType::kUint32:
      return NPY_UINT32;
    case DType::kUint64:
      return NPY_UINT64;
    default:
      return -1;
  }
}

DType FromNumpyType(PyArrayObject* array) {
  const int type = PyArray_TYPE(array);
  if (PyTypeNum_ISINTEGER(type)) {  // long and long long may be the same
    const bool is_signed = PyTypeNum_ISSIGNED(type);
    switch (PyArray_ITEMSIZE(array)) {
      case 1:
        return is_signed ? DType::kInt8 : DType::kUint8;
      case 2:
        return is_signed ? DType::kInt16 : DType::kUint16;
      case 4:
        return is_signed ? DType::kInt32 : DType::kUint32;
      default:
        return is_signed ? DType::kInt64 : DType::kUint64;
    }
  }
  switch (type) {
    case NPY_FLOAT32:
      return DType::kFloat;
    case NPY_FLOAT64:
      return DType::kDouble;
    case NPY_FLOAT16:
      return DType::kHalf;
    case NPY_COMPLEX64:
      return DType::kComplex64;
    case NPY_COMPLEX128:
      return DType::kComplex128;
    case NPY_BOOL:
      return DType::kBool;
    case NPY_OBJECT:
    case NPY_STRING:
    case NPY_UNICODE:
      return DType::kString;
    default:
      break;
  }
  for (size_t i = 0; i < std::size(more_descrs); ++i) {
    if (more_descrs[i] != nullptr && type == more_descrs[i]->type_num) return static_cast<DType>(i);
  }
  return DType::kInvalid;
}

nb::object Steal(PyObject* p) {
  if (p == nullptr) throw nb::python_error();
  return nb::steal(p);
}

void AssignString(PyObject* item, std::string* to) {
  if (PyBytes_Check(item)) {
    to->assign(PyBytes_AS_STRING(item), static_cast<size_t>(PyBytes_GET_SIZE(item)));
    return;
  }
  if (PyUnicode_Check(item)) {
    Py_ssize_t size = 0;
    const char* text = PyUnicode_AsUTF8AndSize(item, &size);
    if (text == nullptr) throw nb::python_error();
    to->assign(text, static_cast<size_t>(size));
    return;
  }
  if (PyByteArray_Check(item)) {
    to->assign(PyByteArray_AS_STRING(item), static_cast<size_t>(PyByteArray_GET_SIZE(item)));
    return;
  }
  throw nb::type_error((std::string("Unsupported object type ") + Py_TYPE(item)->tp_name).c_str());
}

// Elements of an array of strings of any kind, in row-major order.
void CopyStrings(PyArrayObject* array, std::string* to) {
  nb::object flat = Steal(PyObject_GetAttrString(reinterpret_cast<PyObject*>(array), "flat"));
  nb::object it = Steal(PyObject_GetIter(flat.ptr()));
  while (PyObject* item = PyIter_Next(it.ptr())) {
    nb::object owned = nb::steal(item);
    AssignString(item, to++);
  }
  if (PyErr_Occurred()) throw nb::python_error();
}

nb::object StringArray(const Tensor& tensor, const npy_intp* dims) {
  nb::object array = Steal(PyArray_SimpleNew(tensor.rank(), const_cast<npy_intp*>(dims), NPY_OBJECT));
  auto** out = static_cast<PyObject**>(PyArray_DATA(reinterpret_cast<PyArrayObject*>(array.ptr())));
  for (const std::string& s : tensor.flat<std::string>()) {
    PyObject* bytes = PyBytes_FromStringAndSize(s.data(), static_cast<Py_ssize_t>(s.size()));
    if (bytes == nullptr) throw nb::python_error();
    PyObject* old = *out;
    *out++ = bytes;
    Py_XDECREF(old);
  }
  return array;
}

PyArray_Descr* DescrOf(DType dtype) {
  const int type = NumpyType(dtype);
  if (type < 0) {
    PyArray_Descr*& more = MoreDescr(dtype);
    if (more == nullptr) {
      nb::module_::import_("millstream.framework.dtypes").attr("_numpy_type")(static_cast<int>(dtype));
    }
    if (more == nullptr) throw nb::type_error(("NumPy has no type for " + DTypeName(dtype)).c_str());
    Py_INCREF(more);
    return more;
  }
  return PyArray_DescrFromType(type);
}

}  // namespace

Tensor TensorFromArray(nb::handle value, DType dtype) {
  OpaqueTensor* opaque = nullptr;
  if (nb::try_cast<OpaqueTensor*>(value, opaque) && opaque != nullptr) return opaque->tensor;
  nb::object held = nb::borrow(value);
  if (!PyArray_Check(held.ptr())) held = Steal(PyArray_FROM_O(value.ptr()));
  auto* array = reinterpret_cast<PyArrayObject*>(held.ptr());
  if (dtype == DType::kInvalid || dtype == DType::kString) {
    const DType found = FromNumpyType(array);
    if (found == DType::kInvalid || (dtype == DType::kString && found != DType::kString)) {
      throw nb::type_error(("Unsupported numpy type: " + nb::cast<std::string>(nb::str(nb::handle(
                                                             reinterpret_cast<PyObject*>(PyArray_DESCR(array))))))
                               .c_str());
    }
    dtype = found;
  }
  std::vector<int64_t> dims(PyArray_DIMS(array), PyArray_DIMS(array) + PyArray_NDIM(array));
  const Shape shape = Check(Shape::Make(dims));
  Tensor tensor = Check(Tensor::Make(dtype, shape));
  if (dtype == DType::kString) {
    CopyStrings(array, tensor.data<std::string>());
    return tensor;
  }
  PyArray_Descr* descr = DescrOf(dtype);
  if (PyArray_ISCARRAY_RO(array) && PyArray_TYPE(array) == descr->type_num) {
    Py_DECREF(descr);
    std::memcpy(tensor.raw(), PyArray_DATA(array), tensor.ByteSize());
    return tensor;
  }
  // Other layouts and types: into an array over the tensor's memory, as NumPy does it.
  nb::object to = Steal(PyArray_NewFromDescr(&PyArray_Type, descr, PyArray_NDIM(array), PyArray_DIMS(array), nullptr,
                                             tensor.raw(), NPY_ARRAY_CARRAY, nullptr));
  if (PyArray_CopyInto(reinterpret_cast<PyArrayObject*>(to.ptr()), array) != 0) throw nb::python_error();
  return tensor;
}

namespace {

Mutex released_mu;
std::vector<PyObject*>& Released() ABSL_EXCLUSIVE_LOCKS_REQUIRED(released_mu) {
  static auto* list = new std::vector<PyObject*>;
  return *list;
}

}  // namespace

void ReleaseArrays() {
  std::vector<PyObject*> list;
  {
    MutexLock lock(released_mu);
    list.swap(Released());
  }
  for (PyObject* array : list) Py_DECREF(array);
}

Tensor TensorOverArray(nb::handle value, DType dtype) {
  constexpr npy_intp kWorthIt = 32 << 10;  // below, a copy costs less than the bookkeeping
  if (!PyArray_Check(value.ptr())) return TensorFromArray(value, dtype);
  auto* array = reinterpret_cast<PyArrayObject*>(value.ptr());
  if (PyArray_NBYTES(array) < kWorthIt || !PyArray_ISCARRAY_RO(array) || !IsPlainBytes(dtype) ||
      PyArray_TYPE(array) != NumpyType(dtype)) {
    return TensorFromArray(value, dtype);
  }
  std::vector<int64_t> dims(PyArray_DIMS(array), PyArray_DIMS(array) + PyArray_NDIM(array));
  const Shape shape = Check(Shape::Make(dims));
  Py_INCREF(array);
  return Tensor::Wrap(dtype, shape, PyArray_DATA(array), [array] {
    MutexLock lock(released_mu);
    Released().push_back(reinterpret_cast<PyObject*>(array));
  });
}

nb::object ArrayFromTensor(Tensor tensor, bool scalars) {
  const DType dtype = tensor.dtype();
  if (dtype == DType::kResource || dtype == DType::kVariant) return nb::cast(OpaqueTensor{std::move(tensor)});
  if (dtype == DType::kInvalid) return nb::none();
  npy_intp dims[NPY_MAXDIMS];
  if (tensor.rank() > NPY_MAXDIMS) throw nb::value_error("NumPy has no arrays of so many dimensions");
  for (int i = 0; i < tensor.rank(); ++i) dims[i] = static_cast<npy_intp>(tensor.dim(i));
  nb::object array;
  if (dtype == DType::kString) {
    if (scalars && tensor.rank() == 0) {
      const std::string& s = tensor.scalar<std::string>();
      return nb::bytes(s.data(), s.size());
    }
    return StringArray(tensor, dims);
  }
  PyArray_Descr* descr = DescrOf(dtype);
  constexpr size_t kSmall = 512;
  const size_t bytes = tensor.ByteSize();
  // NumPy arrays survive fork(), the shared region does not.
  const SharedRegion* const region = SharedRegion::Get();
  if (bytes <= kSmall || !tensor.RefIsOne() || (region != nullptr && region->Contains(tensor.raw()))) {
    array = Steal(PyArray_NewFromDescr(&PyArray_Type, descr, tensor.rank(), dims, nullptr, nullptr, 0, nullptr));
    std::memcpy(PyArray_DATA(reinterpret_cast<PyArrayObject*>(array.ptr())), tensor.raw(), bytes);
  } else {
    auto owner = std::make_unique<Tensor>(std::move(tensor));
    array = Steal(PyArray_NewFromDescr(&PyArray_Type, descr, owner->rank(), dims, nullptr, owner->raw(),
                                       NPY_ARRAY_CARRAY, nullptr));
    nb::capsule capsule(owner.release(), [](void* p) noexcept { delete static_cast<Tensor*>(p); });
    if (PyArray_SetBaseObject(reinterpret_cast<PyArrayObject*>(array.ptr()), capsule.release().ptr()) != 0) {
      throw nb::python_error();
    }
  }
  if (!scalars) return array;
  return Steal(PyArray_Return(reinterpret_cast<PyArrayObject*>(array.release().ptr())));
}

namespace {

int ImportNumpy() {
  import_array1(-1);
  return 0;
}

}  // namespace

void BindArrays(nb::module_& m) {
  if (ImportNumpy() != 0) throw nb::python_error();
  nb::class_<OpaqueTensor>(m, "OpaqueTensor", "A fetched resource handle or variant; can be fed.")
      .def_prop_ro("dtype", [](const OpaqueTensor& t) { return static_cast<int>(t.tensor.dtype()); })
      .def_prop_ro("shape",
                   [](const OpaqueTensor& t) {
                     nb::list dims;
                     for (int64_t d : t.tensor.shape().dims()) dims.append(d);
                     return nb::tuple(dims);
                   })
      .def("__repr__", [](const OpaqueTensor& t) { return t.tensor.DebugString(); });
  m.def(
      "set_numpy_type",
      [](int number, nb::object dtype) {
        if (!PyArray_DescrCheck(dtype.ptr())) throw nb::type_error("not a dtype");
        if (number <= 0 || number >= static_cast<int>(std::size(more_descrs))) throw nb::value_error("no such type");
        MoreDescr(static_cast<DType>(number)) = reinterpret_cast<PyArray_Descr*>(dtype.release().ptr());
      },
      "Tells the NumPy type of a DataType that NumPy itself does not have.");
  m.def(
      "numpy_type",
      [](nb::handle array) {
        return PyArray_Check(array.ptr())
                   ? static_cast<int>(FromNumpyType(reinterpret_cast<PyArrayObject*>(array.ptr())))
                   : 0;
      },
      "The DataType number of an array's elements; 0 if there is none.");
}

}  // namespace millstream::python
