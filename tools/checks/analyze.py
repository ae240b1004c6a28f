#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs clang-tidy, or Clang's thread-safety analysis alone, over our sources. Warnings are errors.

    tools/checks/analyze.py                           # sources that have changed (changed.py), and one that includes each changed header
    tools/checks/analyze.py --all                     # every source
    tools/checks/analyze.py millstream/io cli/main.cc # these files, and those below these folders
    tools/checks/analyze.py --seconds 300             # changed sources, the latest first; begins no batch after so many seconds, and says what it left
    tools/checks/analyze.py --thread-safety --guarded # only the thread-safety analysis, of the sources that it can say something about
    tools/checks/analyze.py --thread-safety --all     # the same of every source

Needs a configured build tree whose generated headers are built (default: build/dev). Sources are read in batches, as cmake/batches.py makes them: most
of the time goes into the headers that they share. A batch that does not compile is read again source by source, so that only errors of the sources
themselves are reported. Findings in generated files do not count.
"""

import argparse
import concurrent.futures
import importlib.util
import os
import pathlib
import re
import subprocess
import sys
import time

import changed
import compile_flags

ROOT = changed.ROOT
BATCH_BYTES = 250_000
MOST_CHANGED = 150  # changed sources that are read; the nightly run reads all
ANNOTATION = re.compile(r"\b(Mutex|MutexLock|(ABSL_)?(PT_)?GUARDED_BY|ABSL_\w*LOCK\w*)\b")
INCLUDE = re.compile(r'^#include "([^"]+)"', re.M)
DIAGNOSTIC = re.compile(r"^(\S+?):(\d+):(\d+): (fatal error|error|warning): ")
# An error that keeps a file from compiling; findings of clang-tidy and of the thread-safety analysis end with the name of their check.
COMPILE_ERROR = re.compile(r": (fatal error: |error: (?!.*\[[\w.,-]+\]$)|error: .*\[clang-diagnostic-error\]$)", re.M)
NOISE = re.compile(r"^(\d+ warnings? (and \d+ errors? )?generated|\d+ warnings? treated as errors?|Suppressed \d+|Use -header-filter|"
                   r"Error while processing|Found compiler error|In file included from)")


def load_batches():
    spec = importlib.util.spec_from_file_location("batches", ROOT / "cmake" / "batches.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def includer(header, sources):
    """A source that shows what is in `header`: its own, or one that includes it."""
    stem = header.removesuffix(".h")
    for name in (f"{stem}.cc", f"{stem}_test.cc"):
        if name in sources:
            return name
    line = f'#include "{header}"'
    return next((name for name in sorted(sources) if line in (ROOT / name).read_text(encoding="utf-8")), None)


def changed_sources(sources):
    chosen = [name if name.endswith(".cc") else includer(name, sources) for name in changed.files() if name.endswith((".cc", ".h"))]
    chosen = [name for name in dict.fromkeys(chosen) if name in sources]
    if len(chosen) > MOST_CHANGED:
        print(f"analyze: {len(chosen)} sources have changed; reading the {MOST_CHANGED} that changed last, `make nightly` reads all")
    return chosen[:MOST_CHANGED]


def guarded_sources(sources):
    """The sources that hold a mutex or include a header with members that one guards."""
    annotated = {}

    def is_annotated(name):
        if name not in annotated:
            path = ROOT / name
            annotated[name] = path.is_file() and ANNOTATION.search(path.read_text(encoding="utf-8")) is not None
        return annotated[name]

    return [name for name in sorted(sources)
            if is_annotated(name) or any(map(is_annotated, INCLUDE.findall((ROOT / name).read_text(encoding="utf-8"))))]


def selected_sources(flags, sources):
    if flags.all:
        return sorted(sources)
    if flags.guarded:
        return guarded_sources(sources)
    if not flags.paths:
        return changed_sources(sources)
    chosen = [name for name in sorted(sources) if any(name == path or name.startswith(path.rstrip("/") + "/") for path in flags.paths)]
    if not chosen:
        sys.exit(f"analyze: no source in {', '.join(flags.paths)} has a compile command")
    return chosen


class Unit:
    """Sources that are read together, in one file that includes them."""

    def __init__(self, path, sources, compiler_flags):
        self.path, self.sources, self.compiler_flags = path, sources, compiler_flags
        self.size = sum(source.size for source in sources)
        lines = (f'#include "{source.path}"\n' + "".join(f"#undef {macro}\n" for macro in sorted(source.macros)) for source in sources)
        path.write_text("".join(lines), encoding="utf-8")

    def alone(self):
        """A unit for each of the sources."""
        return [Unit(self.path.with_name(f"{self.path.stem}_{i}.cc"), [source], self.compiler_flags) for i, source in enumerate(self.sources)]


def write_batches(chosen, sources, folder):
    """Writes one file for each batch of sources with the same flags, and returns the units, the largest first."""
    batches, result = load_batches(), []
    project = batches.Project(ROOT)
    for number, compiler_flags in enumerate(sorted({sources[name] for name in chosen})):
        parsed = [batches.Source(ROOT / name) for name in chosen if sources[name] == compiler_flags]
        groups = [batch.sources for batch in batches.assign(project, [s for s in parsed if not s.alone], {}, BATCH_BYTES).values()]
        for index, group in enumerate([*groups, *([source] for source in parsed if source.alone)]):
            result.append(Unit(folder / f"batch_{number}_{index}.cc", group, compiler_flags))
    return sorted(result, key=lambda unit: -unit.size)


def command(flags, unit):
    if flags.thread_safety:
        return ["clang++", *unit.compiler_flags, "-fsyntax-only", "-Wno-everything", "-Wthread-safety", "-Werror=thread-safety", str(unit.path)]
    warnings = ["-Wthread-safety", "-Wno-unknown-warning-option"]
    return ["clang-tidy", "--quiet", "--checks=-bugprone-suspicious-include", str(unit.path), "--", *unit.compiler_flags, *warnings]


def findings(output):
    """The diagnostics in a tool's output, each with its lines; paths relative to the root."""
    current = None
    for line in output.splitlines():
        line = line.removeprefix(f"{ROOT}/")
        if DIAGNOSTIC.match(line):
            if current:
                yield "\n".join(current)
            current = [line]
        elif current and not NOISE.match(line):
            current.append(line)
    if current:
        yield "\n".join(current)


