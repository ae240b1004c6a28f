#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What is too long for every change. Usage: nightly.py [NAME...]   (`make nightly`; all, or these)

Goes on after a failure, prints one table at the end, and ends with status 1 if anything failed. FUZZ_SECONDS (default 600) is for each fuzzer.
"""

import os
import sys

import steps
from steps import Step

HOURS = 3600
STEPS = [
    Step("tidy", "make lint-tools build && tools/checks/analyze.py --all", "clang-tidy and thread-safety analysis of every source"),
    Step("asan", ["make", "asan"], "address and undefined-behaviour sanitizers"),
    Step("fuzz", ["make", "fuzz", f"FUZZ_SECONDS={os.environ.get('FUZZ_SECONDS', '600')}"], "every fuzzer"),
    Step("tsan", ["make", "tsan"], "thread sanitizer"),
    Step("chaos", ["make", "chaos", f"FAULTS={os.environ.get('FAULTS', '300')}"], "faults at random against training jobs"),
    Step("modes", ["make", "modes"], "every training mode with every number of ps tasks and workers"),
    Step("chaos-threads", ["make", "chaos-threads", f"FAULTS={os.environ.get('THREAD_FAULTS', '10000')}"], "faults against jobs of threads, in virtual time"),
    Step("launchers", ["make", "launchers"], "sshd, Slurm, Open MPI, Spark"),
    Step("browser", ["make", "browser"], "the status page in Chromium"),
    Step("wheel", ["make", "wheel"], "the Python wheel, installed and tried"),
    Step("deb", ["make", "deb"], "the Debian package, installed and tried"),
    Step("bench", ["make", "bench"], "benchmarks of this machine"),
]


def main(names):
    return steps.run_all(steps.choose(STEPS, names), steps.ROOT / "build" / "nightly", timeout=4 * HOURS)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
