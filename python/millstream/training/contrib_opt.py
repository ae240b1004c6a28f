# SPDX-License-Identifier: Apache-2.0
"""tf.contrib.opt: decoupled weight decay, variants of Adam, layer-wise rates, averages, clipped variables."""
from __future__ import annotations

from typing import TYPE_CHECKING

from millstream import gen_ops
from millstream.framework import ops
from millstream.ops.flow import control_flow_group
from millstream.ops.math import clip_ops
from millstream.ops.variables import state_ops, variable_collections
from millstream.training import adam, momentum, moving_averages, optimizer, saver as saver_lib
from millstream.training.kernel_optimizer import KernelOptimizer

if TYPE_CHECKING:
    from typing import Any, Optional

    from millstream.framework.operation import Operation
    from millstream.training.saver import Saver


class DecoupledWeightDecayExtension:
    """Beside an optimizer: variables lose `weight_decay` of themselves before each update, apart from the gradient."""

    def __init__(self, weight_decay: Any, **kwargs: Any) -> None:
        self._decay_var_list, self._weight_decay = None, weight_decay
        super().__init__(**kwargs)

    def minimize(self, loss, global_step=None, var_list=None, gate_gradients=optimizer.Optimizer.GATE_OP, aggregation_method=None,
                 colocate_gradients_with_ops=False, name=None, grad_loss=None, decay_var_list=None):
        self._decay_var_list = None if decay_var_list is None else set(decay_var_list)
        return super().minimize(loss, global_step=global_step, var_list=var_list, gate_gradients=gate_gradients,
                                aggregation_method=aggregation_method, colocate_gradients_with_ops=colocate_gradients_with_ops,
                                name=name, grad_loss=grad_loss)

    def apply_gradients(self, grads_and_vars, global_step=None, name=None, decay_var_list=None):
        if decay_var_list is not None:
            self._decay_var_list = set(decay_var_list)
        return super().apply_gradients(grads_and_vars, global_step=global_step, name=name)

    def _prepare(self):
        decay = self._weight_decay() if callable(self._weight_decay) else self._weight_decay
        self._decay_tensor = ops.convert_to_tensor(decay, name="weight_decay")
        super()._prepare()

    def _decayed(self, var):
        if self._decay_var_list is not None and var not in self._decay_var_list:
            return []
        return [var.assign_sub(optimizer.cast_to(self._decay_tensor, var) * var, use_locking=self._use_locking)]

    def _apply_dense(self, grad, var):
        with ops.control_dependencies(self._decayed(var)):
            return super()._apply_dense(grad, var)

    def _resource_apply_dense(self, grad, var):
        with ops.control_dependencies(self._decayed(var)):
            return super()._resource_apply_dense(grad, var)

    def _apply_sparse(self, grad, var):
        with ops.control_dependencies(self._decayed(var)):
            return super()._apply_sparse(grad, var)

    def _resource_apply_sparse(self, grad, var, indices):
        with ops.control_dependencies(self._decayed(var)):
            return super()._resource_apply_sparse(grad, var, indices)


def extend_with_decoupled_weight_decay(base_optimizer: Any) -> Any:
    """A class like `base_optimizer` whose first argument is weight_decay."""
    class OptimizerWithDecoupledWeightDecay(DecoupledWeightDecayExtension, base_optimizer):
        def __init__(self, weight_decay, *args, **kwargs):
            self._decay_var_list, self._weight_decay = None, weight_decay
            base_optimizer.__init__(self, *args, **kwargs)
    return OptimizerWithDecoupledWeightDecay


class AdamWOptimizer(DecoupledWeightDecayExtension, adam.AdamOptimizer):
    def __init__(self, weight_decay: Any, learning_rate: Any = 0.001, beta1: Any = 0.9, beta2: Any = 0.999, epsilon: Any = 1e-8,
                 use_locking: bool = False, name: str = "AdamW") -> None:
        super().__init__(weight_decay, learning_rate=learning_rate, beta1=beta1, beta2=beta2, epsilon=epsilon, use_locking=use_locking,
                         name=name)


class MomentumWOptimizer(DecoupledWeightDecayExtension, momentum.MomentumOptimizer):
    def __init__(self, weight_decay, learning_rate, momentum, use_locking=False, name="MomentumW",  # pylint: disable=redefined-outer-name
                 use_nesterov=False):
        super().__init__(weight_decay, learning_rate=learning_rate, momentum=momentum, use_locking=use_locking, name=name,
                         use_nesterov=use_nesterov)


