// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_PYTHON_SRC_ERRORS_H_
#define MILLSTREAM_PYTHON_SRC_ERRORS_H_

#include <nanobind/nanobind.h>

#include "millstream/base/status.h"

namespace millstream::python {

// An error on its way to Python, where it becomes the exception that set_error_class() was told to make.
class StatusError : public std::exception {
 public:
  explicit StatusError(Status status) : status_(std::move(status)), what_(status_.message()) {}
  const Status& status() const { return status_; }
  const char* what() const noexcept override { return what_.c_str(); }

 private:
  Status status_;
  std::string what_;
};

inline void Check(const Status& status) {
  if (!status.ok()) [[unlikely]]
    throw StatusError(status);
}

template <typename T>
T Check(StatusOr<T> value) {
  if (!value.ok()) [[unlikely]]
    throw StatusError(value.status());
  return *std::move(value);
}

// A Python exception as a status whose message names it, for callbacks that were called from C++. The exception itself
// is kept for the thread and raised again by Check() of the call around it (see TakePending()).
Status FromPythonError(nanobind::python_error& error);
// Raises the exception that a callback of this thread left, if any; otherwise does what Check() does.
void CheckOrRaise(const Status& status);

void BindErrors(nanobind::module_& m);

}  // namespace millstream::python

#endif  // MILLSTREAM_PYTHON_SRC_ERRORS_H_
