// SPDX-License-Identifier: Apache-2.0
#include "python/src/exit_deadline.h"

#include <nanobind/nanobind.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <thread>

#include "python/src/interrupt.h"
#include "python/src/module.h"

namespace nb = nanobind;

namespace millstream::python {
namespace {

std::atomic<bool> set{false};
std::atomic<int> held{0};
std::atomic<std::chrono::steady_clock::time_point> held_since{};

}  // namespace

void ExitAfter(std::chrono::milliseconds time, int status) {
  if (set.exchange(true)) return;
  std::thread([time, status] {
    std::this_thread::sleep_for(time);
    while (held.load() > 0) std::this_thread::sleep_for(std::chrono::milliseconds(20));
    std::fprintf(stderr, "millstream: this program was told to stop, and has not ended within %.0f s: it ends now\n",
                 static_cast<double>(time.count()) / 1000.0);
    std::fflush(nullptr);
    _exit(status);
  }).detach();  // lives as long as the process
}

void HoldExit() {
  held_since = std::chrono::steady_clock::now();
  ++held;
}
void ReleaseExit() { --held; }

bool ExitWasJustHeld() {
  return held.load() > 0 && std::chrono::steady_clock::now() - held_since.load() < std::chrono::seconds(1);
}

void BindStopping(nb::module_& m) {
  m.def("watch_signal", &WatchSignal, nb::arg("number"),
        "A signal whose Python handler was just set interrupts steps like Ctrl-C.");
  m.def(
      "exit_after",
      [](double seconds, int status) {
        ExitAfter(std::chrono::milliseconds(static_cast<int64_t>(seconds * 1000)), status);
      },
      nb::arg("seconds"), nb::arg("status"), "Ends the process then, unless hold_exit() was called.");
  m.def("hold_exit", &HoldExit);
  m.def("release_exit", &ReleaseExit);
}

}  // namespace millstream::python