class NadamOptimizer(adam.AdamOptimizer):
    """Adam with Nesterov's momentum."""

    def _dense(self, gen, grad, var):
        return super()._dense(lambda *args, **kwargs: gen(*args, use_nesterov=True, **kwargs), grad, var)


class LazyAdamOptimizer(adam.AdamOptimizer):
    """Adam whose moments change only in the rows that a sparse gradient has."""

    def _lazy(self, grad, var, indices, update, subtract):
        power1, power2 = [optimizer.cast_to(ops.convert_to_tensor(p), var) for p in self._get_beta_accumulators()]
        lr, beta1, beta2, epsilon = self._numbers(("_lr_t", "_beta1_t", "_beta2_t", "_epsilon_t"), var)
        rate = lr * gen_ops.sqrt(1 - power2) / (1 - power1)
        m, v = self.get_slot(var, "m"), self.get_slot(var, "v")
        m_t = beta1 * _rows(m, indices) + (1 - beta1) * grad
        v_t = beta2 * _rows(v, indices) + (1 - beta2) * gen_ops.square(grad)
        return control_flow_group.group(update(m, indices, m_t), update(v, indices, v_t),
                                        subtract(var, indices, rate * m_t / (gen_ops.sqrt(v_t) + epsilon)))

    def _apply_sparse(self, grad, var):
        return self._lazy(grad.values, var, grad.indices, lambda x, i, v: gen_ops.scatter_update(x._ref(), i, v),
                          lambda x, i, v: gen_ops.scatter_sub(x._ref(), i, v))

    def _resource_apply_sparse(self, grad, var, indices):
        return self._lazy(grad, var, indices, lambda x, i, v: gen_ops.resource_scatter_update(x.handle, i, v),
                          lambda x, i, v: gen_ops.resource_scatter_sub(x.handle, i, v))


def _rows(variable, indices):
    from millstream.ops.array import index_ops
    return index_ops.gather(variable, indices)


class AdaMaxOptimizer(adam.AdamOptimizer):
    """Adam with the largest gradient instead of the root of their squares."""

    def __init__(self, learning_rate: Any = 0.001, beta1: Any = 0.9, beta2: Any = 0.999, epsilon: Any = 1e-8,
                 use_locking: bool = False, name: str = "AdaMax") -> None:
        super().__init__(learning_rate, beta1, beta2, epsilon, use_locking, name)

    def _max(self, gen, grad, var):
        power = optimizer.cast_to(ops.convert_to_tensor(self._get_beta_accumulators()[0]), var)
        numbers = self._numbers(("_lr_t", "_beta1_t", "_beta2_t", "_epsilon_t"), var)
        refs = optimizer.handles(var, self.get_slot(var, "m"), self.get_slot(var, "v"))
        result = gen(*refs, power, *numbers, grad, use_locking=self._use_locking)
        return result.op if isinstance(result, ops.Tensor) else result

    def _apply_dense(self, grad, var):
        return self._max(gen_ops.apply_ada_max, grad, var)

    def _resource_apply_dense(self, grad, var):
        return self._max(gen_ops.resource_apply_ada_max, grad, var)

    def _apply_sparse(self, grad, var):
        return self._apply_dense(ops.convert_to_tensor(grad), var)

    def _resource_apply_sparse(self, grad, var, indices):
        return self._resource_apply_dense(gen_ops.unsorted_segment_sum(grad, indices, var.shape.as_list()[0]), var)


class LARSOptimizer(KernelOptimizer):
    """Momentum whose rate for each variable follows the ratio of the variable's norm to its gradient's."""

    def __init__(self, learning_rate, momentum=0.9, weight_decay=0.0001, eeta=0.001, epsilon=0.0,  # pylint: disable=redefined-outer-name
                 name="LARSOptimizer", skip_list=None, use_nesterov=False):
        if momentum < 0.0:
            raise ValueError("momentum should be positive: %s" % momentum)
        if weight_decay < 0.0:
            raise ValueError("weight_decay should be positive: %s" % weight_decay)
        super().__init__(False, name)
        self._learning_rate, self._momentum, self._weight_decay, self._eeta = learning_rate, momentum, weight_decay, eeta
        self._epsilon, self._skip_list, self._use_nesterov = epsilon, skip_list, use_nesterov

    def _create_slots(self, var_list):
        for v in var_list:
            self._zeros_slot(v, "momentum", self._name)

    def _prepare(self):
        self._tensor("_rate", self._learning_rate, "learning_rate")
        self._tensor("_momentum_t", self._momentum, "momentum")

    def _scaled(self, grad, var):
        rate = optimizer.cast_to(self._rate, var)
        if self._skip_list is not None and any(v in var.name for v in self._skip_list):
            return rate, grad
        value = ops.convert_to_tensor(var)
        w, g = clip_ops.global_norm([value]), clip_ops.global_norm([grad])
        trust = self._eeta * w / (g + self._weight_decay * w + self._epsilon)
        both = gen_ops.logical_and(gen_ops.greater(w, 0.0), gen_ops.greater(g, 0.0))
        return rate * gen_ops.select(both, trust, gen_ops.fill([], 1.0)), grad + self._weight_decay * value

    def _apply(self, gen, grad, var):
        rate, grad = self._scaled(grad, var)
        refs = optimizer.handles(var, self.get_slot(var, "momentum"))
        result = gen(*refs, rate, grad, optimizer.cast_to(self._momentum_t, var), use_locking=False, use_nesterov=self._use_nesterov)
        return result.op if isinstance(result, ops.Tensor) else result

    def _apply_dense(self, grad, var):
        return self._apply(gen_ops.apply_momentum, grad, var)

    def _resource_apply_dense(self, grad, var):
        return self._apply(gen_ops.resource_apply_momentum, grad, var)


