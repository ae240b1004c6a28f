# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from typing import TYPE_CHECKING

from millstream import gen_ops
from millstream.framework import ops
from millstream.training import optimizer
from millstream.training.kernel_optimizer import KernelOptimizer

if TYPE_CHECKING:
    from typing import Any


class GradientDescentOptimizer(KernelOptimizer):
    """Plain gradient descent: `var -= learning_rate * gradient`."""

    def __init__(self, learning_rate: Any, use_locking: bool = False, name: str = "GradientDescent") -> None:
        super().__init__(use_locking, name)
        self._learning_rate = learning_rate
        self._learning_rate_tensor = None

    def _prepare(self):
        self._tensor("_learning_rate_tensor", self._learning_rate, "learning_rate")

    def _apply_dense(self, grad, var):
        return gen_ops.apply_gradient_descent(*optimizer.handles(var), optimizer.cast_to(self._learning_rate_tensor, var), grad,
                                              use_locking=self._use_locking).op

    def _resource_apply_dense(self, grad, var):
        return gen_ops.resource_apply_gradient_descent(var.handle, optimizer.cast_to(self._learning_rate_tensor, var), grad,
                                                       use_locking=self._use_locking)

    def _apply_sparse_duplicate_indices(self, grad, var):
        delta = ops.IndexedSlices(grad.values * optimizer.cast_to(self._learning_rate_tensor, var), grad.indices,
                                  grad.dense_shape)
        return var.scatter_sub(delta, use_locking=self._use_locking)

    def _resource_apply_sparse_duplicate_indices(self, grad, var, indices):
        return gen_ops.resource_scatter_add(var.handle, indices, -grad * optimizer.cast_to(self._learning_rate_tensor, var))


class ProximalGradientDescentOptimizer(KernelOptimizer):
    """Gradient descent with L1 and L2 regularization by proximal steps."""
    _kernel = "proximal_gradient_descent"
    _before = ("_learning_rate_tensor", "_l1_tensor", "_l2_tensor")

    def __init__(self, learning_rate: Any, l1_regularization_strength: Any = 0.0, l2_regularization_strength: Any = 0.0,
                 use_locking: bool = False, name: str = "ProximalGradientDescent") -> None:
        super().__init__(use_locking, name)
        self._learning_rate = learning_rate
        self._l1, self._l2 = l1_regularization_strength, l2_regularization_strength

    def _prepare(self):
        self._tensor("_learning_rate_tensor", self._learning_rate, "learning_rate")
        self._tensor("_l1_tensor", self._l1, "l1_regularization_strength")
        self._tensor("_l2_tensor", self._l2, "l2_regularization_strength")
