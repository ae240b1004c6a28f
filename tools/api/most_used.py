#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes python/tests/data/most_used_names.txt: the 300 public functions and classes that programs use most, with their number of uses.

Usage: PYTHONPATH=build/dev/python python tools/api/most_used.py

Uses are counted in the examples (among them programs that users wrote for TensorFlow), in the test programs and in the documentation. A name
counts once for each time that it is written as `tf.name`; `tf.compat.v1.name` is `tf.name`. Each of these names must have a docstring
(python/tests/test_most_used.py) and a type (tests/build/test_types.py).
"""
import collections
import inspect
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parents[2]
LIST = ROOT / "python" / "tests" / "data" / "most_used_names.txt"
SOURCES = ("examples/**/*.py", "examples/**/*.ipynb", "python/tests/scripts/**/*.py", "docs/**/*.md", "README.md")
COUNT = 300
HEAD = "# The most used public names and their number of uses, written by tools/api/most_used.py.\n"


def public_name(tf, dotted):
    """The function or class at the beginning of `dotted` ("data.Dataset.range" begins with "data.Dataset"); None if there is none."""
    at, taken = tf, []
    for part in dotted.split("."):
        try:
            at = getattr(at, part)
        except AttributeError:
            return None
        taken.append(part)
        if not inspect.ismodule(at):
            return ".".join(taken) if is_documentable(at) else None
    return None


def is_documentable(what):
    """Whether `what` is a function or a class; classes of protocol buffers are generated and described in their .proto files."""
    return inspect.isroutine(what) or inspect.isclass(what) and not hasattr(what, "DESCRIPTOR")


def count_uses(tf):
    uses = collections.Counter()
    for pattern in SOURCES:
        for path in sorted(ROOT.glob(pattern)):
            uses.update(re.sub(r"^compat\.v1\.", "", name) for name in re.findall(r"\btf\.([A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*)", path.read_text()))
    names = collections.Counter()
    for dotted, count in uses.items():
        name = public_name(tf, dotted)
        if name:
            names[name] += count
    return names


def main():
    import millstream as tf
    ranked = sorted(count_uses(tf).items(), key=lambda item: (-item[1], item[0]))[:COUNT]
    LIST.write_text(HEAD + "".join(f"{name} {count}\n" for name, count in ranked))


if __name__ == "__main__":
    main()
