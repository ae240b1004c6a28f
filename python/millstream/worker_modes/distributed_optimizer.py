# SPDX-License-Identifier: Apache-2.0
"""DistributedOptimizer: applies the mean of the workers' gradients, by all-reduce."""
from __future__ import annotations

from typing import TYPE_CHECKING

from millstream import gen_ops
from millstream.framework import ops
from millstream.ops.math import math_ops
from millstream.training import session_run_hook, wrapping_optimizer
from millstream.worker_modes import collective_group, gradient_compression

if TYPE_CHECKING:
    from typing import Any


class DistributedOptimizer(wrapping_optimizer.WrappingOptimizer):
    """Every worker has all variables, on devices of its own, and makes the same updates; there are no parameter servers. A gradient is
    reduced over the workers as soon as it is there, while the others are computed. Sparse gradients are gathered, or made dense where that
    is smaller or their number of rows is not known.

    group: the number of workers, or a CollectiveGroup. compression: how dense gradients travel, "none", "fp16", "bf16", or "topk": the share
    `topk_ratio` of the entries with the largest absolute values, where the others are added to the next gradient."""

    def __init__(self, opt: Any, group: Any, compression: str = "none", topk_ratio: float = 0.01, name: Any = None) -> None:
        super().__init__(opt, name or "Distributed" + opt.get_name())
        gradient_compression.check(compression, topk_ratio)
        self._group = collective_group.CollectiveGroup(group) if isinstance(group, int) else group
        self._compression, self._topk_ratio = compression, topk_ratio

    def compute_gradients(self, *args: Any, **kwargs: Any) -> list[Any]:
        """Means over all workers."""
        found = self._opt.compute_gradients(*args, **kwargs)
        with ops.name_scope(None, self._name):
            return [(g if g is None or self._group.size == 1 else self._mean(g, v), v) for g, v in found]

    def make_session_run_hook(self, is_chief: bool) -> Any:
        """Gives all workers the chief's variables when a session was made."""
        return BroadcastVariablesHook(self._group, is_chief)

    def _dense_mean(self, gradient, variable):
        return gradient_compression.compressed_mean(self._group, self._compression, self._topk_ratio, variable, gradient, self._name)

    def _mean(self, gradient, variable):
        if not isinstance(gradient, ops.IndexedSlices):
            with ops.device(gradient.device):
                return self._dense_mean(gradient, variable)
        with ops.device(gradient.values.device):
            if not self._is_smaller_sparse(gradient, variable):
                return self._dense_mean(ops.convert_to_tensor(gradient), variable)
            count = math_ops.cast(ops.convert_to_tensor(float(self._group.size), name="Const"), gradient.dtype)
            values = gen_ops.real_div(self._group.gather(gradient.values), count)
            return ops.IndexedSlices(values, self._group.gather(gradient.indices), gradient.dense_shape)

    def _is_smaller_sparse(self, gradient, variable):
        """Whether all rows of all workers are fewer numbers than the dense gradient. They must be of the same shape everywhere."""
        rows = gradient.values.shape
        if gradient.values.dtype not in collective_group.GATHERED or not rows.is_fully_defined() or not variable.shape.is_fully_defined():
            return False
        return rows.num_elements() * self._group.size < variable.shape.num_elements()


class BroadcastVariablesHook(session_run_hook.SessionRunHook):
    """Gives all workers the root's values of the global variables when a session was made: initial or restored ones."""

    def __init__(self, group, is_root):
        self._group, self._is_root = group, is_root

    def begin(self):
        self._broadcast = self._group.broadcast(ops.get_collection(ops.GraphKeys.GLOBAL_VARIABLES), self._is_root)

    def after_create_session(self, session, coord):
        session.run(self._broadcast)
