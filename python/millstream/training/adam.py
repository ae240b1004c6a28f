# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from typing import TYPE_CHECKING

from millstream import gen_ops
from millstream.framework import ops
from millstream.ops.flow import control_flow_group
from millstream.training import optimizer
from millstream.training.kernel_optimizer import KernelOptimizer

if TYPE_CHECKING:
    from typing import Any


class AdamOptimizer(KernelOptimizer):
    """Adam: steps from running means of gradients and of their squares."""

    def __init__(self, learning_rate: Any = 0.001, beta1: Any = 0.9, beta2: Any = 0.999, epsilon: Any = 1e-8,
                 use_locking: bool = False, name: str = "Adam") -> None:
        super().__init__(use_locking, name)
        self._lr, self._beta1, self._beta2, self._epsilon = learning_rate, beta1, beta2, epsilon

    def _get_beta_accumulators(self):
        graph = ops.get_default_graph()
        return self._get_non_slot_variable("beta1_power", graph), self._get_non_slot_variable("beta2_power", graph)

    def _create_slots(self, var_list):
        first = min(var_list, key=lambda v: v.name)
        self._create_non_slot_variable(self._call_if_callable(self._beta1), "beta1_power", first)
        self._create_non_slot_variable(self._call_if_callable(self._beta2), "beta2_power", first)
        for v in var_list:
            self._zeros_slot(v, "m", self._name)
            self._zeros_slot(v, "v", self._name)

    def _prepare(self):
        self._tensor("_lr_t", self._lr, "learning_rate")
        self._tensor("_beta1_t", self._beta1, "beta1")
        self._tensor("_beta2_t", self._beta2, "beta2")
        self._tensor("_epsilon_t", self._epsilon, "epsilon")

    def _dense(self, gen, grad, var):
        powers = [optimizer.cast_to(ops.convert_to_tensor(p), var) for p in self._get_beta_accumulators()]
        numbers = self._numbers(("_lr_t", "_beta1_t", "_beta2_t", "_epsilon_t"), var)
        refs = optimizer.handles(var, self.get_slot(var, "m"), self.get_slot(var, "v"))
        result = gen(*refs, *powers, *numbers, grad, use_locking=self._use_locking)
        return result.op if isinstance(result, ops.Tensor) else result

    def _apply_dense(self, grad, var):
        return self._dense(gen_ops.apply_adam, grad, var)

    def _resource_apply_dense(self, grad, var):
        return self._dense(gen_ops.resource_apply_adam, grad, var)

    def _sparse(self, grad, var, indices, scatter_add):
        """All rows of the moments decay; the gradient's rows are added."""
        power1, power2 = [optimizer.cast_to(ops.convert_to_tensor(p), var) for p in self._get_beta_accumulators()]
        lr, beta1, beta2, epsilon = self._numbers(("_lr_t", "_beta1_t", "_beta2_t", "_epsilon_t"), var)
        rate = lr * gen_ops.sqrt(1 - power2) / (1 - power1)
        m, v = self.get_slot(var, "m"), self.get_slot(var, "v")
        m_t = self._decay_and_add(m, beta1, indices, grad * (1 - beta1), scatter_add)
        v_t = self._decay_and_add(v, beta2, indices, (grad * grad) * (1 - beta2), scatter_add)
        root = gen_ops.sqrt(v_t)
        update = var.assign_sub(rate * m_t / (root + epsilon), use_locking=self._use_locking)
        return control_flow_group.group(update, m_t, v_t)

    def _decay_and_add(self, moment, decay, indices, rows, scatter_add):
        decayed = moment.assign(moment * decay, use_locking=self._use_locking)
        with ops.control_dependencies([decayed]):
            return scatter_add(moment, indices, rows)

    def _apply_sparse(self, grad, var):
        return self._sparse(grad.values, var, grad.indices,
                            lambda x, i, v: gen_ops.scatter_add(x._ref(), i, v, use_locking=self._use_locking))

    def _resource_apply_sparse(self, grad, var, indices):
        return self._sparse(grad, var, indices, self._resource_scatter_add)

    def _finish(self, update_ops, name_scope):
        with ops.control_dependencies(update_ops):
            power1, power2 = self._get_beta_accumulators()
            with ops.colocate_with(power1.op):
                updates = [power.assign(power * beta, use_locking=self._use_locking)
                           for power, beta in ((power1, self._beta1_t), (power2, self._beta2_t))]
        return control_flow_group.group(*update_ops + updates, name=name_scope)
