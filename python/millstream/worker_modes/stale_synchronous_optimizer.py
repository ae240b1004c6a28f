# SPDX-License-Identifier: Apache-2.0
"""StaleSynchronousOptimizer: asynchronous training with bounded staleness (stale synchronous parallel)."""
from __future__ import annotations

from typing import TYPE_CHECKING

from millstream import gen_ops
from millstream.framework import dtypes, ops
from millstream.training import session_run_hook, wrapping_optimizer

if TYPE_CHECKING:
    from typing import Any

_CLOCK_NAME = "stale_synchronous_clock"


class StaleSynchronousOptimizer(wrapping_optimizer.WrappingOptimizer):
    """Applies each worker's gradients as soon as they arrive, but a worker that is `staleness` steps ahead of the slowest one
    waits for it. Every worker runs the train op in a session with the hook; the clock of the workers lies beside the global step."""

    def __init__(self, opt: Any, staleness: int, num_workers: int, worker_index: int, name: str = "stale_synchronous") -> None:
        super().__init__(opt, name)
        if staleness < 0:
            raise ValueError(f"staleness must not be negative: {staleness}")
        wrapping_optimizer.check_worker(worker_index, num_workers)
        self._staleness, self._num_workers, self._worker_index = staleness, num_workers, worker_index
        self.join_op: Any = None
        self.leave_op: Any = None

    def apply_gradients(self, grads_and_vars, global_step=None, name=None):
        if global_step is None:
            raise ValueError("Global step is required: the clock of the workers is placed on its device")
        update = self._opt.apply_gradients(grads_and_vars, global_step=global_step, name=name)
        with ops.name_scope(None, self._name), ops.device(global_step.device):
            clock = gen_ops.staleness_clock(num_workers=self._num_workers, staleness=self._staleness, shared_name=_CLOCK_NAME, name="clock")
            worker = ops.convert_to_tensor(self._worker_index, dtype=dtypes.int64, name="worker")
            self.join_op = gen_ops.staleness_clock_join(clock, worker, name="join").op
            self.leave_op = gen_ops.staleness_clock_leave(clock, worker, name="leave")
            with ops.control_dependencies([update]):
                train_op = gen_ops.staleness_clock_advance(clock, worker, name="advance").op
        ops.get_default_graph()._release_ops = [self.leave_op]  # run when a session at a cluster is closed
        return train_op

    def make_session_run_hook(self) -> Any:
        """Joins when a session was made, and leaves at its end."""
        return _StaleSynchronousHook(self)


class _StaleSynchronousHook(session_run_hook.SessionRunHook):
    def __init__(self, stale_optimizer):
        self._optimizer = stale_optimizer

    def begin(self):
        if self._optimizer.join_op is None:
            raise ValueError("StaleSynchronousOptimizer.apply_gradients() should be called before using the hook.")

    def after_create_session(self, session, coord):
        session.run(self._optimizer.join_op)
