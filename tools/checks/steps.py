# SPDX-License-Identifier: Apache-2.0
"""Runs named commands one after the other, also after one has failed, and prints one table of how they went."""

import dataclasses
import os
import pathlib
import signal
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
SHOWN_LINES = 60  # of the log of a step that failed


@dataclasses.dataclass
class Step:
    name: str
    command: list  # or a string for the shell
    about: str = ""


@dataclasses.dataclass
class Outcome:
    name: str
    result: str  # "ok", or what went wrong
    seconds: float
    log: pathlib.Path


def run_step(step, folder, timeout=None):
    log = folder / f"{step.name}.log"
    start = time.monotonic()
    try:
        result = _run(step.command, log, timeout)
    except OSError as error:
        result = f"failed ({error.strerror}: {error.filename})"
    return Outcome(step.name, result, time.monotonic() - start, log)


def _run(command, log, timeout):
    with open(log, "wb") as out:
        process = subprocess.Popen(command, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT, shell=isinstance(command, str),
                                   start_new_session=True)
        try:
            status = process.wait(timeout)
        except subprocess.TimeoutExpired:
            return f"stopped after {timeout:.0f} s"
        finally:
            if process.poll() is None:  # it, and what it has started
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
    return "ok" if status == 0 else f"failed ({status})"


def table(outcomes):
    rows = [("name", "result", "minutes", "log")]
    rows += [(o.name, o.result, f"{o.seconds / 60:.1f}", str(o.log.relative_to(ROOT) if o.log.is_relative_to(ROOT) else o.log)) for o in outcomes]
    widths = [max(len(row[i]) for row in rows) for i in range(4)]
    return "\n".join("  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in rows)


def show_end(outcome):
    lines = outcome.log.read_text(encoding="utf-8", errors="replace").splitlines()
    if len(lines) > SHOWN_LINES:
        print(f"... (all of it: {outcome.log})")
    print("\n".join(lines[-SHOWN_LINES:]), flush=True)


def run_all(steps, folder, timeout=None):
    """Logs go to `folder`. Returns 0 if every step ended well, else 1."""
    folder.mkdir(parents=True, exist_ok=True)
    outcomes = []
    for step in steps:
        print(f"== {step.name}", flush=True)
        outcome = run_step(step, folder, timeout)
        outcomes.append(outcome)
        if outcome.result != "ok":
            show_end(outcome)
            print(f"== {step.name}: {outcome.result}", flush=True)
    print("\n" + table(outcomes), flush=True)
    return 0 if all(outcome.result == "ok" for outcome in outcomes) else 1


def choose(steps, names):
    """Those of `names`, in the order of `steps`; all without names. Ends the program for an unknown one."""
    unknown = sorted(set(names) - {step.name for step in steps})
    if unknown:
        sys.exit(f"unknown: {', '.join(unknown)} (there are {', '.join(step.name for step in steps)})")
    return [step for step in steps if not names or step.name in names]