def counts(finding, build):
    """Whether `finding` is one of ours: not in a generated file, unless that does not compile."""
    return COMPILE_ERROR.search(finding) is not None or not (ROOT / finding.partition(":")[0]).is_relative_to(build)


def latest_first(units, chosen):
    """`units` in the order in which their sources stand in `chosen`."""
    place = {str(ROOT / name): index for index, name in enumerate(chosen)}
    return sorted(units, key=lambda unit: min(place[source.path] for source in unit.sources))


def analyze_in_time(flags, unit, end):
    """The same as analyze(); None if `end` has passed (None: never does)."""
    return None if end is not None and time.monotonic() >= end else analyze(flags, unit)


def analyze(flags, unit):
    """The findings in a unit's sources."""
    done = subprocess.run(command(flags, unit), cwd=ROOT, capture_output=True, text=True, check=False)
    output = done.stdout + done.stderr
    if len(unit.sources) > 1 and COMPILE_ERROR.search(output):
        return [finding for single in unit.alone() for finding in analyze(flags, single)]
    found = list(findings(output))
    if done.returncode != 0 and not found:
        return [f"{unit.path}: {done.args[0]} failed: {output[-2000:]}"]
    return [finding for finding in found if counts(finding, flags.build)]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("paths", nargs="*")
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--guarded", action="store_true")
    parser.add_argument("--thread-safety", action="store_true")
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build" / "dev")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--seconds", type=float)
    flags = parser.parse_args()
    flags.build = flags.build.resolve()
    sources = compile_flags.by_source(flags.build, ROOT)
    chosen = selected_sources(flags, sources)
    folder = flags.build / "analysis"
    folder.mkdir(exist_ok=True)
    batches = write_batches(chosen, sources, folder)
    end = None if flags.seconds is None else time.monotonic() + flags.seconds
    if end is not None:
        batches = latest_first(batches, chosen)
    seen, left = set(), []
    with concurrent.futures.ThreadPoolExecutor(flags.jobs) as pool:
        runs = {pool.submit(analyze_in_time, flags, unit, end): unit for unit in batches}
        for done in concurrent.futures.as_completed(runs):
            found = done.result()
            if found is None:
                left += [os.path.relpath(source.path, ROOT) for source in runs[done].sources]
                continue
            for text in found:
                if text not in seen:
                    print(text, flush=True)
                seen.add(text)
    if left:
        print(f"analyze: {flags.seconds:g} s were over; `make nightly` reads what is left: {' '.join(sorted(left))}")
    print(f"{len(chosen) - len(left)} sources in {len(batches)} batches: {len(seen)} findings")
    return 1 if seen else 0


if __name__ == "__main__":
    sys.exit(main())
