#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Whether a package brings the notice of everything of others in it. Usage: notices.py NOTICES [LIBRARY...]

LIBRARY: file names of libraries that were put into the package. wheel.py and deb.sh call this.
"""
import re
import sys

TABLES = ["millstream/ops/random/sobol_numbers.cc", "millstream/ops/strings/unicode_script.cc", "data/mnist/train-images-idx3-ubyte.gz"]
# Always compiled in, whatever else is.
HEADERS = ["libabsl-dev", "libprotobuf-dev", "nlohmann-json3-dev", "libcli11-dev", "libeigen3-dev"]
LICENCE = re.compile(r"copyright|licen[cs]e|public domain", re.I)


def sections(text):
    """Yields (names of the works, their files, notice)."""
    for part in re.split(r"^={80}\n", text, flags=re.M)[1:]:
        name, _, rest = part.partition("\n")
        files = re.match(r"Files: (.*)\n", rest)
        yield name, set(files[1].split(", ")) if files else set(), rest[files.end():] if files else rest


def missing(text, libraries):
    """What has no notice."""
    known = list(sections(text))
    noticed = [(name.split(), files) for name, files, notice in known if LICENCE.search(notice) and len(notice) > 200]
    for file in [*TABLES, *libraries]:
        if not any(file in files for _, files in noticed):
            yield file
    for package in HEADERS:
        if not any(package in names and "headers" in files for names, files in noticed):
            yield f"headers of {package}"
    there = {name for name, _, _ in known}
    for path in sorted(set(re.findall(r"/usr/share/common-licenses/[A-Za-z0-9.+-]*[0-9]", text)) - there):
        yield f"the text of {path}, which a notice refers to"


def main():
    with open(sys.argv[1], encoding="utf-8") as f:
        problems = list(missing(f.read(), sys.argv[2:]))
    for problem in problems:
        print(f"{sys.argv[1]}: no notice of {problem}")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
