# SPDX-License-Identifier: Apache-2.0
"""Datasets of Python generators. They run in this process, whichever task uses the dataset."""
import itertools
import threading

import numpy as np

from millstream.datasets import structure
from millstream.framework import dtypes, tensor_shape

_lock = threading.Lock()
_running: dict = {}
_ids = itertools.count()


def from_generator(generator, output_types, output_shapes=None, args=None):
    from millstream.datasets import dataset_ops, iterator_ops
    from millstream.ops.functions import script_ops
    if not callable(generator):
        raise TypeError("`generator` must be a Python callable.")
    types = structure.map_structure(dtypes.as_dtype, output_types)
    shapes = iterator_ops._shapes_like(types, output_shapes)
    flat_types, flat_shapes = structure.flatten(types), structure.flatten(shapes)

    def start(*values):
        with _lock:
            key = next(_ids)
            _running[key] = iter(generator(*values))
        return np.int64(key)

    def advance(key):
        try:
            value = next(_running[int(key)])
        except StopIteration:
            with _lock:
                _running.pop(int(key), None)
            raise  # the op ends with OutOfRange, and with it the dataset
        return _arrays(value, types, flat_types, flat_shapes)

    def elements(key):
        return dataset_ops.Dataset.from_tensors(key).repeat().map(lambda k: call(k))

    def call(key):
        results = script_ops.py_func(advance, [key], flat_types, stateful=True)
        results = results if isinstance(results, (list, tuple)) else [results]
        for tensor, shape in zip(results, flat_shapes):
            tensor.set_shape(tensor_shape.TensorShape(shape))
        return structure.pack_like(types, results)

    def begin(*values):
        key = script_ops.py_func(start, list(values), dtypes.int64, stateful=True)
        key.set_shape([])
        return key

    source = dataset_ops.Dataset.from_tensors(tuple(args)) if args else dataset_ops.Dataset.from_tensors(np.int64(0))
    first = source.map(begin) if args else source.map(lambda unused: begin())
    return first.flat_map(elements)


def _arrays(value, types, flat_types, flat_shapes):
    if structure.is_nested(types):
        value = tuple(value) if isinstance(types, tuple) and not isinstance(value, tuple) else value
        leaves = structure.flatten(value)
    else:
        leaves = [value]
    if len(leaves) != len(flat_types):
        raise TypeError(f"`generator` yielded an element that did not match the expected structure: {value!r}")
    out = []
    for leaf, dtype, shape in zip(leaves, flat_types, flat_shapes):
        array = np.asarray(leaf, dtype=object if dtype == dtypes.string else dtype.as_numpy_dtype)
        if not shape.is_compatible_with(array.shape):
            raise ValueError(f"`generator` yielded an element of shape {array.shape} where an element of shape {shape} was "
                             "expected.")
        out.append(array)
    return out
