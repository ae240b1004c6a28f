# SPDX-License-Identifier: Apache-2.0
"""Type stubs for names that are found at run time: python -m millstream.platform.stubs FOLDER writes them below FOLDER."""
import collections
import importlib
import keyword
import os
import pkgutil
import sys

from millstream import _core
from millstream.framework import op_wrappers

_HEADER = "# SPDX-License-Identifier: Apache-2.0\n# Written by millstream.platform.stubs from the export tables and the op registry.\n"
_KINDS = {"int": "int", "float": "float", "bool": "bool", "string": "str | bytes", "type": "Any", "shape": "Any", "tensor": "Any",
          "func": "Any"}


def _exports():
    """{namespace: {name: (module, attribute)}}; "" is the top."""
    spaces = collections.defaultdict(dict)
    package = importlib.import_module("millstream.exports")
    for info in pkgutil.iter_modules(package.__path__):
        for module, names in importlib.import_module(f"millstream.exports.{info.name}").EXPORTS.items():
            for entry in names.split():
                public, equals, attribute = entry.partition("=")
                space, _, name = public.rpartition(".")
                spaces[space][name] = (module, attribute if equals else name)
    for space in list(spaces):  # a.b needs a
        while space:
            space = space.rpartition(".")[0]
            spaces.setdefault(space, {})
    return spaces


def _namespace_stub(space, names, children):
    lines = [_HEADER]
    for name in sorted(names):
        module, attribute = names[name]
        if keyword.iskeyword(name) or name in children:
            continue
        if attribute and "_pb2" not in module and module != "millstream.framework.config":
            lines.append(f"from {module} import {attribute} as {name}")
        elif attribute:
            lines.append(f"{name}: type")
        else:
            parent, _, last = module.rpartition(".")
            lines.append(f"from {parent} import {last} as {name}" if parent else f"import {module} as {name}")
    full = "millstream" + ("." + space if space else "")
    for child in sorted(children):
        lines.append(f"from {full} import {child} as {child}")
    if not space:
        lines += ["__version__: str", "__millstream_version__: str", "VERSION: str"]
    return "\n".join(lines) + "\n"


def _parameter(name, annotation, default):
    if keyword.iskeyword(name):
        name += "_"
    return f"{name}: {annotation}" + (" = ..." if default else "")


def _ops_stub(names):
    """`names`: public name -> op."""
    lines = [_HEADER, "from typing import Any\n"]
    for public in sorted(names):
        if keyword.iskeyword(public) or public.startswith("_"):
            continue
        info = op_wrappers.op_info(names[public])
        parameters = [_parameter(a.name, "Any", False) for a in info.inputs]
        for name in info.free_attrs:
            attr = info.attrs[name]
            kind = attr.kind[5:-1] if attr.kind.startswith("list(") else attr.kind
            annotation = _KINDS.get(kind, "Any")
            if attr.kind.startswith("list("):
                annotation = f"list[{annotation}]"
            parameters.append(_parameter(name, annotation, attr.default is not None))
        parameters.append("name: str | None = ...")
        lines.append(f"def {public}({', '.join(parameters)}) -> Any: ...")
    return "\n".join(lines) + "\n"


def write(folder):
    spaces = _exports()
    for space, names in spaces.items():
        children = [s.rpartition(".")[2] for s in spaces if s and s.rpartition(".")[0] == space]
        if children or not space:
            path = os.path.join(folder, *space.split("."), "__init__.pyi") if space else os.path.join(folder, "__init__.pyi")
        else:
            path = os.path.join(folder, *space.split(".")) + ".pyi"
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as f:
            f.write(_namespace_stub(space, names, children))
    ops = {op_wrappers.snake_case(t): t for t in reversed(_core.op_names())}
    for module, names in (("gen_ops", ops), ("raw_ops", {t: t for t in _core.op_names()})):
        with open(os.path.join(folder, module + ".pyi"), "w", encoding="utf-8") as f:
            f.write(_ops_stub(names))
    with open(os.path.join(folder, "py.typed"), "w", encoding="utf-8"):
        pass


if __name__ == "__main__":
    write(sys.argv[1])
