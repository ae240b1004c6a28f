# SPDX-License-Identifier: Apache-2.0
"""hvd.Adasum: a sum in which what two gradients have in common counts once.

adasum(a, b) = (1 - a.b / 2|a|^2) a + (1 - a.b / 2|b|^2) b: the sum of gradients that are orthogonal, the mean of parallel ones. More ranks are
combined in pairs of neighbours, then pairs of pairs, so that their number is a power of two.
"""
from __future__ import annotations

from millstream import gen_ops
from millstream.framework import dtypes, ops
from millstream.horovod import collectives, process_sets, world_in_graph
from millstream.ops.array import array_ops
from millstream.ops.math import math_ops, reduce_ops
from millstream.ops.variables import state_ops
from millstream.training import optimizer as optimizer_lib


def check(process_set):
    """The number of ranks, which has to be a power of two."""
    if process_sets.may_change():
        raise NotImplementedError("hvd.Adasum is for jobs whose number of ranks is fixed")
    size = process_set.size()
    if size & (size - 1):
        raise NotImplementedError(f"hvd.Adasum needs a number of ranks that is a power of two, not {size}")
    return size


def _share(dot, square):
    one = ops.convert_to_tensor(1.0, dtype=square.dtype)
    positive = gen_ops.greater(square, gen_ops.zeros_like(square))
    return gen_ops.select(positive, one - dot / (gen_ops.select(positive, square, one) * 2.0), one)


def _pair(a, b):
    dot, a_square, b_square = (reduce_ops.reduce_sum(x * y) for x, y in ((a, b), (a, a), (b, b)))
    return a * _share(dot, a_square) + b * _share(dot, b_square)


def reduce_tensor(tensor, name, process_set):
    """The tensors of all ranks, combined in double precision. `name` is the same on all ranks."""
    size = check(process_set)
    if not tensor.dtype.is_floating:
        raise ValueError(f"hvd.Adasum reduces floating point tensors, not {tensor.dtype.name}")
    if world_in_graph.is_alone(process_set):
        return gen_ops.identity(tensor)
    together = math_ops.cast(collectives.gather(array_ops.expand_dims(tensor, 0), name, process_set), dtypes.float64)
    parts = [together[rank] for rank in range(size)]
    while len(parts) > 1:
        parts = [_pair(a, b) for a, b in zip(parts[::2], parts[1::2])]
    return math_ops.cast(parts[0], tensor.dtype)


class AdasumOptimizer(optimizer_lib.Optimizer):
    """Each rank makes a step of its own; the variables then move by the Adasum of these steps."""

    def __init__(self, optimizer, name, use_locking, reduce):
        super().__init__(use_locking, name or f"Distributed{type(optimizer).__name__}")
        self._optimizer, self._reduce = optimizer, reduce

    def compute_gradients(self, *args, **kwargs):
        return self._optimizer.compute_gradients(*args, **kwargs)

    def apply_gradients(self, grads_and_vars, global_step=None, name=None):
        grads_and_vars = [(g, v) for g, v in grads_and_vars if g is not None]
        moved = [v for _, v in grads_and_vars]
        with ops.name_scope(self._name + "_Adasum"):
            with ops.control_dependencies([g for g, _ in grads_and_vars]):
                begin = [gen_ops.deep_copy(v.read_value()) for v in moved]  # the value of a variable may be its memory
            with ops.control_dependencies(begin):
                step = self._optimizer.apply_gradients(grads_and_vars, global_step=global_step, name=name)
            with ops.control_dependencies([step]):
                steps = [v.read_value() - b for v, b in zip(moved, begin)]
            updates = [state_ops.assign(v, b + s) for v, b, s in zip(moved, begin, self._reduce(steps))]
        from millstream.ops.flow import control_flow_ops
        return control_flow_ops.group(*updates)

    def get_slot(self, *args, **kwargs):
        return self._optimizer.get_slot(*args, **kwargs)

    def get_slot_names(self, *args, **kwargs):
        return self._optimizer.get_slot_names(*args, **kwargs)

    def variables(self, *args, **kwargs):
        return self._optimizer.variables(*args, **kwargs)
