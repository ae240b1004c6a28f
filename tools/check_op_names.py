#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Finds code that knows ops by name where it should ask for their traits, and macros in op definitions where functions would do.

What an op does (updates state, may block, passes its input on, is a Switch) is declared where it is defined
(millstream/framework/op_traits.h). Run by tools/check_layers.py.
"""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent

# Everything but the definitions of ops and the library for training.
ASKS_TRAITS = (*(f"millstream/{folder}/" for folder in ("base", "collective", "data", "devices", "distributed", "framework", "graph", "io", "launch", "runtime",
                                                       "status", "tensor")), "cli/", "python/src/")
# These make nodes, and name their ops everywhere: only comparisons count.
MAKES_NODES = ("millstream/train/",)
# What is about single ops by its nature, each with the reason.
MAY_NAME_OPS = {
    "cli/inspect/program.cc": "describes the nodes of a file, whose ops need not be known",
    "millstream/devices/cuda/kernels/host/host_ops.cc": "the ops whose CPU kernels run for the device, with copies",
    "millstream/graph/graph.h": "Node::IsSend() and IsTransfer()",
    "millstream/graph/gradients/while_gradient_loops.cc": "chooses where a node is added that does not exist yet",
    "millstream/graph/import/import.cc": "an old version of Placeholder alone wrote its shape otherwise",
    "millstream/graph/partial_value.cc": "evaluates a few ops on shapes that are known in part",
    "millstream/graph/passes/fuse_bias.cc": "rewrites MatMul, Conv2D, BiasAdd and Relu",
    "millstream/graph/passes/fuse_batch_norm.cc": "rewrites FusedBatchNorm, AddV2, Relu, Relu6 and their gradients",
    "millstream/graph/fusion/fused_body.h": "names the op whose nodes the fusion makes",
    "millstream/graph/fusion/merge_products.cc": "rewrites sums of MatMul and BiasAddGrad",
    "millstream/graph/passes/gather_references.cc": "rewrites Gather and GatherV2",
    "millstream/graph/placement/merge_rows.cc": "merges rows around gathers and scatters that cross tasks",
    "millstream/graph/passes/simplify_arithmetic.cc": "rewrites Mul, AddN, Cast, Neg, Reshape",
    "millstream/train/input/input_queue.cc": "the summary of a shuffling queue has another name",
    "millstream/runtime/local_functions.cc": "SymbolicGradient as the name of a function",
}

DEFINED = re.compile(r'\bOP\("(\w+)"\)')
LITERAL = re.compile(r'"(\w+)"')
COMPARED = re.compile(r'(?:[=!]= *|\bIs\()"(\w+)"')
# A name that follows one of these says which op to make or look up, which is fine.
MAKES_NODE = re.compile(r'(\b(Op|Add|Raw|Lookup|Find|make|AddExchangeNode|FilledInitializer|WithOpName|NameScope|set_op|OP|[A-Z_]{5,}|'
                        r'Register\w+<\w+>|KernelBuilder \w+)\([^()]*|'
                        r'\b(NewNode|Strings|ReadIntVector)\b[^;]*[{(][^;]*|\?\s*|\?\s*"\w+"\s*:\s*)$')
ASKS_NAME = re.compile(r'\bIs\("|(StartsWith|EndsWith|StrContains)\([^,]*(\btype\(\)|\bop\(\)|def\.name)')

FRAGMENT_MACRO = re.compile(r"^#define (\w+)(\([^)]*\))?\s*(\\\n\s*)?\.[A-Z]", re.M)
FRAGMENT_ARGUMENT = re.compile(r"^\s*[A-Z][A-Z0-9_]+\((?:[^;]*[,(]\s*)?\.[A-Z]\w*\(", re.M)


def op_names():
    folders = [ROOT / "millstream/ops", ROOT / "python/src"]
    return {name for folder in folders for path in folder.rglob("*.cc") for name in DEFINED.findall(path.read_text())}


def problems_of_names(relative, text, names):
    """Lines of a file that compare the names of ops."""
    if not relative.startswith(ASKS_TRAITS + MAKES_NODES) or relative.startswith(tuple(MAY_NAME_OPS)):
        return
    literal = COMPARED if relative.startswith(MAKES_NODES) else LITERAL
    before = ""  # the line before: a name that begins a line may be the argument of a call that was opened there
    for number, line in enumerate(text.splitlines(), 1):
        code = line.split("//")[0]
        compared = [m[1] for m in literal.finditer(code) if m[1] in names and not MAKES_NODE.search(before + code[:m.start()])]
        before = code.strip()
        if compared or ASKS_NAME.search(code):
            yield f"{relative}:{number}: asks for the name of an op; declare a trait (framework/op_traits.h) and ask for that"


def problems_of_macros(relative, text):
    """Macros that are pieces of an OP(...) chain, or take such pieces."""
    if not relative.startswith("millstream/ops/"):
        return
    for match in FRAGMENT_MACRO.finditer(text):
        yield f"{relative}: the macro {match[1]} is a part of an op definition; make it a function for .With()"
    for match in FRAGMENT_ARGUMENT.finditer(text):
        number = text.count("\n", 0, match.end()) + 1
        yield f"{relative}:{number}: a macro takes a part of an op definition; make it a function for .With()"


def find_problems(files):
    names = op_names()
    for path in files:
        relative = path.relative_to(ROOT).as_posix()
        if re.search(r"_(test|bench|fuzz)\.(cc|cu)$|(^|/)testing/", relative):
            continue
        text = path.read_text()
        yield from problems_of_names(relative, text, names)
        yield from problems_of_macros(relative, text)


def main():
    problems = list(find_problems(path for end in ("h", "cc") for path in sorted((ROOT / "millstream").rglob(f"*.{end}"))))
    print("\n".join([*problems, f"op names: {len(problems)} problems"]))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
