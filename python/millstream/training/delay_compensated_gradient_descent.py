# SPDX-License-Identifier: Apache-2.0
"""DC-ASGD: asynchronous gradient descent that makes up for the steps others took meanwhile."""
from __future__ import annotations

from typing import TYPE_CHECKING

from millstream import gen_ops
from millstream.framework import ops
from millstream.training import optimizer

if TYPE_CHECKING:
    from typing import Any, Optional

    from millstream.framework.operation import Operation


class DelayCompensatedGradientDescentOptimizer(optimizer.Optimizer):
    """var -= learning_rate * (g + variance_parameter * g * g * (var - shadow)), where the shadow is what the variable was
    when this worker last read it; then the worker's shadow becomes the new value."""

    def __init__(self, learning_rate: Any, variance_parameter: Any, num_workers: Any = 1, use_locking: bool = False,
                 name: str = "DelayCompensatedGradientDescentOptimizer", worker_index: Any = 0) -> None:
        num_workers = int(num_workers)
        if num_workers <= 0:
            raise ValueError(f"num_workers must be positive: {num_workers}")
        super().__init__(use_locking, name)
        self._learning_rate, self._lambda = learning_rate, variance_parameter
        self._num_workers = num_workers
        self._worker_index = self._checked(worker_index)

    def minimize(self, loss, global_step=None, var_list=None, gate_gradients=optimizer.Optimizer.GATE_OP,
                 aggregation_method=None, colocate_gradients_with_ops=False, name=None, grad_loss=None, worker_index=None):
        if worker_index is not None:
            self._worker_index = self._checked(worker_index)
        return super().minimize(loss, global_step, var_list, gate_gradients, aggregation_method, colocate_gradients_with_ops,
                                name, grad_loss)

    def apply_gradients(self, grads_and_vars: Any, global_step: Any = None, name: Optional[str] = None,
                        worker_index: Any = None) -> Operation:
        if worker_index is not None:
            self._worker_index = self._checked(worker_index)
        return super().apply_gradients(grads_and_vars, global_step, name)

    def _checked(self, worker_index):
        if not 0 <= worker_index < self._num_workers:
            raise ValueError(f"worker_index must be between 0 and {self._num_workers - 1}: {worker_index}")
        return worker_index

    def _create_slots(self, var_list):
        for index in range(self._num_workers):
            for v in var_list:
                self._get_or_make_slot(v, v.initialized_value(), f"shadow_{index}", f"{self._name}/shadow_{index}")

    def _prepare(self):
        self._learning_rate_tensor = ops.convert_to_tensor(self._call_if_callable(self._learning_rate), name="learning_rate")
        self._lambda_tensor = ops.convert_to_tensor(self._call_if_callable(self._lambda), name="lambda")

    def _update(self, grad, var):
        lr = optimizer.cast_to(self._learning_rate_tensor, var)
        factor = optimizer.cast_to(self._lambda_tensor, var)
        shadow = self.get_slot(var, f"shadow_{self._worker_index}")
        delta = lr * (grad + factor * grad * grad * (var.read_value() - shadow.read_value()))
        updated = var.assign_sub(delta, use_locking=self._use_locking)
        result = shadow.assign(updated, use_locking=self._use_locking)
        return result.op

    def _apply_dense(self, grad, var):
        return self._update(grad, var)

    def _resource_apply_dense(self, grad, var):
        return self._update(grad, var)

    def _apply_sparse(self, grad, var):
        return self._update_rows(grad.values, var, grad.indices)

    def _resource_apply_sparse(self, grad, var, indices):
        return self._update_rows(grad, var, indices)

    def _update_rows(self, grad, var, indices):
        lr = optimizer.cast_to(self._learning_rate_tensor, var)
        factor = optimizer.cast_to(self._lambda_tensor, var)
        shadow = self.get_slot(var, f"shadow_{self._worker_index}")
        now = var.sparse_read(indices)
        delta = lr * (grad + factor * grad * grad * (now - shadow.sparse_read(indices)))
        from millstream.ops.variables import state_ops
        updated = state_ops.scatter_sub(var, indices, delta)
        with ops.control_dependencies([updated]):
            rows = gen_ops.sub(now, delta)
            return state_ops.scatter_update(shadow, indices, rows)
