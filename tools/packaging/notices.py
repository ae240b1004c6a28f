#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the notices of the third-party work in a package. Debian only: licences come from its packages' copyright files.

    tools/packaging/notices.py BUILD_DIR OUTPUT            # what is compiled in: headers and tables
    tools/packaging/notices.py BUILD_DIR --wheel WHEEL     # also the libraries in a repaired wheel; puts the file into it

Fails when something has no notice.
"""

import argparse
import pathlib
import re
import subprocess
import sys
import zipfile

import third_party
import wheel_file

HEAD = """Millstream is licensed under the Apache License 2.0 (file LICENSE, or `copyright` in a Debian package). This package also contains the work
of others, listed here with their notices. Notices of Debian packages cover their sources as a whole; not every part of them is in this package.
"""
# Objects of what is installed: not of tests, benchmarks and examples.
SHIPPED = re.compile(r"^CMakeFiles/(millstream(?!_testing)(_\w+)?|nanobind-static)\.dir/")
LIBRARY_HASH = re.compile(r"-[0-9a-f]{8}(?=\.so)")  # auditwheel's


def compiled_headers(build):
    """The headers outside the source and build trees that went into what is installed, by Ninja's record."""
    text = subprocess.run(["ninja", "-C", build, "-t", "deps"], capture_output=True, text=True, check=True).stdout
    headers = set()
    for block in text.split("\n\n"):
        lines = block.splitlines()
        if lines and SHIPPED.match(lines[0]):
            headers |= {line.strip() for line in lines[1:]}
    if not headers:
        raise ValueError(f"{build} has compiled nothing that is installed; build it first")
    inside = (str(build.resolve()) + "/", str(third_party.ROOT) + "/millstream/", str(third_party.ROOT) + "/cli/", str(third_party.ROOT) + "/python/")
    paths = {str((build / header).resolve(strict=False)) for header in headers}
    return sorted(path for path in paths if not path.startswith(inside) and pathlib.Path(path).exists())


def library_in_system(name):
    """The system's file for a library that auditwheel has renamed."""
    plain = LIBRARY_HASH.sub("", name)
    listed = subprocess.run(["/sbin/ldconfig", "-p"], capture_output=True, text=True, check=True).stdout
    for path in re.findall(r"=> (\S+)", listed):
        if pathlib.Path(path).name == plain or pathlib.Path(path).resolve().name == plain:
            return path
    raise ValueError(f"{name}: the system has no {plain}")


def components(build, libraries=()):
    headers = compiled_headers(build)
    of_packages = [path for path in headers if "/site-packages/" in path]
    of_system = {path: "headers" for path in headers if path.startswith("/usr/include/") or path.startswith("/usr/lib/")}
    rest = sorted(set(headers) - set(of_packages) - set(of_system))
    of_python = [path for path in rest if re.search(f"/include/{third_party.PYTHON_FOLDER}/", path)]
    strange = sorted(set(rest) - set(of_python))
    if strange:
        raise ValueError("headers of unknown origin: " + ", ".join(strange[:10]))
    of_system.update({library_in_system(name): name for name in libraries})
    return [*third_party.table_components(), *third_party.python_components(of_packages), *third_party.interpreter_components(of_python),
            *third_party.debian_components(of_system)]


def render(parts):
    lines = [HEAD]
    for part in parts:
        lines += ["=" * 80, part.name, "Files: " + ", ".join(sorted(part.files)), "", part.text.strip(), ""]
    for name, text in third_party.common_licenses([part.text for part in parts]).items():
        lines += ["=" * 80, f"/usr/share/common-licenses/{name}", "", text.strip("\n"), ""]
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("output", type=pathlib.Path, nargs="?")
    parser.add_argument("--wheel", type=pathlib.Path)
    flags = parser.parse_args()
    if (flags.output is None) == (flags.wheel is None):
        parser.error("either OUTPUT or --wheel")
    try:
        if flags.wheel:
            with zipfile.ZipFile(flags.wheel) as wheel:
                libraries = [pathlib.Path(name).name for name in wheel.namelist() if ".libs/" in name and ".so" in name]
            wheel_file.add_license(flags.wheel, "THIRD_PARTY_NOTICES.txt", render(components(flags.build, libraries)))
        else:
            flags.output.write_text(render(components(flags.build)), encoding="utf-8")
    except ValueError as error:
        return f"notices: {error}"
    return 0


if __name__ == "__main__":
    sys.exit(main())
