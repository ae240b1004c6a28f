# SPDX-License-Identifier: Apache-2.0
"""tf.py_func: an op that calls a Python function of this process."""
import itertools
import weakref

import numpy as np

from millstream import _core, gen_ops
from millstream.framework import scopes

_functions = weakref.WeakValueDictionary()  # by token; the graphs that use them keep them
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


def py_func(func, inp, Tout, stateful=True, name=None):  # pylint: disable=invalid-name
    """Calls func with the values of `inp` as NumPy arrays. `Tout` is a type, or a list of them for several results."""
    token = f"pyfunc_{next(_counter)}"
    holder = _Function(func)
    _functions[token] = holder
    graph = scopes.get_default_graph()
    while getattr(graph, "outer_graph", None) is not None:  # the body of a function lives as long as the graph around it
        graph = graph.outer_graph
    graph.__dict__.setdefault("_py_funcs", []).append(holder)
    types = list(Tout) if isinstance(Tout, (list, tuple)) else [Tout]
    op = gen_ops.py_func if stateful else gen_ops.py_func_stateless
    results = op(list(inp), token=token, Tout=types, name=name)
    return results if isinstance(Tout, (list, tuple)) else results[0]


def numpy_function(func, inp, Tout, stateful=True, name=None):  # pylint: disable=invalid-name
    return py_func(func, inp, Tout, stateful, name)
