# SPDX-License-Identifier: Apache-2.0
"""Optimizers whose whole update is one op: dense and sparse, of refs and of resources, from one table."""
from typing import Optional

from millstream import gen_ops
from millstream.framework import ops
from millstream.training import optimizer


class KernelOptimizer(optimizer.Optimizer):
    """`_kernel` is the op's name in snake case without apply_ ("adagrad"); `_slots_of(var)` its slots in order and
    `_numbers` / `_sparse_numbers` the attributes that hold its numbers, before and after the gradient."""

    _kernel: Optional[str] = None
    _before: tuple = ()   # numbers before the gradient
    _after: tuple = ()    # numbers after it
    _after_sparse: Optional[tuple] = None

    def _slots_of(self, var):
        return []

    def _options(self):
        return {}

    def _numbers(self, names, var):
        return [optimizer.cast_to(getattr(self, n), var) for n in names]

    def _run(self, prefix, var, grad, indices):
        gen = getattr(gen_ops, f"{prefix}apply_{self._kernel}")
        refs = optimizer.handles(var, *self._slots_of(var))
        after = self._after if indices is None or self._after_sparse is None else self._after_sparse
        inputs = refs + self._numbers(self._before, var) + [grad] + ([] if indices is None else [indices])
        inputs += self._numbers(after, var)
        result = gen(*inputs, use_locking=self._use_locking, **self._options())
        return result.op if isinstance(result, ops.Tensor) else result

    def _apply_dense(self, grad, var):
        return self._run("", var, grad, None)

    def _resource_apply_dense(self, grad, var):
        return self._run("resource_", var, grad, None)

    def _apply_sparse(self, grad, var):
        return self._run("sparse_", var, grad.values, grad.indices)

    def _resource_apply_sparse(self, grad, var, indices):
        return self._run("resource_sparse_", var, grad, indices)

    def _tensor(self, attribute, value, name):
        """Keeps a number as the tensor that the update ops use."""
        setattr(self, attribute, ops.convert_to_tensor(self._call_if_callable(value), name=name))
