#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares the Python package with TF1's public names (tf1_symbols.json, contrib_symbols.txt) and writes docs/api.md.

Usage: PYTHONPATH=build/dev/python python tools/api/table.py [--check] [--print] [--page]      (--page prints docs/api.md instead of writing it)
"""
import inspect
import json
import pathlib
import re
import sys

HERE = pathlib.Path(__file__).resolve().parent
PAGE = HERE.parents[1] / "docs" / "api.md"
# Where arguments differ on purpose: name -> why.
DIFFERS = json.loads((HERE / "differs.json").read_text())

# Arguments that TensorFlow 2 has added; not those of TF1 programs.
LATER = frozenset("""name layout handle_data axis align bad_indices_policy grad_a grad_b sparse_gradient use_pybind11_proto
    num_parallel_calls synchronous allow_last_axis_squeeze experimental_is_anonymous index_type allow_fast_lookup alg defaults
    experimental_image_format use_own_namescope_for_non_slot_vars skip_gradients_aggregation progressive encoding
    fallback_to_while_loop user_msg return_index_map rerandomize_each_iteration use_unbounded_threadpool""".split())


def recorded():
    names = json.loads((HERE / "tf1_symbols.json").read_text())
    for line in (HERE / "contrib_symbols.txt").read_text().splitlines():
        space, _, rest = line.partition(":")
        names.update({f"{space}.{name}": ["name", None] for name in rest.split()})
    return names


def find(path):
    import millstream
    at = millstream
    for part in path.split(".")[1:]:
        try:
            at = getattr(at, part)
        except AttributeError:
            return None, False
    return at, True


def _default(value):
    from millstream.framework import dtypes
    if value is None or isinstance(value, (bool, int, float, str)):
        return repr(value)
    if isinstance(value, dtypes.DType):
        return f"tf.{value.name}"
    if isinstance(value, (tuple, list)) and all(isinstance(v, (bool, int, float, str)) for v in value):
        return repr(value)
    return "..."


def arguments(value, method):
    """[(name, default or None)], without self; None if it can't be known."""
    try:
        parameters = list(inspect.signature(value).parameters.values())
    except (TypeError, ValueError):
        return None
    if method and parameters and parameters[0].name in ("self", "cls"):
        parameters = parameters[1:]
    stars = {inspect.Parameter.VAR_POSITIONAL: "*", inspect.Parameter.VAR_KEYWORD: "**"}
    return [(stars.get(p.kind, "") + p.name, None if p.default is p.empty else _default(p.default)) for p in parameters]


def _split(text):
    """'a, b=(1, 2), *c' -> [('a', None), ('b', '(1, 2)'), ('*c', None)]"""
    parts, depth, at, quote = [], 0, "", ""
    for c in text:
        if quote:
            quote = "" if c == quote else quote
        elif c in "'\"":
            quote = c
        elif c in "([{":
            depth += 1
        elif c in ")]}":
            depth -= 1
        if c == "," and not depth and not quote:
            parts.append(at.strip())
            at = ""
        else:
            at += c
    parts.append(at.strip())
    out = []
    for part in filter(None, parts):
        name, equals, default = part.partition("=")
        out.append((name, default if equals else None))
    return out


def _same(a, b):
    if a == b or "..." in (a, b) or a is None:  # more defaults than TensorFlow's do no harm
        return True
    try:
        return float(a) == float(b)
    except (TypeError, ValueError):
        pass
    return a is not None and b is not None and re.sub(r"[()\[\] ]", "", a) == re.sub(r"[()\[\] ]", "", b)


def difference(theirs, ours):
    """What of the recorded arguments (a text) is other in ours (a list); None if nothing."""
    theirs = _split(theirs)
    plain = [(n, d) for n, d in theirs if not n.startswith("*")]
    mine = [(n, d) for n, d in ours if not n.startswith("*")]
    takes_rest = {n[:2] == "**" for n, _ in ours if n.startswith("*")}
    if not plain and theirs:
        return None  # only *args, **kwargs: nothing to compare
    for i, (name, default) in enumerate(plain):
        if (i >= len(mine) or mine[i][0] != name) and name in LATER:
            return None
        if i >= len(mine):
            return None if True in takes_rest or False in takes_rest else f"no `{name}`"
        if mine[i][0] != name:
            return f"`{mine[i][0]}` instead of `{name}`"
        if not _same(default, mine[i][1]):
            return f"`{name}={mine[i][1]}` instead of `{name}={default}`"
    extra = [n for n, d in mine[len(plain):] if d is None]
    return f"needs `{extra[0]}`" if extra else None


def compare():
    """{space: (present, missing, {name: difference})}"""
    spaces = {}
    for path, (kind, theirs) in sorted(recorded().items()):
        space, _, name = path.rpartition(".")
        present, missing, other = spaces.setdefault(space, ([], [], {}))
        value, found = find(path)
        if not found:
            missing.append(name)
            continue
        present.append(name)
        if theirs is None or path in DIFFERS:
            continue
        ours = arguments(value, kind == "method" and not inspect.ismethod(value))
        text = difference(theirs, ours) if ours is not None else None
        if text:
            other[name] = text
    return spaces


HEAD = """# TF1's names, and which of them are there

<!-- Written by tools/api/table.py from tools/api/tf1_symbols.json (recorded from TensorFlow 2.21's compat.v1) and
     tools/api/contrib_symbols.txt (names of TF1's contrib and estimator that programs use). Do not edit. -->

`import millstream as tf`; or `python -m millstream script.py`, where `import tensorflow` gives the same. Arguments of what is there (their
names, order and defaults) are compared with TensorFlow's by `python/tests/test_api.py`; differences are listed here.
Ops without a function of their own are in `tf.raw_ops`.

"""


def page(spaces):
    rows, details = [], []
    for space, (present, missing, other) in sorted(spaces.items()):
        total = len(present) + len(missing)
        rows.append(f"| `{space}` | {len(present)} | {len(missing)} | {100 * len(present) // total} % |")
        details.append(f"## {space}\n")
        if missing:
            details.append("Missing: " + ", ".join(f"`{n}`" for n in missing) + "\n")
        for name, text in sorted(other.items()):
            details.append(f"- `{name}`: {text}")
        for path, why in sorted(DIFFERS.items()):
            if path.rpartition(".")[0] == space:
                details.append(f"- `{path.rpartition('.')[2]}`: {why}")
        if other or any(p.rpartition(".")[0] == space for p in DIFFERS):
            details.append("")
        if present:
            details.append("There: " + ", ".join(f"`{n}`" for n in present) + "\n")
    there, absent = (sum(len(s[i]) for s in spaces.values()) for i in (0, 1))
    return (HEAD + f"{there} of {there + absent} names are there.\n\n| namespace or class | there | missing | |\n|---|---|---|---|\n"
            + "\n".join(rows) + "\n\n" + "\n".join(details))


def main(args):
    spaces = compare()
    text = page(spaces)
    if "--print" in args:
        for space, (_, missing, other) in sorted(spaces.items()):
            if missing:
                print(space, "MISSING", " ".join(missing))
            for name, why in other.items():
                print(f"{space}.{name}: {why}")
    if "--page" in args:
        sys.stdout.write(text)
        return 0
    if "--check" in args:
        return 0 if PAGE.read_text() == text else 1
    PAGE.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