class MovingAverageOptimizer(optimizer.Optimizer):
    """Averages of the variables beside another optimizer; swapping_saver() saves them under the variables' names."""

    def __init__(self, opt: Any, average_decay: Any = 0.9999, num_updates: Any = None, sequential_update: bool = True) -> None:
        self._optimizer, self._average, self._sequential = opt, moving_averages.ExponentialMovingAverage(
            average_decay, num_updates=num_updates), sequential_update
        self._names = None

    def compute_gradients(self, *args: Any, **kwargs: Any) -> list[Any]:
        return self._optimizer.compute_gradients(*args, **kwargs)

    def apply_gradients(self, grads_and_vars, global_step=None, name=None):
        grads_and_vars = list(grads_and_vars)
        train = self._optimizer.apply_gradients(grads_and_vars, global_step=global_step, name=name)
        variables = [v for _, v in grads_and_vars]
        with ops.control_dependencies([train] if self._sequential else []):
            averages = self._average.apply(variables)
        self._names = {v.op.name: self._average.average(v) for v in variables}
        return control_flow_group.group(train, averages, name="train_with_avg")

    def swapping_saver(self, var_list: Any = None, name: str = "swapping_saver", **kwargs: Any) -> Saver:
        if self._names is None:
            raise RuntimeError("Must call apply_gradients or minimize before creating the swapping_saver")
        variables = variable_collections.global_variables() if var_list is None else var_list
        named = dict(variables) if isinstance(variables, dict) else {v.op.name: v for v in variables}
        swapped = dict(named)
        for key, average in self._names.items():
            if key in named and average.op.name in named:
                swapped[key], swapped[average.op.name] = named[average.op.name], named[key]
        return saver_lib.Saver(swapped, name=name, **kwargs)


class VariableClippingOptimizer(optimizer.Optimizer):
    """Another optimizer, after which the norms of some variables along some axes are at most `max_norm`."""

    def __init__(self, opt: Any, vars_to_clip_dims: Any, max_norm: Any, use_locking: bool = False,
                 colocate_clip_ops_with_vars: bool = False, name: str = "VariableClipping") -> None:
        super().__init__(use_locking, name)
        self._opt, self._dims, self._max_norm = opt, dict(vars_to_clip_dims), max_norm

    def compute_gradients(self, *args: Any, **kwargs: Any) -> list[Any]:
        return self._opt.compute_gradients(*args, **kwargs)

    def get_slot(self, *args: Any, **kwargs: Any) -> Any:
        return self._opt.get_slot(*args, **kwargs)

    def apply_gradients(self, grads_and_vars: Any, global_step: Any = None, name: Optional[str] = None) -> Operation:
        grads_and_vars = list(grads_and_vars)
        with ops.control_dependencies([self._opt.apply_gradients(grads_and_vars, global_step=global_step)]):
            clips = [state_ops.assign(v, clip_ops.clip_by_norm(ops.convert_to_tensor(v), self._max_norm, self._dims[v]))
                     for _, v in grads_and_vars if v in self._dims]
        return control_flow_group.group(*clips, name=name or self._name)


def clip_gradients_by_global_norm(gradients_variables: Any, clip_norm: Any = 20.0) -> Any:
    gradients, variables = zip(*gradients_variables)
    clipped, norm = clip_ops.clip_by_global_norm(list(gradients), clip_norm)
    del norm
    return list(zip(clipped, variables))
