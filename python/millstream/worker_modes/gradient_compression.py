# SPDX-License-Identifier: Apache-2.0
"""How dense gradients are made smaller while they travel."""
from __future__ import annotations

import math

from millstream import gen_ops
from millstream.framework import dtypes, ops
from millstream.ops.variables import init_ops, state_ops, variables

KINDS = ("none", "fp16", "bf16", "topk")
_NARROW = {"fp16": dtypes.float16, "bf16": dtypes.bfloat16}
_WIDE = (dtypes.float32, dtypes.float64)


def narrow(tensor, kind):
    """Floats as they travel, and are summed, with 16 bits; others as they are."""
    return gen_ops.cast(tensor, DstT=_NARROW[kind]) if tensor.dtype.is_floating and tensor.dtype != _NARROW[kind] else tensor


def widen(tensor, dtype):
    return tensor if tensor.dtype == dtype else gen_ops.cast(tensor, DstT=dtype)


def check(kind, ratio):
    if kind not in KINDS:
        raise ValueError(f"compression must be one of {', '.join(KINDS)}: {kind!r}")
    if not 0 < ratio <= 1:
        raise ValueError(f"The share of gradients that is sent must be above 0 and at most 1: {ratio}")


def _num_sent(ratio, size, workers):
    """How many entries of a gradient travel; 0: all numbers without indices are smaller."""
    sent = max(1, math.ceil(ratio * size))
    return sent if 2 * sent * workers < size else 0


def compressed_mean(group, kind, ratio, variable, gradient, name):
    """The mean of a worker's dense gradient of `variable` over the group. What "topk" holds back is in a local variable of the worker,
    "<variable>/<name>/residual"."""
    if gradient.dtype not in _WIDE or kind == "none":
        return group.mean(gradient)
    if kind in _NARROW:
        return widen(group.mean(narrow(gradient, kind)), gradient.dtype)
    size = gradient.shape.num_elements()
    sent = 0 if size is None or size > 2**31 - 1 else _num_sent(ratio, size, group.size)
    if sent == 0:
        return group.mean(gradient)
    with ops.colocate_with(gradient.op), ops.name_scope(""):
        residual = variables.Variable(lambda: init_ops.Zeros()([size], gradient.dtype), trainable=False, collections=[ops.GraphKeys.LOCAL_VARIABLES],
                                      name=f"{variable.op.name}/{name}/residual")
    return _top_k_mean(group, residual, gradient, sent)


def _top_k_mean(group, residual, gradient, sent):
    """What is left of a gradient after the entries with the largest absolute values were sent is added to the next one: no part of a
    gradient is lost, it only comes later."""
    with ops.name_scope("top_k"):
        flat = gen_ops.reshape(gradient, ops.convert_to_tensor([-1], dtype=dtypes.int32, name="flat"))
        total = gen_ops.add_v2(flat, residual)
        _, indices = gen_ops.top_kv2(gen_ops.abs(total), ops.convert_to_tensor(sent, dtype=dtypes.int32, name="k"), sorted=False)
        values = gen_ops.gather_v2(total, indices, ops.convert_to_tensor(0, dtype=dtypes.int32, name="axis"))
        last = ops.convert_to_tensor(-1, dtype=dtypes.int32, name="last")
        rest = gen_ops.tensor_scatter_sub(total, gen_ops.expand_dims(indices, last), values)
        keep = state_ops.assign(residual, rest)
        all_values = group.gather(values)
        all_indices = gen_ops.expand_dims(group.gather(indices), last)
        count = ops.convert_to_tensor(float(group.size), dtype=gradient.dtype, name="workers")
        size = ops.convert_to_tensor([gradient.shape.num_elements()], dtype=dtypes.int32, name="size")
        mean = gen_ops.scatter_nd(all_indices, gen_ops.real_div(all_values, count), size)
        whole = ops.convert_to_tensor(gradient.shape.as_list(), dtype=dtypes.int32, name="shape")
        with ops.control_dependencies([keep.op]):
            return gen_ops.reshape(mean, whole, name="mean")
