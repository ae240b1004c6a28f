// SPDX-License-Identifier: Apache-2.0
#include "python/src/gil.h"

#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <thread>

namespace nb = nanobind;

namespace millstream::python {
namespace {

std::atomic<bool> exiting{false};
// Threads between asking for the GIL and having it, and those of ours that run Python code.
std::atomic<int> busy{0};

// Threads that are in C++ without the GIL.
std::atomic<int> outside{0};

unsigned long main_thread_ident = 0;  // set when the module is imported

// Runs after Python and before the destructors of static objects, which steps of other threads may still use.
void LeaveAtOnce(int status, void*) {
  if (outside.load() == 0) return;
  std::fflush(nullptr);
  _exit(status);
}

[[noreturn]] void StayHere() {
  for (;;) pause();
}

}  // namespace

bool IsMainThread() { return PyThread_get_thread_ident() == main_thread_ident; }

ReleaseGil::ReleaseGil() : state_(PyEval_SaveThread()) { outside.fetch_add(1); }

ReleaseGil::~ReleaseGil() {
  busy.fetch_add(1);
  if (exiting.load() && !IsMainThread()) {
    busy.fetch_sub(1);
    StayHere();
  }
  PyEval_RestoreThread(state_);
  outside.fetch_sub(1);
  busy.fetch_sub(1);
}

AcquireGil::AcquireGil() {
  busy.fetch_add(1);
  if (exiting.load() || !Py_IsInitialized()) {
    busy.fetch_sub(1);
    return;
  }
  state_ = PyGILState_Ensure();
  ok_ = true;
}

AcquireGil::~AcquireGil() {
  if (!ok_) return;
  PyGILState_Release(state_);
  busy.fetch_sub(1);
}

void BeginExit() {
  if (exiting.exchange(true)) return;
  // Those that have asked already get the GIL now; Python functions that steps call get a moment to end.
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(2);
  nb::gil_scoped_release release;
  while (busy.load() > 0 && std::chrono::steady_clock::now() < deadline) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

void BindExit(nb::module_& m) {
  main_thread_ident = nb::cast<unsigned long>(nb::module_::import_("threading").attr("main_thread")().attr("ident"));
  on_exit(LeaveAtOnce, nullptr);
  m.def("begin_exit", &BeginExit, "Threads that run steps stop where they are: the interpreter is about to end.");
  nb::module_::import_("atexit").attr("register")(m.attr("begin_exit"));
}

}  // namespace millstream::python
