#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the stubs (.pyi) that show editors and mypy the public names, which the package itself finds only when they are used.

Usage: PYTHONPATH=build/dev/python python tools/api/stubs.py [--check]      (--check writes nothing and fails when a stub is out of date)

One stub for each namespace (tf, tf.nn, tf.train, ...) that re-exports from the modules that define the names (millstream/exports),
and gen_ops.pyi with the signatures of all ops.
"""
import collections
import importlib
import keyword
import pathlib
import pkgutil
import sys

PACKAGE = pathlib.Path(__file__).resolve().parents[2] / "python" / "millstream"
HEAD = "# SPDX-License-Identifier: Apache-2.0\n# Written by tools/api/stubs.py. Do not edit.\n"


def read_exports():
    """{namespace, "" for the top: {public name: (module, attribute or "")}}"""
    import millstream.exports
    spaces = collections.defaultdict(dict)
    for info in pkgutil.iter_modules(millstream.exports.__path__):
        for module, names in importlib.import_module(f"millstream.exports.{info.name}").EXPORTS.items():
            for entry in names.split():
                public, equals, attribute = entry.partition("=")
                space, _, name = public.rpartition(".")
                spaces[space][name] = (module, attribute if equals else name)
                while space:  # the namespaces above exist too
                    space = space.rpartition(".")[0]
                    spaces.setdefault(space, {})
    return spaces


def import_line(module, attribute, public):
    if attribute:
        return f"from {module} import {attribute} as {public}"
    parent, _, name = module.rpartition(".")
    return f"from {parent} import {name} as {public}" if parent else f"import {name} as {public}"


def stub_of(space, spaces):
    dotted = "millstream" + ("." + space if space else "")
    lines = [import_line(module, attribute, public) for public, (module, attribute) in spaces[space].items()]
    children = [name.rpartition(".")[2] for name in spaces if name and name.rpartition(".")[0] == space]
    lines += [f"from {dotted} import {name} as {name}" for name in children]
    public_names = "".join(f'    "{name}",\n' for name in sorted({*spaces[space], *children}))
    text = HEAD + "\n".join(sorted(lines)) + f"\n\n__all__ = [\n{public_names}]\n"  # without __all__, a name that is imported as another one is private
    if not space:
        text += "\n__version__: str\n__millstream_version__: str\n"
    return text, bool(children)


def path_of(space, has_children):
    if not space or has_children:
        return PACKAGE.joinpath(*space.split("."), "__init__.pyi") if space else PACKAGE / "__init__.pyi"
    return PACKAGE.joinpath(*space.split(".")).with_suffix(".pyi")


KINDS = {"bool": "bool", "int": "int", "float": "float", "string": "str"}


def _arguments(info):
    """The inputs of an op, then its attributes that have no default, then the others, as gen_ops takes them."""
    for parameter in info.parameters:
        name = parameter + "_" if keyword.iskeyword(parameter) else parameter
        attr = info.attrs.get(parameter)
        yield f"{name}: {KINDS.get(attr.kind, 'Any') if attr else 'Any'}" + (" = ..." if attr and attr.default is not None else "")
    yield "name: Optional[str] = ..."


def _result(info):
    if not info.outputs:
        return "Operation"
    return _result_name(info) if len(info.outputs) > 1 else _output_type(info.outputs[0])


def _output_type(output):
    return "list[Tensor]" if output.number_attr or output.type_list_attr else "Tensor"


def _result_name(info):
    return info.name.lstrip("_")


def _result_class(info):
    """The namedtuple that an op with several outputs returns."""
    from millstream.framework import op_wrappers
    fields = zip(op_wrappers.result_type(info.name)._fields, info.outputs)
    shown = ", ".join(f'("{field}", {_output_type(output)})' for field, output in fields)
    return f'{_result_name(info)} = NamedTuple("{_result_name(info)}", [{shown}])'


def gen_ops_stub():
    from millstream import gen_ops
    from millstream.framework import op_wrappers
    lines = [HEAD.rstrip(), "from typing import Any, NamedTuple, Optional", "", "from millstream.framework.ops import Operation, Tensor", ""]
    for name, op_type in sorted(gen_ops._table().items()):
        if name.isidentifier() and not keyword.iskeyword(name):
            info = op_wrappers.op_info(op_type)
            if len(info.outputs) > 1:
                lines.append(_result_class(info))
            lines.append(f"def {name}({', '.join(_arguments(info))}) -> {_result(info)}: ...")
    return "\n".join(lines) + "\n"


def all_stubs():
    spaces = read_exports()
    stubs = {PACKAGE / "gen_ops.pyi": gen_ops_stub()}
    for space in list(spaces):
        text, has_children = stub_of(space, spaces)
        stubs[path_of(space, has_children)] = text
    return stubs


def main():
    stubs = all_stubs()
    old = {path for path in PACKAGE.rglob("*.pyi") if HEAD in path.read_text()} - set(stubs)
    stale = sorted(old) + [path for path, text in stubs.items() if not path.exists() or path.read_text() != text]
    if "--check" in sys.argv:
        return f"out of date, run tools/api/stubs.py: {', '.join(str(path.relative_to(PACKAGE)) for path in stale)}" if stale else 0
    for path in old:
        path.unlink()
    for path, text in stubs.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
