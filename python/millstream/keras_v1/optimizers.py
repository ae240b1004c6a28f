# SPDX-License-Identifier: Apache-2.0
"""tf.keras.optimizers: Keras's defaults, over the optimizers of tf.train. `lr` is a variable that programs may set."""
from millstream import gen_ops
from millstream.framework import dtypes, gradients, ops
from millstream.keras_v1 import state
from millstream.ops.arguments import unsupported
from millstream.ops.flow import control_flow_ops
from millstream.ops.math import clip_ops, math_ops
from millstream.ops.variables import state_ops, variables
from millstream.training import adadelta, adam, ftrl, gradient_descent, momentum as momentum_lib, optimizer as optimizer_lib


class Optimizer:
    """Settings; what updates variables is made when the first loss is known, in that loss's graph."""

    def __init__(self, learning_rate, decay=0.0, clipnorm=None, clipvalue=None, name=None):
        self._rate, self._decay, self.clipnorm, self.clipvalue = learning_rate, decay, clipnorm, clipvalue
        self._name, self._inner, self._lr, self._iterations = name or type(self).__name__, None, None, None

    def _variables(self):
        if self._lr is None:
            with ops.init_scope(), ops.name_scope(self._name):
                self._lr = variables.Variable(float(self._rate) if not ops.is_dense_tensor_like(self._rate) else self._rate,
                                              name="learning_rate", trainable=False, use_resource=True)
                self._iterations = variables.Variable(0, name="iter", dtype=dtypes.int64, trainable=False, use_resource=True)
            state.track(self._lr)
            state.track(self._iterations)
        return self._lr, self._iterations

    @property
    def lr(self):
        return self._variables()[0]

    @lr.setter
    def lr(self, value):
        if self._lr is None:
            self._rate = value
        else:
            self._lr.load(float(value), state.get_session())

    learning_rate = lr
    iterations = property(lambda self: self._variables()[1])

    def _current_rate(self):
        rate, step = self._variables()
        rate = ops.convert_to_tensor(rate)
        return rate / (1.0 + self._decay * math_ops.cast(step, rate.dtype)) if self._decay else rate

    def get_gradients(self, loss, params):
        found = gradients.gradients(loss, params)
        if self.clipnorm is not None:
            found = [g if g is None else clip_ops.clip_by_norm(g, self.clipnorm) for g in found]
        if self.clipvalue is not None:
            found = [g if g is None else clip_ops.clip_by_value(g, -self.clipvalue, self.clipvalue) for g in found]
        return found

    def apply_gradients(self, grads_and_vars, name=None):
        """One op: the updates, constraints of the variables, and the count of iterations."""
        pairs = [(g, v) for g, v in grads_and_vars if g is not None]
        if not pairs:
            raise ValueError(f"No gradients provided for any variable: {[v.name for _, v in grads_and_vars]}.")
        before = set(ops.get_collection(ops.GraphKeys.GLOBAL_VARIABLES))
        with ops.name_scope(name or self._name):
            if self._inner is None:
                self._inner = self._make(self._current_rate())
            with ops.control_dependencies([self._inner.apply_gradients(pairs)]):
                kept = [state_ops.assign(v, v.constraint(ops.convert_to_tensor(v))) for _, v in pairs
                        if getattr(v, "constraint", None) is not None]
                with ops.control_dependencies(kept):
                    done = self.iterations.assign_add(1)
        for variable in ops.get_collection(ops.GraphKeys.GLOBAL_VARIABLES):
            if variable not in before:
                state.track(variable)
        return control_flow_ops.group(done)

    def get_updates(self, loss, params):
        return [self.apply_gradients(zip(self.get_gradients(loss, params), params))]

    def minimize(self, loss, var_list, grad_loss=None, name=None):
        unsupported("minimize", grad_loss=grad_loss)
        params = var_list() if callable(var_list) else var_list
        return self.apply_gradients(zip(self.get_gradients(loss, params), params), name)


def _settings(kwargs, learning_rate):
    """What every optimizer takes: lr is the older name of learning_rate."""
    rate = kwargs.pop("lr", learning_rate)
    for key in kwargs:
        if key not in ("decay", "clipnorm", "clipvalue", "name"):
            raise TypeError(f"Unexpected keyword argument passed to optimizer: {key}")
    return dict(kwargs, learning_rate=rate)


class SGD(Optimizer):
    """Stochastic gradient descent, with momentum (also in its Nesterov form) if asked for."""

    def __init__(self, learning_rate=0.01, momentum=0.0, nesterov=False, **kwargs):
        super().__init__(**_settings(kwargs, learning_rate))
        self._momentum, self._momentum_variable, self.nesterov = momentum, None, nesterov

    @property
    def momentum(self):
        return self._momentum

    @momentum.setter
    def momentum(self, value):
        if self._inner is not None and self._momentum_variable is None and value:
            raise ValueError("The optimizer has begun without momentum, which cannot be set any more")
        self._momentum = value
        if self._momentum_variable is not None:
            self._momentum_variable.load(float(value), state.get_session())

    def _make(self, rate):
        if not self._momentum:
            return gradient_descent.GradientDescentOptimizer(rate)
        with ops.init_scope(), ops.name_scope(self._name):
            self._momentum_variable = variables.Variable(float(self._momentum), name="momentum", trainable=False, use_resource=True)
        state.track(self._momentum_variable)
        return momentum_lib.MomentumOptimizer(rate, self._momentum_variable, use_nesterov=self.nesterov)


