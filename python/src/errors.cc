// SPDX-License-Identifier: Apache-2.0
#include "python/src/errors.h"

#include <optional>

namespace nb = nanobind;

namespace millstream::python {
namespace {

// Makes an exception of (code, message). Leaked: it is used until the interpreter is gone.
PyObject* error_maker = nullptr;

thread_local std::optional<nb::python_error> pending;

}  // namespace

Status FromPythonError(nb::python_error& error) {
  const std::string message = error.what();
  pending.emplace(std::move(error));
  return errors::Internal("Python: ", message);
}

void CheckOrRaise(const Status& status) {
  if (!pending.has_value()) return Check(status);
  nb::python_error error = *std::move(pending);
  pending.reset();
  if (status.ok()) return;
  throw error;
}

void BindErrors(nb::module_& m) {
  m.def(
      "set_error_maker", [](nb::object maker) { error_maker = maker.release().ptr(); },
      "The function that turns (code, message) into an exception.");
  nb::register_exception_translator([](const std::exception_ptr& p, void*) {
    try {
      std::rethrow_exception(p);
    } catch (const StatusError& e) {
      const std::string message(e.status().message());
      if (error_maker == nullptr) {
        PyErr_SetString(PyExc_RuntimeError, message.c_str());
        return;
      }
      PyObject* text = PyUnicode_DecodeUTF8(message.data(), static_cast<Py_ssize_t>(message.size()), "replace");
      PyObject* made = text == nullptr
                           ? nullptr
                           : PyObject_CallFunction(error_maker, "iN", static_cast<int>(e.status().code()), text);
      if (made == nullptr) return;
      PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(made)), made);
      Py_DECREF(made);
    }
  });
}

}  // namespace millstream::python
