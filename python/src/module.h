// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_PYTHON_SRC_MODULE_H_
#define MILLSTREAM_PYTHON_SRC_MODULE_H_

#include <nanobind/nanobind.h>

namespace millstream::python {

void BindRegistry(nanobind::module_& m);
void BindSession(nanobind::module_& m);
void BindServer(nanobind::module_& m);
void BindStopping(nanobind::module_& m);
void BindPyFunc(nanobind::module_& m);
void BindFiles(nanobind::module_& m);
void BindRanks(nanobind::module_& m);

}  // namespace millstream::python

#endif  // MILLSTREAM_PYTHON_SRC_MODULE_H_
