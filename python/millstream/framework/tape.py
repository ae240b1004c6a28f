# SPDX-License-Identifier: Apache-2.0
"""tf.GradientTape in graphs: gradients of what was made while the tape ran."""
from __future__ import annotations

from typing import TYPE_CHECKING

from millstream.framework import gradients, jacobians, ops

if TYPE_CHECKING:
    from typing import Any

    from millstream.framework.type_aliases import TensorLike


def _key(source):
    return id(source)


class GradientTape:
    """Records which nodes are made inside its `with`, so that `gradient(target, sources)` can differentiate them.

    Trainable variables are watched by themselves, tensors by `watch`.
    """

    def __init__(self, persistent=False, watch_accessed_variables=True):
        self._persistent, self._variables = persistent, watch_accessed_variables
        self._watched, self._spans, self._used, self._start = {}, [], False, None

    def __enter__(self) -> Any:
        self._enter()
        return self

    def _enter(self):
        self._graph = ops.get_default_graph()
        self._start = self._graph._core.id_limit()

    def _leave(self):
        self._spans.append((self._start, self._graph._core.id_limit()))
        self._start = None

    def __exit__(self, kind, value, traceback):
        if self._start is not None:
            self._leave()

    def watch(self, tensor: TensorLike) -> None:
        from millstream.ops import nest
        for each in nest.flatten(tensor):
            self._watched[_key(each)] = each

    def watched_variables(self) -> Any:
        from millstream.ops.variables import variables
        trainable = ops.get_collection(ops.GraphKeys.TRAINABLE_VARIABLES) if self._variables else []
        return tuple(trainable) + tuple(v for v in self._watched.values() if isinstance(v, variables.Variable))

    def reset(self) -> None:
        self._watched, self._spans = {}, []
        if self._start is not None:
            self._enter()

    def stop_recording(self) -> Any:
        """A `with` whose nodes are not seen by the tape."""
        import contextlib

        @contextlib.contextmanager
        def paused():
            self._leave()
            try:
                yield
            finally:
                self._enter()
        return paused()

    def _sees(self, source):
        from millstream.ops.variables import variables
        if _key(source) in self._watched:
            return True
        if isinstance(source, variables.Variable):
            return self._variables and source.trainable
        spans = self._spans + ([(self._start, float("inf"))] if self._start is not None else [])
        return any(low <= source.op._id < high for low, high in spans)

    def _use(self):
        if self._used and not self._persistent:
            raise RuntimeError("A non-persistent GradientTape can only be used to compute one set of gradients (or jacobians)")
        self._used = True

    def gradient(self, target: str, sources: Any, output_gradients: Any = None,
                 unconnected_gradients: Any = gradients.UnconnectedGradients.NONE) -> Any:
        """Gradients in the structure of `sources`; None where there is none."""
        from millstream.ops import nest
        self._use()
        flat = nest.flatten(sources)
        known = [s for s in flat if self._sees(s)]
        grad_ys = None if output_gradients is None else nest.flatten(output_gradients)
        found = dict(zip(map(_key, known), gradients.gradients(
            nest.flatten(target), known, grad_ys=grad_ys, unconnected_gradients=unconnected_gradients))) if known else {}
        result = [found.get(_key(s)) for s in flat]
        return nest.pack_sequence_as(sources, result) if nest.is_nested(sources) else result[0]

    def jacobian(self, target: Any, sources: Any, unconnected_gradients: Any = gradients.UnconnectedGradients.NONE,
                 parallel_iterations: Any = None, experimental_use_pfor: Any = True) -> Any:
        """Of each element of the target: gradients with the target's shape in front."""
        from millstream.ops import nest
        from millstream.ops.array import array_ops
        self._use()
        flat = nest.flatten(sources)
        stacked = jacobians.element_gradients(array_ops.reshape(target, [-1]), flat, parallel_iterations,
                                              unconnected_gradients=unconnected_gradients)
        out = []
        for source, rows in zip(flat, stacked):
            if rows is not None:
                rows = array_ops.reshape(rows, array_ops.concat([array_ops.shape(target), array_ops.shape(source)], 0))
                rows.set_shape(target.shape.concatenate(source.shape))
            out.append(rows)
        return nest.pack_sequence_as(sources, out) if nest.is_nested(sources) else out[0]

    def batch_jacobian(self, target: Any, source: Any, unconnected_gradients: Any = gradients.UnconnectedGradients.NONE,
                       parallel_iterations: Any = None, experimental_use_pfor: Any = True) -> Any:
        """Of a target and a source whose rows belong together."""
        from millstream.ops.array import array_ops
        from millstream.ops.math import math_ops, reduce_ops
        self._use()
        rows = array_ops.shape(target)[0]
        flat = array_ops.reshape(target, array_ops.stack([rows, -1]))
        sums = reduce_ops.reduce_sum(flat, axis=0)  # each row of the source has its own row of the target only
        stacked = jacobians.element_gradients(sums, [source], parallel_iterations, unconnected_gradients=unconnected_gradients)[0]
        if stacked is None:
            return None
        stacked = array_ops.transpose(stacked, array_ops.concat([[1, 0], math_ops.range(2, array_ops.rank(stacked))], 0))
        result = array_ops.reshape(stacked, array_ops.concat([array_ops.shape(target), array_ops.shape(source)[1:]], 0))
        if source.shape.rank is not None:
            result.set_shape(target.shape.concatenate(source.shape[1:]))
        return result
