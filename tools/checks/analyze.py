#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs clang-tidy, or Clang's thread-safety analysis alone, over our sources. Warnings are errors.

    tools/checks/analyze.py                           # sources that have changed (changed.py), and one that includes each changed header
    tools/checks/analyze.py --all                     # every source
    tools/checks/analyze.py millstream/io cli/main.cc # these files, and those below these folders
    tools/checks/analyze.py --thread-safety --all     # only the thread-safety analysis, which takes a fifth of the time

Needs a configured build tree whose generated headers are built (default: build/dev). Sources are read in batches, as cmake/batches.py makes them: most
of the time goes into the headers that they share.
"""

import argparse
import concurrent.futures
import importlib.util
import json
import os
import pathlib
import re
import subprocess
import sys

import changed
import compile_flags

ROOT = changed.ROOT
BATCH_BYTES = 250_000
MOST_CHANGED = 150  # changed sources that are read; the nightly run reads all
DIAGNOSTIC = re.compile(r"^(\S+?):(\d+):(\d+): (fatal error|error|warning): ")
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


def selected_sources(flags, sources):
    if flags.all:
        return sorted(sources)
    if not flags.paths:
        return changed_sources(sources)
    chosen = [name for name in sorted(sources) if any(name == path or name.startswith(path.rstrip("/") + "/") for path in flags.paths)]
    if not chosen:
        sys.exit(f"analyze: no source in {', '.join(flags.paths)} has a compile command")
    return chosen


def write_batches(chosen, sources, folder):
    """Writes one file for each batch of sources with the same flags, and returns [(file, flags)], the largest first."""
    batches, result = load_batches(), []
    project = batches.Project(ROOT)
    for number, compiler_flags in enumerate(sorted({sources[name] for name in chosen})):
        parsed = [batches.Source(ROOT / name) for name in chosen if sources[name] == compiler_flags]
        groups = [batch.sources for batch in batches.assign(project, [s for s in parsed if not s.alone], {}, BATCH_BYTES).values()]
        for index, group in enumerate([*groups, *([source] for source in parsed if source.alone)]):
            text = "".join(f'#include "{source.path}"\n' + "".join(f"#undef {macro}\n" for macro in sorted(source.macros)) for source in group)
            path = folder / f"batch_{number}_{index}.cc"
            path.write_text(text, encoding="utf-8")
            result.append((path, compiler_flags, sum(source.size for source in group)))
    return [(path, compiler_flags) for path, compiler_flags, _ in sorted(result, key=lambda item: -item[2])]


def write_commands(batches, folder):
    warnings = ["-Wthread-safety", "-Wno-unknown-warning-option"]
    entries = [{"directory": str(ROOT), "file": str(path), "arguments": ["clang++", *flags, *warnings, "-c", str(path)]} for path, flags in batches]
    (folder / "compile_commands.json").write_text(json.dumps(entries), encoding="utf-8")


def command(flags, path, compiler_flags, folder):
    if flags.thread_safety:
        return ["clang++", *compiler_flags, "-fsyntax-only", "-Wno-everything", "-Wthread-safety", "-Werror=thread-safety", str(path)]
    return ["clang-tidy", "-p", str(folder), "--quiet", "--checks=-bugprone-suspicious-include", str(path)]


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


def run(arguments):
    return subprocess.run(arguments, cwd=ROOT, capture_output=True, text=True, check=False)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("paths", nargs="*")
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--thread-safety", action="store_true")
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build" / "dev")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    flags = parser.parse_args()
    sources = compile_flags.by_source(flags.build.resolve(), ROOT)
    chosen = selected_sources(flags, sources)
    folder = flags.build.resolve() / "analysis"
    folder.mkdir(exist_ok=True)
    batches = write_batches(chosen, sources, folder)
    write_commands(batches, folder)
    seen, failed = set(), False
    with concurrent.futures.ThreadPoolExecutor(flags.jobs) as pool:
        runs = [pool.submit(run, command(flags, path, compiler_flags, folder)) for path, compiler_flags in batches]
        for done in concurrent.futures.as_completed(runs):
            result = done.result()
            found = list(findings(result.stdout + result.stderr))
            for text in found:
                if text not in seen:
                    print(text, flush=True)
                seen.add(text)
            if result.returncode != 0 and not found:
                print(result.stderr[-2000:])
            failed |= result.returncode != 0
    print(f"{len(chosen)} sources in {len(batches)} batches: {len(seen)} findings")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
