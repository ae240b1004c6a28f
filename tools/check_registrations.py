#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that commands, models, training modes and benchmark suites are each named in one file only, the one that registers them.

Other code finds them through their registry (cli/registry.h), so that adding one is adding one file.
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
REGISTRATION = re.compile(r"\bRegistration<(\w+)> \w+\(\s*\{\s*\.name = \"([^\"]+)\"")
STRING = re.compile(r'"((?:[^"\\\n]|\\.)*)"')
COMMENT = re.compile(r"^\s*//.*$|  // .*$|^#include.*$", re.M)
# A model or mode may be named nowhere else, not even in a help text. Commands and suites have names that are words of the language: there
# only a comparison with the name counts.
UNIQUE_WORDS = {"Model", "Mode"}


def registrations(files):
    """[(kind, name, file)]"""
    return [(kind, name, path) for path, text in files.items() for kind, name in REGISTRATION.findall(text)]


def mentions(kind, name, text):
    """Where the code of another file names it."""
    if kind not in UNIQUE_WORDS:
        return re.findall(rf'[=!]= *"{re.escape(name)}"|"{re.escape(name)}" *[=!]=', text)
    joined = re.sub(r'"\s*\n\s*"', "", text)  # neighbouring literals are one
    return [string for string in STRING.findall(joined) if re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", string)]


def second_places(files):
    found = registrations(files)
    for kind, name, home in found:
        own = {path for other, called, path in found if (other, called) == (kind, name)}
        if len(own) > 1:
            yield f"{kind} '{name}' is registered in {', '.join(sorted(map(str, own)))}"
        for path, text in files.items():
            if kind in UNIQUE_WORDS and path.stem.startswith("bench"):
                continue  # suites may have the name of what they measure
            for mention in mentions(kind, name, text) if path != home else []:
                yield f"{path.relative_to(ROOT)}: names the {kind.lower()} '{name}', which {home.relative_to(ROOT)} registers: {mention}"


def main():
    paths = [path for path in sorted((ROOT / "cli").rglob("*")) if path.suffix in (".cc", ".h") and not path.stem.endswith("_test")]
    files = {path: COMMENT.sub("", path.read_text(encoding="utf-8")) for path in paths}
    problems = list(second_places(files))
    print("\n".join(problems) or f"{len(registrations(files))} commands, models, modes and suites, each in one file")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
