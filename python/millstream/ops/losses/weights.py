# SPDX-License-Identifier: Apache-2.0
"""Weights that fit values: scalars, or of the same rank with sizes that are 1 or equal."""
from millstream import gen_ops
from millstream.framework import constant_op, ops
from millstream.ops.array import array_ops
from millstream.ops.debugging import check_ops
from millstream.ops.math import math_ops

_MESSAGE = "weights can not be broadcast to values."


def assert_broadcastable(weights, values):
    """Dependencies that check what is not known while the graph is built; ValueError for what is."""
    weights = ops.convert_to_tensor(weights, name="weights")
    values = ops.convert_to_tensor(values, name="values")
    w, v = weights.shape, values.shape
    if w.rank == 0:
        return []
    if w.rank is not None and v.rank is not None:
        if w.rank != v.rank:
            raise ValueError(f"{_MESSAGE} values.rank={v.rank}. weights.rank={w.rank}. values.shape={v}. weights.shape={w}.")
        for i, (a, b) in enumerate(zip(v.as_list(), w.as_list())):
            if a is not None and b is not None and b not in (1, a):
                raise ValueError(f"{_MESSAGE} Mismatch at dim {i}. values.shape={v} weights.shape={w}.")
        if w.is_fully_defined() and v.is_fully_defined():
            return []
    fits = gen_ops.logical_or(gen_ops.equal(gen_ops.rank(weights), 0), _same_rank_and_sizes(weights, values))
    return [check_ops.Assert(fits, [_MESSAGE, "weights.shape=", array_ops.shape(weights), "values.shape=",
                                    array_ops.shape(values)])]


def _same_rank_and_sizes(weights, values):
    from millstream.ops.flow import control_flow_ops
    from millstream.ops.math import reduce_ops
    w, v = array_ops.shape(weights), array_ops.shape(values)

    def sizes():
        return reduce_ops.reduce_all(gen_ops.logical_or(gen_ops.equal(w, 1), gen_ops.equal(w, v)))
    same = gen_ops.equal(gen_ops.rank(weights), gen_ops.rank(values))
    return control_flow_ops.cond(same, sizes, lambda: constant_op.constant(False))


def broadcast_weights(weights, values):
    with ops.name_scope(None, "broadcast_weights", (weights, values)) as scope:
        values = ops.convert_to_tensor(values, name="values")
        weights = math_ops.cast(ops.convert_to_tensor(weights, name="weights"), values.dtype.base_dtype)
        if weights.shape.is_fully_defined() and values.shape.is_fully_defined() and (
                weights.shape.as_list() == values.shape.as_list()):
            return weights
        with ops.control_dependencies(assert_broadcastable(weights, values)):
            return gen_ops.mul(weights, array_ops.ones_like(values), name=scope)
