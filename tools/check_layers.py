#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks which folders include which: the table below is the design, and this script keeps it so. Also: ops that open files ask first.

Tests and their helpers (testing/) may include everything: running an op needs a session, which is above it.
"""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent

# A folder may include what its row names and what those may include.
MAY_INCLUDE = {
    "proto": [],
    "base": [],
    "math": ["base"],
    "tensor": ["base", "proto"],
    "framework": ["tensor"],
    "graph": ["framework"],
    "io": ["tensor"],
    "data": ["io", "math"],
    "ops": ["graph", "data", "math"],
    "runtime": ["graph"],
    "collective": ["framework"],
    "distributed": ["runtime", "collective"],
    "train": ["graph", "io"],
    "launch": ["distributed"],
}
# Single headers beyond the table.
MAY_ALSO_INCLUDE = {
    "train": ["millstream/runtime/session.h", "millstream/runtime/job_member.h", "millstream/runtime/chrome_trace.h"],
}
OUTER_FOLDERS = ["cli", "python", "bench", "examples", "tests"]  # may include everything

# Ops that name one of these must ask CheckFileAccess or CheckPatternAccess first (base/file_root.h).
OPENS_FILES = re.compile(r"\b(ReadFile|WriteFileAtomically|fopen|glob|GlobFiles|RenameFile|DeleteFile|MakeFolders|(RandomAccessFile|WritableFile|InputStream"
                         r"|RecordReader|RecordWriter|Bundle(Reader|Writer)|SliceFileReader|EventWriter)::[A-Z]\w*|SliceFileWriter \w+)\(")

INCLUDE = re.compile(r'^\s*#\s*include\s*["<]([^">]+)[">]')
TEST_FILE = re.compile(r"_(test|bench|fuzz)\.(cc|cu)$|(^|/)testing/")


def reachable(folder):
    seen = {folder}
    stack = [folder]
    while stack:
        for below in MAY_INCLUDE[stack.pop()]:
            if below not in seen:
                seen.add(below)
                stack.append(below)
    return seen


def problem_of_include(path, folder, header):
    """Why the file `path` of `folder` may not include `header`, or None."""
    if header.startswith(("grpc/", "grpcpp/")) and not path.startswith("millstream/distributed/grpc/"):
        return "only millstream/distributed/grpc/ includes gRPC"
    if folder == "framework" and path.endswith(".h") and header.endswith(".pb.h"):
        return "framework headers are free of generated messages, so that op files compile fast"
    if not header.startswith("millstream/"):
        return None
    if TEST_FILE.search(header):
        return "the library does not include test helpers"
    parts = header.split("/")
    if len(parts) == 2:
        return "the umbrella header is for users"
    if parts[1] in reachable(folder) or header in MAY_ALSO_INCLUDE.get(folder, []):
        return None
    return f"{folder} may include {', '.join(sorted(reachable(folder) - {folder})) or 'nothing of ours'}"


def check_file(path):
    relative = path.relative_to(ROOT).as_posix()
    folder = relative.split("/")[1]
    if "/" not in relative.removeprefix("millstream/"):
        return []  # the umbrella header
    if folder not in MAY_INCLUDE:
        return [f"{relative}: folder {folder} is not in the table of tools/check_layers.py"]
    if TEST_FILE.search(relative):
        return []
    problems = []
    text = path.read_text()
    if folder == "ops" and OPENS_FILES.search(text) and not re.search(r"Check(File|Pattern)Access\(", text):
        problems.append(f"{relative}: opens files without CheckFileAccess: a graph from the network could touch any file")
    for number, line in enumerate(text.splitlines(), 1):
        match = INCLUDE.match(line)
        problem = match and problem_of_include(relative, folder, match[1])
        if problem:
            problems.append(f"{relative}:{number}: {match[1]}: {problem}")
    return problems


def find_orphan_tests():
    """Tests outside the folders from which CMake takes them would never run."""
    places = tuple(f"millstream/{folder}/" for folder in MAY_INCLUDE) + ("tests/",)
    for top in ["millstream", *OUTER_FOLDERS]:
        for path in sorted((ROOT / top).rglob("*_test.cc")):
            relative = path.relative_to(ROOT).as_posix()
            if not relative.startswith(places):
                yield f"{relative}: CMake builds no tests from this folder"


def main():
    files = [path for end in ("h", "cc", "cu") for path in sorted((ROOT / "millstream").rglob(f"*.{end}"))]
    problems = [problem for path in files for problem in check_file(path)] + list(find_orphan_tests())
    print("\n".join(problems + [f"layers: {len(files)} files, {len(problems)} problems"]))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
