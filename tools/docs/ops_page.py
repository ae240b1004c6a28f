#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints docs/ops.md: the table of `opgen docs`, with a column that says what runs on GPUs. Usage: ops_page.py OPGEN

The kernels of the CUDA device are found in its sources, so that neither nvcc nor a GPU is needed.
"""

import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
CUDA = ROOT / "millstream" / "devices" / "cuda"
# Macros that register an op, or several with prefixes.
PREFIXES = {
    "CUDA_DENSE_UPDATE": ("Apply", "ResourceApply"),
    "CUDA_SPARSE_UPDATE": ("SparseApply", "ResourceSparseApply"),
    "CUDA_SCATTER": ("Scatter", "ResourceScatter"),
}
CALL = re.compile(r'\b(CUDA_[A-Z_]+|POINTWISE_[A-Z_]+|METADATA_KERNEL|KernelBuilder builder)\(\s*"(\w+)"')
NOTE = """GPU: yes (kernels of the CUDA device, or values that stay where they are), host (runs on the host, with copies where needed), or - (placed on the
CPU).
"""


def code(path):
    text = path.read_text(encoding="utf-8")
    text = re.sub(r"^\s*#define.*?(?<!\\)$", "", text, flags=re.M | re.S)
    return re.sub(r"//.*", "", text)


def listed(text, name):
    """The strings in the array or function `name`."""
    body = re.search(re.escape(name) + r".*?^\s*};", text, re.M | re.S)
    if body is None:
        raise ValueError(f"there is no {name}")
    return set(re.findall(r'"(\w+)"', body.group(0)))


def gpu_ops():
    """Ops with kernels of their own, and ops that the host computes."""
    own, host = set(), set()
    for path in sorted(CUDA.rglob("*.c[cu]")):
        for macro, name in CALL.findall(code(path)):
            (host if macro == "CUDA_HOST_KERNEL" else own).update(prefix + name for prefix in PREFIXES.get(macro, ("",)))
    for path in sorted((ROOT / "millstream" / "ops").rglob("*.cc")):  # the CPU's kernel serves every device
        own |= set(re.findall(r'^OP\("(\w+)"\)\n(?:    \..*\n)*?    \.Trait\(OpTrait::kAnyDevice\)', path.read_text(encoding="utf-8"), re.M))
    host |= listed(code(CUDA / "kernels" / "host" / "host_ops.cc"), "kWholeOps")
    return own, host - own


def main(opgen):
    own, host = gpu_ops()
    page = subprocess.run([opgen, "docs"], capture_output=True, text=True, check=True).stdout
    lines = []
    for line in page.splitlines():
        op = re.match(r"\| (\w+) \| \S+ \| ", line)
        if line.startswith("| op |"):
            lines += [NOTE, line + " GPU |"]
        elif line.startswith("|---"):
            lines.append(line + "---|")
        elif op:
            lines.append(f"{line} {'yes' if op[1] in own else 'host' if op[1] in host else '-'} |")
        else:
            lines.append(line)
    print("\n".join(lines))


if __name__ == "__main__":
    main(sys.argv[1])