class Adam(Optimizer):
    def __init__(self, learning_rate=0.001, beta_1=0.9, beta_2=0.999, epsilon=1e-7, amsgrad=False, **kwargs):
        super().__init__(**_settings(kwargs, learning_rate))
        if amsgrad:
            raise ValueError("amsgrad=True is not supported")
        self.beta_1, self.beta_2, self.epsilon = beta_1, beta_2, 1e-7 if epsilon is None else epsilon

    def _make(self, rate):
        return adam.AdamOptimizer(rate, self.beta_1, self.beta_2, self.epsilon)


class Adadelta(Optimizer):
    def __init__(self, learning_rate=0.001, rho=0.95, epsilon=1e-7, **kwargs):
        super().__init__(**_settings(kwargs, learning_rate))
        self.rho, self.epsilon = rho, 1e-7 if epsilon is None else epsilon

    def _make(self, rate):
        return adadelta.AdadeltaOptimizer(rate, self.rho, self.epsilon)


class Ftrl(Optimizer):
    def __init__(self, learning_rate=0.001, learning_rate_power=-0.5, initial_accumulator_value=0.1, l1_regularization_strength=0.0,
                 l2_regularization_strength=0.0, **kwargs):
        super().__init__(**_settings(kwargs, learning_rate))
        self._more = (learning_rate_power, initial_accumulator_value, l1_regularization_strength, l2_regularization_strength)

    def _make(self, rate):
        return ftrl.FtrlOptimizer(rate, *self._more)


class _ByFormula(optimizer_lib.Optimizer):
    """Updates that are written with ops; slots(n) and step(...) come from Keras's class."""

    def __init__(self, outer, rate):
        super().__init__(False, type(outer).__name__)
        self._outer, self._rate_t = outer, rate

    def _create_slots(self, var_list):
        for v in var_list:
            for slot, start in self._outer.slots.items():
                self._get_or_make_slot(v, ops.convert_to_tensor(gen_ops.fill(v.shape.as_list(), float(start))), slot, self._name)

    def _resource_apply_dense(self, grad, var):
        slots = {n: self.get_slot(var, n) for n in self._outer.slots}
        values, change = self._outer.step(grad, self._rate_t, {n: ops.convert_to_tensor(s) for n, s in slots.items()})
        updates = [slots[n].assign(v) for n, v in values.items()]
        return control_flow_ops.group(*updates, var.assign_sub(change))

    def _apply_dense(self, grad, var):
        return self._resource_apply_dense(grad, var)

    def _resource_apply_sparse(self, grad, var, indices):
        dense = gen_ops.unsorted_segment_sum(grad, indices, var.shape.as_list()[0])
        return self._resource_apply_dense(dense, var)


class RMSprop(Optimizer):
    slots = {"rms": 0.0}

    def __init__(self, learning_rate=0.001, rho=0.9, momentum=0.0, epsilon=1e-7, centered=False, **kwargs):
        super().__init__(**_settings(kwargs, learning_rate))
        if momentum or centered:
            raise ValueError("RMSprop with momentum or centered=True is not supported")
        self.rho, self.epsilon = rho, 1e-7 if epsilon is None else epsilon

    def _make(self, rate):
        return _ByFormula(self, rate)

    def step(self, g, rate, slots):
        rms = self.rho * slots["rms"] + (1.0 - self.rho) * gen_ops.square(g)
        return {"rms": rms}, rate * g / (gen_ops.sqrt(rms) + self.epsilon)


class Adagrad(Optimizer):
    def __init__(self, learning_rate=0.001, initial_accumulator_value=0.1, epsilon=1e-7, **kwargs):
        super().__init__(**_settings(kwargs, learning_rate))
        self.slots, self.epsilon = {"accumulator": initial_accumulator_value}, 1e-7 if epsilon is None else epsilon

    def _make(self, rate):
        return _ByFormula(self, rate)

    def step(self, g, rate, slots):
        total = slots["accumulator"] + gen_ops.square(g)
        return {"accumulator": total}, rate * g / (gen_ops.sqrt(total) + self.epsilon)


class Adamax(Optimizer):
    slots = {"m": 0.0, "v": 0.0}

    def __init__(self, learning_rate=0.001, beta_1=0.9, beta_2=0.999, epsilon=1e-7, **kwargs):
        super().__init__(**_settings(kwargs, learning_rate))
        self.beta_1, self.beta_2, self.epsilon = beta_1, beta_2, 1e-7 if epsilon is None else epsilon

    def _make(self, rate):
        return _ByFormula(self, rate)

    def step(self, g, rate, slots):
        power = gen_ops.pow(ops.convert_to_tensor(self.beta_1), math_ops.cast(self.iterations, dtypes.float32) + 1.0)
        m = self.beta_1 * slots["m"] + (1.0 - self.beta_1) * g
        v = gen_ops.maximum(self.beta_2 * slots["v"], gen_ops.abs(g))
        return {"m": m, "v": v}, rate / (1.0 - power) * m / (v + self.epsilon)


_BY_NAME = {c.__name__.lower(): c for c in (SGD, Adam, Adadelta, Ftrl, RMSprop, Adagrad, Adamax)}


class TFOptimizer(Optimizer):
    """An optimizer of tf.train in compile()."""

    def __init__(self, optimizer):
        super().__init__(0.0, name=type(optimizer).__name__)
        self.optimizer = self._inner = optimizer

    def get_gradients(self, loss, params):
        return [g for g, _ in self.optimizer.compute_gradients(loss, params)]

    @property  # type: ignore[misc]  # cannot be set
    def lr(self):
        raise NotImplementedError("an optimizer of tf.train keeps its own rate")


def get(identifier):
    if isinstance(identifier, Optimizer):
        return identifier
    if isinstance(identifier, optimizer_lib.Optimizer):
        return TFOptimizer(identifier)
    if str(identifier).lower() not in _BY_NAME:
        raise ValueError(f"Could not interpret optimizer identifier: {identifier}")
    return _BY_NAME[str(identifier).lower()]()
