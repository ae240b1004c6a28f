# SPDX-License-Identifier: Apache-2.0
"""slim.model_analyzer: sizes of variables and tensors."""


def tensor_description(var):
    sizes = "x".join(str(d) for d in var.shape.as_list())
    return f"({var.dtype.base_dtype.name} {sizes})"


def analyze_vars(variables, print_info=False):
    """(number of values, bytes) of all variables."""
    if print_info:
        print("---------\nVariables: name (type shape) [size]\n---------")
    total, total_bytes = 0, 0
    for var in variables:
        count = var.shape.num_elements() or 0
        size = count * var.dtype.base_dtype.size
        total, total_bytes = total + count, total_bytes + size
        if print_info:
            print(var.name, tensor_description(var), f"[{count}, bytes: {size}]")
    if print_info:
        print(f"Total size of variables: {total}\nTotal bytes of variables: {total_bytes}")
    return total, total_bytes


def analyze_ops(graph, print_info=False):
    """The number of values of all outputs whose shapes are known."""
    if print_info:
        print("---------\nOperations: name -> (type shapes) [size]\n---------")
    total = 0
    for op in graph.get_operations():
        size = sum(t.shape.num_elements() or 0 for t in op.outputs if t.shape.is_fully_defined())
        total += size
        if print_info:
            print(op.name, "->", ", ".join(tensor_description(t) if t.shape.rank is not None else "?" for t in op.outputs), f"[{size}]")
    if print_info:
        print(f"Total size of outputs: {total}")
    return total
