# SPDX-License-Identifier: Apache-2.0
"""LocalSGDOptimizer: every worker trains on its own, and every few steps all variables are averaged."""
from __future__ import annotations

from typing import TYPE_CHECKING

from millstream.framework import ops
from millstream.ops.flow import control_flow_group
from millstream.ops.variables import state_ops
from millstream.training import training_util, wrapping_optimizer
from millstream.worker_modes import collective_group, distributed_optimizer

if TYPE_CHECKING:
    from typing import Any


class LocalSGDOptimizer(wrapping_optimizer.WrappingOptimizer):
    """Every worker has all variables, on devices of its own; there are no parameter servers. Every `average_every` steps all floating
    point variables, slots of the optimizer among them, become their means over the workers. All workers make the same number of steps."""

    def __init__(self, opt: Any, num_workers: int, average_every: int) -> None:
        super().__init__(opt, "LocalSgd" + opt.get_name())
        if average_every <= 0:
            raise ValueError(f"average_every must be positive: {average_every}")
        self._group = collective_group.CollectiveGroup(num_workers)
        self._average_every = average_every

    def apply_gradients(self, grads_and_vars: Any, global_step: Any = None, name: Any = None) -> Any:
        if global_step is None:
            raise ValueError("Global step is required: it says when variables are averaged")
        return self._opt.apply_gradients(grads_and_vars, global_step=global_step, name=name)

    def average_op(self) -> Any:
        """An op after which all floating point variables that the graph has so far are means over the workers."""
        with ops.name_scope("average_variables"):
            return control_flow_group.group(*[self._average(v) for v in ops.get_collection(ops.GraphKeys.GLOBAL_VARIABLES)
                                              if v.dtype.base_dtype.is_floating and self._group.size > 1])

    def _average(self, variable):
        with ops.device(variable.device):
            return state_ops.assign(variable, self._group.mean(ops.convert_to_tensor(variable))).op

    def make_session_run_hook(self, is_chief: bool) -> Any:
        """Gives all workers the chief's variables when a session was made, and averages every so many global steps, each of which is one
        call of run()."""
        return _LocalSGDHook(self, is_chief)


class _LocalSGDHook(distributed_optimizer.BroadcastVariablesHook):
    def __init__(self, local_optimizer, is_chief):
        super().__init__(local_optimizer._group, is_chief)
        self._optimizer = local_optimizer

    def begin(self):
        self._step = training_util.get_global_step()
        if self._step is None:
            raise RuntimeError("Global step should be created to use LocalSGDOptimizer.")
        self._average = self._optimizer.average_op()  # before the broadcast: all workers count instance keys in this order
        super().begin()

    def after_create_session(self, session, coord):
        super().after_create_session(session, coord)
        self._last = session.run(self._step)

    def after_run(self, run_context, run_values):
        step = run_context.session.run(self._step)
        if step != self._last and step % self._optimizer._average_every == 0:
            run_context.session.run(self._average)
        self._last = step
