#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks the structure of the tree: which folder includes which (the table below is the design), that no two folders include
each other, how many files a folder has, that tests are built, that ops that open files ask first, that no state belongs to the whole process,
that sessions and links share one implementation of what they have in common, and that nobody compares names of ops (check_op_names.py).

Tests and their helpers (testing/) may include everything: running an op needs a session, which is above it.
"""

import collections
import pathlib
import re
import subprocess
import sys

import check_op_names

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
    "ops": ["graph", "data", "math", "collective"],
    "runtime": ["graph"],
    "devices": ["ops"],  # kernels of one op on another device check its inputs alike
    "collective": ["framework", "math"],
    "distributed": ["runtime", "collective"],
    "status": ["distributed"],
    "train": ["graph", "io"],
    "launch": ["distributed"],
}
# Single headers beyond the table.
MAY_ALSO_INCLUDE = {
    "train": ["millstream/runtime/session.h", "millstream/runtime/job_member.h", "millstream/runtime/local_server.h", "millstream/runtime/chrome_trace.h"],
}
MAX_FILES = 60  # in one folder, subfolders not counted
# Recordings, one file for each program: their names are those of the programs.
MAY_HAVE_MANY_FILES = re.compile(r"/goldens(/|$)")
OUTER_FOLDERS = ["cli", "python", "bench", "examples", "tests"]  # may include everything
OUR_INCLUDES = ("millstream/", "python/src/", "cli/")

# Ops that name one of these must give names of files to ConfinedPath first (base/file_root.h).
OPENS_FILES = re.compile(r"\b(ReadFile|WriteFileAtomically|fopen|glob|GlobFiles|RenameFile|LinkFile|DeleteFile|DeleteEmptyFolder|MakeFolders|ListFolder"
                         r"|OpenPath|(RandomAccessFile|WritableFile|InputStream"
                         r"|RecordReader|RecordWriter|Bundle(Reader|Writer)|SliceFileReader|EventWriter)::[A-Z]\w*|SliceFileWriter \w+)\(")

# Names of files reach the operating system through base/open_path.h only.
NAMES_FILES_ITSELF = re.compile(r"\b(open|fopen|openat|rename|unlink|rmdir|mkdir|link|symlink|stat|lstat|access|truncate|opendir|chmod)\("
                                r"|std::[io]?fstream\b|filesystem")
MAY_NAME_FILES = {
    "millstream/io/checkpoint_files.cc": "looks for checkpoints of the program, not of a graph",
    "millstream/io/stale_files.cc": "the same",
}

# A test runs many clusters in one process: what a server or session changes belongs to it, not to the process.
FOLDERS_WITHOUT_SHARED_STATE = (*(f"millstream/{name}/" for name in ("base", "collective", "distributed", "launch", "runtime", "status")), "python/src/")
# Variables that are neither constant nor of one thread: static ones (in a function, at file scope or in a class), those at file scope, and
# pointers to constants that are no constants themselves. A line that declares a function has a parenthesis before any '=' or ';'; one that defines a function
# may have a static variable after its '{'.
SHARED_STATE = re.compile(r"^(.*\)\s*(const\s*)?\{\s*)?\s*(inline\s+)?static\s+(?!const\b|constexpr\b|thread_local\b)[^()=;]*\w\s*(=|;|\{)"
                          r"|^.*\bstatic\s+const\b[^()=;]*\*\s*(?!const\b)\w+\s*="
                          r"|^(constinit|ABSL_CONST_INIT)\b(?!\s+(const|thread_local)\b)"
                          r"|^(inline\s+)?(std::(atomic|map|unordered_map|set|vector|string|shared_ptr|unique_ptr)|absl::flat_hash_\w+|Mutex|bool|u?int\d*(_t)?"
                          r"|double)\b[^()=;]*\w\s*(=|;|\{)")
MAY_SHARE_STATE = {
    "millstream/base/file_root.cc": "the numbers of roots, which names of files carry; each belongs to its server",
    "millstream/base/memory_budget.cc": "memory is limited for the process as a whole",
    "millstream/base/start_thread.cc": "threads are limited for the process as a whole",
    "millstream/base/temporary_file.cc": "a number that makes names unique in the process",
    "millstream/base/thread_pool.cc": "whether others want the cores, which all pools of the process share",
    "millstream/base/untrusted_log.cc": "limits the lines of the one log that the process has",
    "millstream/collective/backends/mpi.cc": "MPI itself is one for the process",
    "millstream/distributed/grpc/channel.cc": "the threads of client channels, no state of any cluster",
    "millstream/distributed/link/loans.cc": "tensors that were lent and are still read when the last server has gone, as the memory that they are in",
    "millstream/launch/guardian.cc": "of a process of its own, which is forked for it",
    "millstream/launch/signal_pipe.cc": "signal handlers belong to the process",
    "millstream/runtime/device_plugins.cc": "plug-ins are loaded once into the process",
    "millstream/runtime/device_set.cc": "warnings that were given, so that each is given once",
    "millstream/runtime/job_member.cc": "functions that tell a server of a client's end, which register themselves before main()",
    "millstream/runtime/sessions/factories.cc": "session factories, which register themselves before main()",
    "python/src/arrays.cc": "objects of Python that wait for its lock; an interpreter is a process",
    "python/src/exit_deadline.cc": "how the process ends",
    "python/src/gil.cc": "Python's lock is the process's",
    "python/src/interrupt.cc": "signal handlers belong to the process",
    "python/src/server.cc": "tf.Session(server.target) names a server of the process by a string",
}

# How long threads look for work before they block is decided in one place.
SPINS = re.compile(r"\b(CpuPause|sched_yield|_mm_pause|__builtin_ia32_pause|this_thread::yield)\(")
MAY_SPIN = {
    "millstream/base/thread_policy.cc": "the policy",
    "millstream/base/thread_policy.h": "the policy",
    "millstream/base/thread_pool.cc": "its workers look into a queue of their own",
}

# What all sessions or all links share is made in one place: a line that matches may stand in these files only.
IN_ONE_PLACE = [
    (re.compile(r"\b(KernelCache\s+\w+_?\s*[;({]|(make_unique|make_shared|MakeRef)<KernelCache>|CompileOptions\s*(\w+\s*)?[;({=])"),
     ("millstream/runtime/sessions/session_runtime", "millstream/runtime/compile.", "millstream/runtime/local_functions.", "millstream/runtime/kernel_cache."),
     "sessions compile and keep kernels through SessionRuntime"),
    (re.compile(r"\bpublic FrameHandler\b"),
     ("millstream/distributed/wire/frame_router", "millstream/distributed/collective/exchange_handler.h"),  # the latter: ranks that have no server
     "frames of a task's links go through FrameRouter; be a FrameReceiver"),
]

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
    if header.startswith("nghttp2/") and not path.startswith("millstream/distributed/grpc/"):
        return "only millstream/distributed/grpc/ includes nghttp2"
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
    if folder in ("ops", "io") and NAMES_FILES_ITSELF.search(text) and relative not in MAY_NAME_FILES:
        problems.append(f"{relative}: gives names of files to the operating system by itself: base/open_path.h confines them to --file_root")
    if folder == "ops" and OPENS_FILES.search(text) and not re.search(r"\bConfinedPath\(", text):
        problems.append(f"{relative}: opens files without ConfinedPath: a graph from the network could touch any file")
    for number, line in enumerate(text.splitlines(), 1):
        if SPINS.search(line) and relative not in MAY_SPIN:
            problems.append(f"{relative}:{number}: spins by itself; use LookFor() or LookWindow of base/thread_policy.h")
        for pattern, places, rule in IN_ONE_PLACE:
            if pattern.search(line.split("//")[0]) and not relative.startswith(places):
                problems.append(f"{relative}:{number}: {rule} ({places[0]})")
        match = INCLUDE.match(line)
        problem = match and problem_of_include(relative, folder, match[1])
        if problem:
            problems.append(f"{relative}:{number}: {match[1]}: {problem}")
    return problems


def find_shared_state(files):
    for path in files:
        relative = path.relative_to(ROOT).as_posix()
        if not relative.startswith(FOLDERS_WITHOUT_SHARED_STATE) or relative in MAY_SHARE_STATE or TEST_FILE.search(relative):
            continue
        for number, line in enumerate(path.read_text().splitlines(), 1):
            if SHARED_STATE.match(line):
                yield f"{relative}:{number}: state of the whole process; give it an owner (a server, a session), or list the file in MAY_SHARE_STATE"


def folder_includes(files):
    """Which folder of the library, the command line tool or the Python module includes which other, each with one file that does."""
    includes = collections.defaultdict(dict)
    for path in files:
        relative = path.relative_to(ROOT).as_posix()
        folder = relative.rpartition("/")[0]
        if TEST_FILE.search(relative) or folder == "millstream":
            continue
        for line in path.read_text().splitlines():
            match = INCLUDE.match(line)
            included = match and match[1].rpartition("/")[0]
            if match and match[1].startswith(OUR_INCLUDES) and included != folder:
                includes[folder].setdefault(included, f"{relative} includes {match[1]}")
    return includes


def find_cycles(files):
    """Folders that include each other, directly or through others: the first way round for each folder."""
    includes = folder_includes(files)

    def way(start, goal):
        came_from, queue = {start: None}, collections.deque([start])
        while queue:
            folder = queue.popleft()
            for below in includes.get(folder, {}):
                if below == goal:
                    steps = [includes[folder][below]]
                    while came_from[folder]:
                        steps.append(includes[came_from[folder]][folder])
                        folder = came_from[folder]
                    return steps[::-1]
                if below not in came_from:
                    came_from[below] = folder
                    queue.append(below)
        return None

    for folder in sorted(includes):
        steps = way(folder, folder)
        if steps:
            yield f"{folder}: include cycle between folders: " + "; ".join(steps)


def find_crowded_folders():
    listed = subprocess.run(["git", "ls-files", "--cached", "--others", "--exclude-standard"], cwd=ROOT, capture_output=True, text=True, check=True)
    files = [name for name in listed.stdout.splitlines() if (ROOT / name).exists()]
    for folder, count in sorted(collections.Counter(name.rpartition("/")[0] for name in files).items()):
        if count > MAX_FILES and not MAY_HAVE_MANY_FILES.search(folder):
            yield f"{folder}: {count} files in one folder (at most {MAX_FILES}); divide it by purpose"


def find_stray_goldens():
    """Recordings mirror the sources that declare the ops: tests/goldens/math/add.gz is of millstream/ops/math/add.cc."""
    goldens = ROOT / "tests" / "goldens"
    for path in sorted(goldens.rglob("*.gz")):
        source = (ROOT / "millstream" / "ops" / path.relative_to(goldens)).with_suffix(".cc")
        if not source.exists():
            yield f"{path.relative_to(ROOT)}: there is no {source.relative_to(ROOT)}"


def find_orphan_tests():
    """Tests outside the folders from which CMake takes them would never run."""
    places = tuple(f"millstream/{folder}/" for folder in MAY_INCLUDE) + ("cli/", "tests/")
    for top in ["millstream", *OUTER_FOLDERS]:
        for path in sorted((ROOT / top).rglob("*_test.cc")):
            relative = path.relative_to(ROOT).as_posix()
            if not relative.startswith(places):
                yield f"{relative}: CMake builds no tests from this folder"


def main():
    files = [path for end in ("h", "cc", "cu") for path in sorted((ROOT / "millstream").rglob(f"*.{end}"))]
    problems = [problem for path in files for problem in check_file(path)]
    outer = [path for folder in ("cli", "python/src") for end in ("h", "cc") for path in sorted((ROOT / folder).rglob(f"*.{end}"))]
    problems += [*find_orphan_tests(), *find_stray_goldens(), *find_cycles(files + outer), *find_shared_state(files + outer), *find_crowded_folders()]
    problems += check_op_names.find_problems(files)
    print("\n".join(problems + [f"layers: {len(files)} files, {len(problems)} problems"]))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
