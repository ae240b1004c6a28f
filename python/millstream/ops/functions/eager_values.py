# SPDX-License-Identifier: Apache-2.0
"""Tensors with values, for the functions of tf.py_function: each op that such a function calls runs before its value is used."""
import numpy as np

from millstream.framework import dtypes, ops
from millstream.framework.graph import Graph
from millstream.framework.tensor import Tensor


class EagerTensor(Tensor):
    """A tensor of an EagerGraph. What needs its value gets it."""

    def numpy(self):
        value = self.graph._value_of(self)
        return value.copy() if isinstance(value, np.ndarray) else value

    def __array__(self, dtype=None, copy=None):
        return np.asarray(self.numpy(), dtype=dtype)

    def __bool__(self):
        return bool(self.numpy())

    def __int__(self):
        return int(self.numpy())

    def __float__(self):
        return float(self.numpy())

    def __index__(self):
        return int(self.numpy())

    def __len__(self):
        return len(self.numpy())

    def __iter__(self):
        return iter([self[i] for i in range(len(self.numpy()))])

    def __repr__(self):
        return f"<tf.Tensor: shape={self.shape}, dtype={self.dtype.name}, numpy={self.numpy()!r}>"

    __str__ = __repr__


class EagerGraph(Graph):
    """A graph whose nodes run once each, in the order in which they are made, when the value of one of them is wanted."""

    _tensor_class = EagerTensor

    def __init__(self):
        super().__init__()
        self._values = {}
        self._seen = 0
        self._running = None

    def _constants(self, arrays):
        """Tensors of values that need not be computed."""
        tensors = [ops.convert_to_tensor(a) for a in arrays]
        self._values.update(zip(tensors, arrays))
        self._seen = len(self.get_operations())
        return tensors

    def _value_of(self, tensor):
        if tensor not in self._values:
            self._run_new_nodes()
        return self._values[tensor]

    def _run_new_nodes(self):
        from millstream.client import session
        new = self.get_operations()[self._seen:]
        self._seen += len(new)
        kept = [t for op in new for t in op.outputs if t.dtype.base_dtype not in (dtypes.resource, dtypes.variant)]
        if self._running is None:
            self._running = session.Session(graph=self)
        values, _ = self._running.run([kept, [op for op in new if not op.outputs]], feed_dict=dict(self._values))
        self._values.update(zip(kept, values))

    def _close(self):
        if self._running is not None:
            self._running.close()
            self._running = None


def _array(value, dtype):
    if isinstance(value, EagerTensor):
        value = value.numpy()
    if dtype == dtypes.string:
        return np.array(value.encode() if isinstance(value, str) else value, dtype=object)
    return np.asarray(value, dtype=dtype.as_numpy_dtype)


class Call:
    """A function for tensors with values, called with arrays; and the gradient of its last call."""

    def __init__(self, function, types):
        self._function, self._types = function, types
        self._last = None

    def __call__(self, *arrays):
        if self._last is not None:
            self._last[0]._close()
        graph = EagerGraph()
        with graph.as_default():
            inputs = graph._constants(arrays)
            results = self._function(*inputs)
            results = [] if results is None else list(results) if isinstance(results, (list, tuple)) else [results]
            if len(results) != len(self._types):
                raise ValueError(f"The function returned {len(results)} values, but Tout has {len(self._types)} types.")
            for result, dtype in zip(results, self._types):
                if isinstance(result, Tensor) and result.dtype != dtype:
                    raise TypeError(f"The function returned a tensor of type {result.dtype.name} where Tout has {dtype.name}.")
            values = [_array(r, t) for r, t in zip(results, self._types)]
        self._last = graph, inputs, results
        return values

    def gradient(self, *grads):
        """Gradients of the inputs of floating types, for those of the results."""
        from millstream.framework import gradients
        graph, inputs, results = self._last
        inputs = [t for t in inputs if t.dtype.is_floating or t.dtype.is_complex]
        with graph.as_default():
            pairs = [(r, ops.convert_to_tensor(g)) for r, g in zip(results, grads) if isinstance(r, Tensor)]
            found = gradients.gradients([r for r, _ in pairs], inputs, [g for _, g in pairs]) if pairs else [None] * len(inputs)
            return [np.zeros(t.numpy().shape, t.dtype.as_numpy_dtype) if g is None else ops.convert_to_tensor(g).numpy()
                    for t, g in zip(inputs, found)]
