# SPDX-License-Identifier: Apache-2.0
"""HierarchicalOptimizer: synchronous inside groups of workers, asynchronous between them."""
from __future__ import annotations

from typing import TYPE_CHECKING

from millstream import gen_ops
from millstream.framework import ops
from millstream.ops.variables import state_ops, variables
from millstream.training import session_run_hook, wrapping_optimizer
from millstream.worker_modes import collective_group, distributed_optimizer

if TYPE_CHECKING:
    from typing import Any

_FIRST_GROUP_KEY = 1000  # apart from the key of all workers


def _place(sizes, worker_index):
    """(number of the worker's group, its size, its first worker)"""
    first = 0
    for number, size in enumerate(sizes):
        if worker_index < first + size:
            return number, size, first
        first += size
    raise ValueError(f"worker_index {worker_index} is in no group")


def _group_sizes(num_workers, group_size):
    if isinstance(group_size, int):
        if group_size <= 0:
            raise ValueError(f"group_size must be positive: {group_size}")
        return [min(group_size, num_workers - first) for first in range(0, num_workers, group_size)]
    sizes = [int(size) for size in group_size]
    if min(sizes, default=0) <= 0 or sum(sizes) != num_workers:
        raise ValueError(f"group_size must be a number, or group sizes that add up to {num_workers} workers: {group_size}")
    return sizes


class HierarchicalOptimizer(distributed_optimizer.DistributedOptimizer):
    """The workers of a group, usually those of one host, all-reduce their gradients; the first of them applies the means to the variables,
    which lie on ps tasks, whatever other groups do meanwhile, and tells the others, which then begin their next step.

    group_size: of groups of workers that follow each other (the last one may be smaller), or a list with the size of each group. Workers of
    a group have to end together: by the hook's `last_step`, not by a StopAtStepHook, since other groups move the global step on at any
    time."""

    def __init__(self, opt: Any, num_workers: int, worker_index: int, group_size: Any) -> None:
        wrapping_optimizer.check_worker(worker_index, num_workers)
        number, size, first = _place(_group_sizes(num_workers, group_size), worker_index)
        super().__init__(opt, collective_group.CollectiveGroup(size, _FIRST_GROUP_KEY + number), name="Hierarchical" + opt.get_name())
        self.is_leader = worker_index == first
        self.step: Any = None  # of the group, a local variable
        self.agree_op: Any = None

    def apply_gradients(self, grads_and_vars: Any, global_step: Any = None, name: Any = None) -> Any:
        """The train op of a worker that leads no group applies nothing."""
        if global_step is None:
            raise ValueError("Global step is required: it says when the workers of a group end")
        grads_and_vars = list(grads_and_vars)
        with ops.colocate_with(gen_ops.no_op()):  # on the worker, where variables would not go by themselves
            self.step = variables.Variable(0, trainable=False, collections=[ops.GraphKeys.LOCAL_VARIABLES],
                                           dtype=global_step.dtype.base_dtype, name="hierarchical_step")
        if self.is_leader:
            after = [self._opt.apply_gradients(grads_and_vars, global_step=global_step, name=name)]
        else:
            after = [part.op for g, _ in grads_and_vars if g is not None
                     for part in ((g.values, g.indices) if isinstance(g, ops.IndexedSlices) else (g,))]
        with ops.name_scope(None, self._name):
            train_op = self._share_step(global_step, after)
            self.agree_op = self._share_step(global_step, [])
        return train_op

    def _share_step(self, global_step, after):
        """Gives the step to all workers of the group; `after` is what the leader's read waits for."""
        with ops.control_dependencies(after):
            step = global_step.read_value() if self.is_leader else self._group.receive_from_root(global_step.dtype.base_dtype, [])
        return state_ops.assign(self.step, self._group.send_to_all(step) if self.is_leader else step).op

    def make_session_run_hook(self, last_step: Any = None) -> Any:
        """Agrees on the step when a session was made; ends the session when the group has reached `last_step`, if one is given."""
        return _HierarchicalHook(self, last_step)


class _HierarchicalHook(session_run_hook.SessionRunHook):
    def __init__(self, group_optimizer, last_step):
        self._optimizer, self._last_step = group_optimizer, last_step

    def begin(self):
        if self._optimizer.agree_op is None:
            raise ValueError("HierarchicalOptimizer.apply_gradients() should be called before using the hook.")

    def _has_ended(self, session):
        return self._last_step is not None and session.run(self._optimizer.step) >= self._last_step

    def after_create_session(self, session, coord):
        session.run(self._optimizer.agree_op)
        if self._has_ended(session):
            coord.request_stop()

    def after_run(self, run_context, run_values):
        if self._has_ended(run_context.session):
            run_context.request_stop()
