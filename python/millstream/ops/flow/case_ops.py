# SPDX-License-Identifier: Apache-2.0
"""tf.case and tf.switch_case: the first branch whose predicate holds."""
from __future__ import annotations

from typing import TYPE_CHECKING

from millstream import gen_ops
from millstream.framework import ops
from millstream.ops.array import array_ops
from millstream.ops.flow import control_flow_ops
from millstream.ops.math import math_ops, reduce_ops

if TYPE_CHECKING:
    from typing import Any


def _pairs(pred_fn_pairs, exclusive):
    if isinstance(pred_fn_pairs, dict):
        pairs = list(pred_fn_pairs.items())
        if not exclusive and not all(ops.is_dense_tensor_like(p) for p, _ in pairs):
            raise TypeError("pred_fn_pairs must be a list, or a dict with exclusive=True")
        pairs = sorted(pairs, key=lambda item: item[0].name)
    elif isinstance(pred_fn_pairs, (list, tuple)):
        pairs = list(pred_fn_pairs)
    else:
        raise TypeError(f"'pred_fn_pairs' must be a list, tuple, or dict. Received: {type(pred_fn_pairs)}")
    for pair in pairs:
        if not isinstance(pair, tuple) or len(pair) != 2:
            raise TypeError(f"Each entry in 'pred_fn_pairs' must be a 2-tuple. Received {pair}.")
        pred, fn = pair
        if not ops.is_dense_tensor_like(pred) or pred.dtype.base_dtype.name != "bool":
            raise TypeError(f"pred must be Tensor of type bool: {pred}")
        if not callable(fn):
            raise TypeError(f"callable required for pred {pred.name}.")
    return pairs


def case(pred_fn_pairs: Any, default: Any = None, exclusive: bool = False, strict: bool = False, name: str = "case") -> Any:
    """The result of the first pair whose predicate is true, else of `default`."""
    pairs = _pairs(pred_fn_pairs, exclusive)
    if default is not None and not callable(default):
        raise TypeError("default must be callable.")
    with ops.name_scope(name, "case", [p for p, _ in pairs]):
        if not pairs:
            return default()
        preds = [p for p, _ in pairs]
        checks = []
        if exclusive and len(preds) > 1:
            count = reduce_ops.reduce_sum(math_ops.cast(array_ops.stack(preds), "int32"))
            checks.append(control_flow_ops.Assert(gen_ops.less(count, 2), [
                "Input error: exclusive=True: more than 1 conditions evaluated as True:"] + preds, summarize=len(preds)))
        if default is None:
            checks.append(control_flow_ops.Assert(reduce_ops.reduce_any(array_ops.stack(preds)), [
                "Input error: exclusive=%s: None of conditions evaluated as True:" % exclusive] + preds,
                summarize=len(preds)))
            default = pairs[-1][1]
            pairs = pairs[:-1]
        result = default
        for pred, fn in reversed(pairs):
            def choose(pred=pred, fn=fn, other=result):
                return control_flow_ops.cond(pred, fn, other, strict=strict)
            result = choose
        with ops.control_dependencies(checks):
            return result()


def switch_case(branch_index: Any, branch_fns: Any, default: Any = None, name: str = "switch_case") -> Any:
    with ops.name_scope(name, "switch_case", [branch_index]):
        index = ops.convert_to_tensor(branch_index, name="branch_index")
        if isinstance(branch_fns, dict):
            branches = sorted(branch_fns.items())
        elif branch_fns and isinstance(branch_fns[0], (list, tuple)):
            branches = sorted(branch_fns)
        else:
            branches = list(enumerate(branch_fns))
        if default is None:
            default = branches[-1][1]
        return case([(gen_ops.equal(index, i), fn) for i, fn in branches], default)
