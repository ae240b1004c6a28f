// SPDX-License-Identifier: Apache-2.0
// millstream._core: what the Python package needs of the C++ library.
#include "python/src/module.h"

#include "python/src/arrays.h"
#include "python/src/errors.h"
#include "python/src/gil.h"
#include "python/src/graph.h"

NB_MODULE(_core, m) {
  using namespace millstream::python;
  nanobind::set_leak_warnings(false);  // sessions that live until the interpreter ends are the rule
  BindExit(m);
  BindErrors(m);
  BindArrays(m);
  BindRegistry(m);
  BindGraph(m);
  BindSession(m);
  BindServer(m);
  BindStopping(m);
  BindPyFunc(m);
  BindFiles(m);
  BindRanks(m);
}
