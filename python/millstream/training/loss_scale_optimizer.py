# SPDX-License-Identifier: Apache-2.0
"""An optimizer whose gradients are computed for a scaled loss."""
from __future__ import annotations

from typing import TYPE_CHECKING

from millstream import gen_ops
from millstream.framework import ops
from millstream.ops.flow import control_flow_group, control_flow_ops
from millstream.ops.variables import state_ops
from millstream.strategies import apply_gradients, context
from millstream.training import loss_scale as loss_scales, optimizer, sync_replicas_optimizer, wrapping_optimizer

if TYPE_CHECKING:
    from typing import Any


class MixedPrecisionLossScaleOptimizer(wrapping_optimizer.WrappingOptimizer):
    """Multiplies the loss, so that small gradients do not vanish in 16-bit floats, and divides the gradients. Steps whose gradients are not finite change no
    variable if the scale is a dynamic one."""

    def __init__(self, opt: Any, loss_scale: Any) -> None:
        if not isinstance(opt, optimizer.Optimizer):
            raise ValueError(f'"opt" must be an instance of Optimizer, but got: {type(opt)}')
        super().__init__(opt, opt._name, opt._use_locking)
        self._loss_scale = loss_scales.get(loss_scale)
        if self._loss_scale is None:
            raise ValueError("loss_scale cannot be None")
        self.counts_skipped_steps = False  # in the global step

    def compute_gradients(self, loss: Any, *args: Any, **kwargs: Any) -> list[Any]:
        loss = loss() if callable(loss) else loss
        grads_and_vars = self._opt.compute_gradients(self._scaled(loss), *args, **kwargs)
        by = 1 / self._loss_scale()
        return [(None if g is None else self._unscaled(g, by), v) for g, v in grads_and_vars]

    def _scaled(self, loss):
        scale = self._loss_scale()
        return loss * optimizer.cast_to(scale, loss)

    def _unscaled(self, grad, by):
        if isinstance(grad, ops.IndexedSlices):
            return ops.IndexedSlices(grad.values * optimizer.cast_to(by, grad.values), grad.indices, dense_shape=grad.dense_shape)
        return grad * optimizer.cast_to(by, grad)

    def apply_gradients(self, grads_and_vars: Any, global_step: Any = None, name: Any = None) -> Any:
        grads_and_vars = tuple(grads_and_vars)
        if isinstance(self._loss_scale, loss_scales.FixedLossScale):
            return self._opt.apply_gradients(grads_and_vars, global_step, name or self._name)
        if isinstance(self._opt, sync_replicas_optimizer.SyncReplicasOptimizer):
            raise ValueError("A dynamic loss scale goes inside of SyncReplicasOptimizer, whose chief applies gradients: "
                             "SyncReplicasOptimizer(MixedPrecisionLossScaleOptimizer(opt, loss_scale), ...)")
        inner = (name or self._name) + "-wrapped"
        if context.several_replicas() is not None:
            return apply_gradients.in_replica(self._opt, grads_and_vars, global_step, inner,
                                              lambda sums, apply: self._guarded(sums, apply, global_step, name))
        return self._guarded([g for g, _ in grads_and_vars if g is not None],
                             lambda: self._opt.apply_gradients(grads_and_vars, global_step, inner), global_step, name)

    def _guarded(self, gradients, apply, global_step, name):
        """Calls apply() on the branch for gradients that are finite."""
        update, should_apply = self._loss_scale.update(gradients)

        def skip():
            counts = self.counts_skipped_steps and global_step is not None
            return state_ops.assign_add(global_step, 1).op if counts else gen_ops.no_op()

        applied = apply() if should_apply is True else control_flow_ops.cond(should_apply, apply, skip)
        return control_flow_group.group(applied, update, name=name or self._name)

    def variables(self) -> Any:
        return self._opt.variables() + self._loss_scale.variables()
