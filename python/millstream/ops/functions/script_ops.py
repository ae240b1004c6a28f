# SPDX-License-Identifier: Apache-2.0
"""tf.py_func: an op that calls a Python function of this process."""
from __future__ import annotations

import itertools
import weakref
from typing import TYPE_CHECKING

import numpy as np

from millstream import _core, gen_ops
from millstream.framework import dtypes, ops, scopes

if TYPE_CHECKING:
    from typing import Any, Optional

    from millstream.framework.type_aliases import DTypeLike

_functions: weakref.WeakValueDictionary = weakref.WeakValueDictionary()  # by token; the graphs that use them keep them
_counter = itertools.count()


class _Function:
    def __init__(self, function):
        self.function = function


def _to_array(value):
    if isinstance(value, (str, bytes)):
        return np.array(value.encode() if isinstance(value, str) else value, dtype=object)
    array = np.asarray(value, order="C")
    if array.dtype.kind in "SU" and array is not value:
        return np.asarray(value, dtype=object)
    return array


def _call(token, args):
    holder = _functions.get(token)
    if holder is None:
        raise ValueError(f"callback {token} is not found")
    result = holder.function(*args)
    if result is None:
        return []
    if isinstance(result, (list, tuple)):
        return [_to_array(r) for r in result]
    return [_to_array(result)]


_core.set_py_func_caller(_call)


def _register(function):
    """The token by which an op finds the function; the graph of now keeps it."""
    token = f"pyfunc_{next(_counter)}"
    holder = _Function(function)
    _functions[token] = holder
    graph = scopes.get_default_graph()
    while getattr(graph, "outer_graph", None) is not None:  # the body of a function lives as long as the graph around it
        graph = graph.outer_graph
    graph.__dict__.setdefault("_py_funcs", []).append(holder)
    return token


def py_func(func: Any, inp: Any, Tout: DTypeLike, stateful: bool = True, name: Optional[str] = None) -> Any:  # pylint: disable=invalid-name
    """Calls func with the values of `inp` as NumPy arrays. `Tout` is a type, or a list of them for several results."""
    types = list(Tout) if isinstance(Tout, (list, tuple)) else [Tout]
    op = gen_ops.py_func if stateful else gen_ops.py_func_stateless
    results = op(list(inp), token=_register(func), Tout=types, name=name)
    return results if isinstance(Tout, (list, tuple)) else results[0]


def numpy_function(func: Any, inp: Any, Tout: DTypeLike, stateful: bool = True, name: Optional[str] = None) -> Any:  # pylint: disable=invalid-name
    return py_func(func, inp, Tout, stateful, name)


def py_function(func: Any = None, inp: Any = None, Tout: Optional[DTypeLike] = None, name: Optional[str] = None) -> Any:  # pylint: disable=invalid-name
    """Calls func with tensors that have values: x.numpy() and Python's `if` work on them, and so do ops. Its gradient is that of
    the ops that func called."""
    from millstream.ops.functions import eager_values
    types = [dtypes.as_dtype(t) for t in (Tout if isinstance(Tout, (list, tuple)) else [Tout])]
    call = eager_values.Call(func, types)
    results = gen_ops.eager_py_func(list(inp or ()), token=_register(call), Tout=types, name=name)
    if not types:
        return results
    results[0].op._eager_call = call
    return results if isinstance(Tout, (list, tuple)) else results[0]


@scopes.RegisterGradient("EagerPyFunc")
def _eager_py_func_gradient(op, *grads):
    inputs = [t for t in op.inputs if t.dtype.is_floating or t.dtype.is_complex]
    with ops.control_dependencies([op]):  # the call that it is the gradient of comes first
        found = py_func(op._eager_call.gradient, list(grads), [t.dtype for t in inputs]) if inputs else []
    by_id = dict(zip(map(id, inputs), found))
    for tensor, grad in zip(inputs, found):
        grad.set_shape(tensor.shape)
    return [by_id.get(id(t)) for t in op.inputs]
