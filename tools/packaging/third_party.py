# SPDX-License-Identifier: Apache-2.0
"""Whose work a file is and under which notice: Debian packages, Python distributions, and the tables in this tree."""

import dataclasses
import functools
import pathlib
import re
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]
COMMON_LICENSE = re.compile(r"/usr/share/common-licenses/([A-Za-z0-9.+-]*[A-Za-z0-9+])")
LEADING_COMMENT = re.compile(r"\s*(/\*.*?\*/|(?://[^\n]*\n)+)", re.S)
PYTHON_FOLDER = r"python\d+\.\d+"
# What every C++ program is compiled with; their licences have exceptions for exactly that.
TOOLCHAIN = re.compile(r"^(libc6-dev|linux-libc-dev|libstdc\+\+-\d+-dev|libgcc-\d+-dev|gcc-\d+|g\+\+-\d+|clang-\d+|libclang-.*-dev)$")


@dataclasses.dataclass
class Component:
    """One third-party work. `files` are the names under which it is found in a package, or what is compiled in."""

    name: str
    text: str
    files: set = dataclasses.field(default_factory=set)


def owners(paths):
    """{path: Debian package} of files below /usr or /lib. Raises ValueError with the files that no package owns."""
    spellings = {}
    for path in paths:
        resolved = pathlib.Path(path).resolve()
        for name in (str(path), str(resolved)):
            spellings[name] = path
            spellings[name.removeprefix("/usr")] = path  # packages from before /lib became a link
            spellings["/usr" + name] = path
    if not spellings:
        return {}
    found = subprocess.run(["dpkg-query", "--search", *spellings], capture_output=True, text=True, check=False).stdout
    result = {}
    for line in found.splitlines():
        packages, _, name = line.rpartition(": ")
        if name in spellings and not packages.startswith("diversion"):
            result[spellings[name]] = packages.split(",")[0].split(":")[0]
    missing = sorted(str(path) for path in paths if path not in result)
    if missing:
        raise ValueError("no Debian package owns " + ", ".join(missing))
    return result


@functools.cache
def debian_copyright(package):
    path = pathlib.Path("/usr/share/doc") / package / "copyright"
    if not path.exists():
        raise ValueError(f"{package} has no {path}")
    return path.read_text(encoding="utf-8", errors="replace")


def common_licenses(texts):
    """{name: text} of the licences that Debian's copyright files refer to instead of repeating them."""
    names = {name for text in texts for name in COMMON_LICENSE.findall(text)}
    paths = {name: pathlib.Path("/usr/share/common-licenses") / name for name in sorted(names)}
    return {name: path.read_text(encoding="utf-8") for name, path in paths.items() if path.exists()}


def _distribution(path):
    """(name, folder of packages) of the Python distribution that installed `path`."""
    packages = next(parent for parent in path.parents if parent.name == "site-packages")
    inside = str(path.relative_to(packages))
    for record in packages.glob("*.dist-info/RECORD"):
        if any(line.startswith(inside + ",") for line in record.read_text(encoding="utf-8").splitlines()):
            return record.parent.name.removesuffix(".dist-info"), record.parent
    raise ValueError(f"no Python distribution has installed {path}")


def python_components(headers):
    """Components for headers below a site-packages folder. One that is bundled with another brings its notice as a comment."""
    components = {}
    for path in map(pathlib.Path, headers):
        name, info = _distribution(path)
        texts = [p.read_text(encoding="utf-8") for p in sorted(info.rglob("*")) if p.is_file() and re.match(r"LICEN[CS]E|COPYING|NOTICE", p.name, re.I)]
        component = components.setdefault(name, Component(name, "\n\n".join(texts)))
        component.files.add(path.name)
        comment = LEADING_COMMENT.match(path.read_text(encoding="utf-8", errors="replace"))
        if comment and "Permission is hereby granted" in comment[1] and "ext" in path.parts:
            bundled = components.setdefault(f"{path.parent.name} (with {name})", Component(f"{path.parent.name} (with {name})", comment[1]))
            bundled.files.add(path.name)
    return list(components.values())


def interpreter_components(headers):
    """The component for headers of a Python that is no Debian package: it has its licence beside its modules."""
    components = {}
    for path in map(pathlib.Path, headers):
        include = next(parent for parent in path.parents if re.fullmatch(PYTHON_FOLDER, parent.name))
        licence = include.parents[1] / "lib" / include.name / "LICENSE.txt"
        if not licence.exists():
            raise ValueError(f"{path}: Python's licence is not in {licence}")
        component = components.setdefault(include.name, Component(include.name, licence.read_text(encoding="utf-8")))
        component.files.add("headers")
    return list(components.values())


def debian_components(files):
    """Components for {file in the system: name to list it by}; packages with the same copyright file are one."""
    components = {}
    for path, package in owners(list(files)).items():
        if TOOLCHAIN.match(package):
            continue
        text = debian_copyright(package)
        component = components.setdefault(text, Component(package, text))
        component.name = " ".join(sorted({*component.name.split(), package}))
        component.files.add(files[path])
    return list(components.values())


def table_components(root=ROOT):
    """The tables of others in this tree: each has a file *.notice beside it, whose first lines name it and its files."""
    components = []
    for path in sorted([*root.glob("millstream/**/*.notice"), *root.glob("data/**/*.notice")]):
        head, _, text = path.read_text(encoding="utf-8").partition("\n\n")
        fields = dict(line.split(": ", 1) for line in head.splitlines())
        components.append(Component(f"{fields['Name']} ({fields['License']})", text, set(fields["Files"].split())))
    return components
