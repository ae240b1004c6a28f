# SPDX-License-Identifier: Apache-2.0
"""Public functions that take ragged tensors: tf.add, tf.reduce_sum, tf.concat and so on.

Programs without ragged tensors never load this. install() gives the public functions (dispatched_names.py) others to call, which
look at their arguments; without a ragged argument they are what they were.
"""
import functools
import inspect
import sys

from millstream.framework import ops
from millstream.ops.ragged import dispatched_names, ragged_ops, ragged_reduce
from millstream.ops.ragged.ragged_tensor import RaggedTensor, is_ragged

def _elementwise(function):
    """Of the flat values of the first ragged argument."""
    @functools.wraps(function)
    def dispatch(*args, **kwargs):
        if any(map(is_ragged, args)) or any(map(is_ragged, kwargs.values())):
            args = [ragged_ops.convert(a) if is_ragged(a) else a for a in args]
            kwargs = {k: ragged_ops.convert(v) if is_ragged(v) else v for k, v in kwargs.items()}
            return ragged_ops.map_flat_values(function, *args, **kwargs)
        return function(*args, **kwargs)
    return dispatch


def pair(function, x, y, *args, **kwargs):
    """function(x, y) of values, where one or both are ragged."""
    x, y = (ragged_ops.convert(v) if is_ragged(v) else v for v in (x, y))
    like = x if isinstance(x, RaggedTensor) and (not isinstance(y, RaggedTensor) or x.ragged_rank >= y.ragged_rank) else y
    flat = [v.flat_values if isinstance(v, RaggedTensor) else ragged_ops.broadcast_flat(v, like) for v in (x, y)]
    return like.with_flat_values(function(*flat, *args, **kwargs))


def _pairwise(function):
    @functools.wraps(function)
    def dispatch(x, y, *args, **kwargs):
        return pair(function, x, y, *args, **kwargs) if is_ragged(x) or is_ragged(y) else function(x, y, *args, **kwargs)
    return dispatch


def _reduction(kind):
    def wrap(function):
        @functools.wraps(function)
        def dispatch(input_tensor, *args, **kwargs):
            if not is_ragged(input_tensor):
                return function(input_tensor, *args, **kwargs)
            bound = inspect.signature(function).bind(input_tensor, *args, **kwargs).arguments
            axis = bound.get("axis", bound.get("reduction_indices"))
            keep = bound.get("keepdims", bound.get("keep_dims")) or False
            return ragged_reduce.reduce(kind, ragged_ops.convert(input_tensor), axis, keep)
        return dispatch
    return wrap


def _first(replacement, listed=False):
    """`replacement` where the first argument (or one of the list that it is) is ragged."""
    def wrap(function):
        @functools.wraps(function)
        def dispatch(*args, **kwargs):
            first = args[0] if args else next(iter(kwargs.values()), None)
            if any(map(is_ragged, first)) if listed and isinstance(first, (list, tuple)) else is_ragged(first):
                return replacement(*args, **kwargs)
            return function(*args, **kwargs)
        return dispatch
    return wrap


def _any(replacement):
    def wrap(function):
        @functools.wraps(function)
        def dispatch(*args, **kwargs):
            ragged = any(map(is_ragged, args)) or any(map(is_ragged, kwargs.values()))
            return (replacement if ragged else function)(*args, **kwargs)
        return dispatch
    return wrap


def _embedding_lookup(function):
    @functools.wraps(function)
    def dispatch(params, ids, *args, **kwargs):
        if not is_ragged(ids):
            return function(params, ids, *args, **kwargs)
        ids = ragged_ops.convert(ids)
        return ids.with_flat_values(function(params, ids.flat_values, *args, **kwargs))
    return dispatch


def _add_n(inputs, name=None):
    from millstream.ops.math import math_ops
    inputs = [ragged_ops.convert(i) for i in inputs]
    return inputs[0].with_flat_values(math_ops.add_n([i.flat_values for i in inputs], name=name))


def _string_join(inputs, separator="", name=None):
    from millstream.ops.strings import string_ops
    like = next(i for i in inputs if is_ragged(i))
    flat = [i.flat_values if is_ragged(i) else ops.convert_to_tensor(i) for i in inputs]
    return like.with_flat_values(string_ops.string_join(flat, separator, name=name))


def _size(input, name=None, out_type=None):  # pylint: disable=redefined-builtin
    from millstream.ops.array import array_ops
    return array_ops.size(input.flat_values, out_type=out_type or "int32")


def _rank(input, name=None):  # pylint: disable=redefined-builtin
    from millstream.ops.array import array_ops
    return input.ragged_rank + array_ops.rank(input.flat_values)


def _reverse(tensor, axis, name=None):
    if list(axis) != [0]:
        raise NotImplementedError("tf.reverse() of a ragged tensor along inner dimensions")
    from millstream.ops.math import math_ops
    return ragged_ops.gather(tensor, math_ops.range(tensor.nrows() - 1, -1, -1))


_OTHERS = {
    "concat": _first(ragged_ops.concat, listed=True), "stack": _first(ragged_ops.stack, listed=True),
    "expand_dims": _first(ragged_ops.expand_dims), "gather": _any(ragged_ops.gather), "tile": _first(ragged_ops.tile),
    "where": _any(ragged_ops.where), "where_v2": _any(ragged_ops.where), "boolean_mask": _any(ragged_ops.boolean_mask),
    "size": _first(_size), "rank": _first(_rank), "reverse": _first(_reverse), "nn.embedding_lookup": _embedding_lookup,
    "add_n": _first(_add_n, listed=True), "string_join": _first(_string_join, listed=True),
    "strings.join": _first(_string_join, listed=True),
    "batch_gather": _any(lambda params, indices, name=None: ragged_ops.gather(params, indices, batch_dims=1)),
}


def _operators():
    """+, <, ~ and so on of RaggedTensor."""
    from millstream.framework import operators
    methods = operators.operator_methods()
    for name, method in methods.items():
        if name == "__getitem__":
            continue
        if name in ("__neg__", "__abs__", "__invert__"):
            setattr(RaggedTensor, name, lambda self, f=method: self.with_flat_values(f(self.flat_values)))
        elif name.startswith("__r"):
            forward = methods["__" + name[3:]]
            setattr(RaggedTensor, name, lambda self, other, f=forward: pair(f, other, self))
        else:
            setattr(RaggedTensor, name, lambda self, other, f=method: pair(f, self, other))


def install():
    _operators()
    wrappers = dict(_OTHERS)
    wrappers.update({name: _elementwise for name in dispatched_names.UNARY.split()})
    wrappers.update({name: _pairwise for name in dispatched_names.BINARY.split()})
    wrappers.update({name: _reduction(name) for name in dispatched_names.REDUCE.split()})
    for name, wrap in wrappers.items():
        *spaces, last = name.split(".")
        for space in dispatched_names.namespaces(spaces):
            public = getattr(sys.modules.get(space), last, None)
            if public is not None:
                function = public.__wrapped__
                dispatched_names.replacements[function] = wrap(function)



install()
