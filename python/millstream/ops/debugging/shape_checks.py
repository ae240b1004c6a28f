# SPDX-License-Identifier: Apache-2.0
"""tf.debugging.assert_shapes: sizes by letters, of several tensors at once."""
from __future__ import annotations

from typing import TYPE_CHECKING

from millstream.framework import ops
from millstream.ops.array import array_ops
from millstream.ops.debugging import check_ops
from millstream.ops.flow import control_flow_ops

if TYPE_CHECKING:
    from typing import Any
    from millstream.framework.operation import Operation


def assert_shapes(shapes, data=None, summarize=None, message=None, name=None) -> Operation:
    """Checks the shapes of tensors against patterns such as `(x, ("N", 3, "?"))`, where each letter stands for one size.

    Raises ValueError for what is wrong when the graph is built; an op checks the rest when it runs.
    """
    pairs = list(shapes.items()) if isinstance(shapes, dict) else list(shapes)
    message = message or ""
    with ops.name_scope(name, "assert_shapes"):
        sizes: dict[Any, Any] = {}
        checks: list[Any] = []
        for tensor, wanted in pairs:
            tensor = ops.convert_to_tensor(tensor)
            wanted = list(wanted) if isinstance(wanted, (list, tuple, str)) else [wanted] if wanted not in ((), None) else []
            _check_rank(tensor, wanted, message)
            static, dynamic = tensor.shape.as_list() if tensor.shape.rank is not None else [None] * len(wanted), array_ops.shape(tensor)
            open_front = wanted and wanted[0] in (Ellipsis, "...")
            for i, symbol in enumerate(wanted):
                at = i - len(wanted) if open_front else i
                if symbol in (Ellipsis, "...", "?", "*", None, "."):
                    continue
                fixed = int(symbol) if isinstance(symbol, int) or isinstance(symbol, str) and symbol.isdigit() else None
                known = static[at]
                expected = fixed if fixed is not None else sizes.get(symbol)
                if isinstance(expected, int) and known is not None:
                    if expected != known:
                        raise ValueError(f"{message} Specified by tensor {tensor.name} dimension {at}. Tensor {tensor.name} dimension "
                                         f"{at} must have size {expected}. Received size {known}, shape {tensor.shape}")
                elif expected is not None:
                    checks.append(check_ops.assert_equal(dynamic[at], expected, data=data, summarize=summarize, message=message))
                if fixed is None and (symbol not in sizes or known is not None):
                    sizes[symbol] = known if known is not None else dynamic[at]
        return control_flow_ops.group(*checks)


def _check_rank(tensor, wanted, message):
    rank = tensor.shape.rank
    if rank is None or any(s in (Ellipsis, "...") for s in wanted):
        return
    if rank != len(wanted):
        raise ValueError(f"{message} {tensor.name} must have rank {len(wanted)}. Received rank {rank}, shape {tensor.shape}")
