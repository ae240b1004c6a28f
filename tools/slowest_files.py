#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints the slowest files of a Ninja build. Usage: slowest_files.py BUILD_DIR [COUNT]

Silent when nothing changed since the last report (slowest_files.txt in BUILD_DIR).
"""

import pathlib
import sys


def compile_seconds(log):
    """Maps each object file to the seconds of its last compilation."""
    seconds = {}
    for line in log.read_text().splitlines():
        fields = line.split("\t")  # start ms, end ms, mtime, output, hash of the command
        if len(fields) == 5 and fields[3].endswith(".o"):
            seconds[fields[3]] = (int(fields[1]) - int(fields[0])) / 1000
    return seconds


def source_name(output):
    """CMakeFiles/millstream_ops.dir/millstream/ops/math/add.cc.o -> millstream/ops/math/add.cc"""
    return output.partition(".dir/")[2].removesuffix(".o") or output


def main():
    build = pathlib.Path(sys.argv[1])
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 10
    seconds = compile_seconds(build / ".ninja_log")
    lines = [f"slowest of {len(seconds)} files ({sum(seconds.values()):.0f} s in all):"]
    for output, time in sorted(seconds.items(), key=lambda item: -item[1])[:count]:
        lines.append(f"{time:8.1f} s  {source_name(output)}")
    report, last = "\n".join(lines), build / "slowest_files.txt"
    if not last.exists() or last.read_text() != report:
        last.write_text(report)
        print(report)


if __name__ == "__main__":
    main()
