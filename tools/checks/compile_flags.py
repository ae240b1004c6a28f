# SPDX-License-Identifier: Apache-2.0
"""How Clang's tools are to read our sources: from the compile commands of a build tree, batched or not."""

import json
import pathlib
import re
import shlex

INCLUDED = re.compile(r'^#include "(.+\.cc)"$', re.M)
WITH_ARGUMENT = ("-isystem", "-include", "-o", "-Xclang")
KEPT = ("-D", "-I", "-std=", "-m")


def flags_of(command):
    """What changes the meaning of a source: not optimization, warnings, or headers precompiled by another compiler."""
    words, kept = iter(shlex.split(command)[1:]), []
    for word in words:
        if word in WITH_ARGUMENT:
            argument = next(words)
            kept += [word, argument] if word == "-isystem" else []
        elif word.startswith(KEPT):
            kept.append(word)
    return tuple(kept)


def by_source(build, root):
    """{path relative to the root: flags} of every source that the build tree compiles, whether alone or in a batch."""
    result = {}
    for entry in json.loads((build / "compile_commands.json").read_text(encoding="utf-8")):
        path = pathlib.Path(entry["directory"], entry["file"])
        sources = [path]
        if path.parent.name == "Unity" and path.exists():
            sources = map(pathlib.Path, INCLUDED.findall(path.read_text(encoding="utf-8")))
        for source in sources:
            if source.is_relative_to(root) and not source.is_relative_to(build):
                result.setdefault(str(source.relative_to(root)), flags_of(entry["command"]))
    return result
